import type { ServerResponse } from 'node:http';
import { type Fault, type FaultMatch, matches } from './faults.ts';
import type { ApiRequest } from './request.ts';

/** A watch, followed log, exec or attach that is open. */
export interface OpenStream {
  readonly request: ApiRequest;
  /** Says nothing more and takes nothing, without closing. */
  silence(): void;
  /** Ends the connection; a WebSocket with a close frame of that code, or none. */
  cut(closeFrame?: number): void;
}

export class OpenStreams {
  readonly #open = new Set<OpenStream>();

  add(stream: OpenStream): () => void {
    this.#open.add(stream);
    return () => this.#open.delete(stream);
  }

  matching(match: FaultMatch = {}): readonly OpenStream[] {
    return [...this.#open].filter((stream) => matches(match, stream.request));
  }

  count(match: FaultMatch = {}): number {
    return this.matching(match).length;
  }
}

/** A response that stays open: a watch or a log. It is under a fault from its start, and among the open streams until it closes. */
export class ResponseStream {
  readonly #response: ServerResponse;
  readonly #fault: Fault | undefined;
  #sent = 0;
  #silent = false;

  constructor(streams: OpenStreams, request: ApiRequest, response: ServerResponse, fault: Fault | undefined) {
    this.#response = response;
    this.#fault = fault;
    const forget = streams.add({
      request,
      silence: () => {
        this.#silent = true;
      },
      cut: () => response.destroy(),
    });
    response.once('close', forget);
    this.#meetFault();
  }

  /** The headers, at once. */
  open(contentType: string): void {
    this.#response.writeHead(200, { 'Content-Type': contentType });
    this.#response.flushHeaders();
  }

  write(piece: string | Buffer): void {
    if (this.#silent || this.#response.writableEnded) return;
    this.#response.write(piece);
    this.#sent += 1;
    this.#meetFault();
  }

  end(): void {
    if (!this.#silent) this.#response.end();
  }

  onClose(listener: () => void): void {
    this.#response.once('close', listener);
  }

  #meetFault(): void {
    const fault = this.#fault;
    if (fault?.kind === 'silent' && this.#sent >= (fault.after ?? 0)) this.#silent = true;
    // What was sent goes out first.
    if (fault?.kind === 'cut' && this.#sent === fault.after) setImmediate(() => this.#response.destroy());
  }
}
