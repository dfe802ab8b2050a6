import { GcError } from '../../../platform/errors.ts';
import type { MessageStream, WireOut } from './connection.ts';
import { Gate } from './gate.ts';
import { isUpdateHead, MAX_MESSAGE_BYTES, type MessageLine, MessageLines } from './message-lines.ts';
import { cut } from './plain-text.ts';
import { INTERNAL_ERROR } from './rpc-codes.ts';
import { readMessage, type WireMessage } from './wire-message.ts';

/** An agent may print a banner. This much in a row, without one message between, is no banner. */
const STRAY_LIMIT_BYTES = 1_048_576;
/** Requests that stay open while the conversation goes on; each holds a little memory. */
const LONG_REQUESTS = new Set(['session/request_permission', 'terminal/wait_for_exit']);
const OPEN_REQUEST_LIMIT = 256;
/** Of a line that is no message: enough to know it again. */
const SAMPLE_CHARS = 80;

export interface TransportEvents {
  /** In the order of the wire, before anything that came after it is answered. */
  onUpdate(params: unknown): void;
  /** Everything that came so far was taken. */
  onPause(): void;
  /** Something was left out that the other side sent; told once per reason. */
  onOddity(what: string): void;
  /** Nothing comes any more. @param cause why, when it is not the end of the program's output */
  onEnd(cause: GcError | undefined): void;
}

/** The bytes beneath. */
export interface ByteChannel {
  read(): Promise<Buffer | undefined>;
  write(text: string): Promise<boolean>;
}

/**
 * Messages over an agent's pipes, in order and in bounded memory. A request that is quick to answer holds up what comes
 * after it until its answer was taken, so an agent that asks and never reads stops itself and nobody else.
 */
export class Transport {
  readonly stream: MessageStream;
  readonly #channel: ByteChannel;
  readonly #events: TransportEvents;
  readonly #gate = new Gate();
  readonly #lines = new MessageLines();
  readonly #told = new Set<string>();
  /** Our requests that wait for an answer. */
  readonly #awaited = new Set<string | number>();
  /** The agent's requests that wait for ours, and who waits for that. */
  readonly #open = new Map<string | number, { readonly method: string; readonly waiting: (() => void)[] }>();
  readonly #watched = new Map<string, (taken: boolean) => void>();
  #queue: MessageLine[] = [];
  #strayBytes = 0;
  #stray: string | undefined;
  #quick: string | number | undefined;
  #ended = false;

  constructor(channel: ByteChannel, events: TransportEvents) {
    this.#channel = channel;
    this.#events = events;
    this.stream = {
      readable: new ReadableStream<WireOut>(
        { pull: (controller) => this.#pull(controller) },
        { highWaterMark: 0 },
      ),
      writable: new WritableStream<WireOut>({ write: (message) => this.#send(message) }),
    };
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** The first line that was no protocol message, quoted; `undefined`: all were. */
  get stray(): string | undefined {
    return this.#stray;
  }

  pause(): void {
    this.#gate.close();
  }

  resume(): void {
    this.#gate.open();
  }

  /** Answers whether the agent's side has taken the next message of this method. To be called before it is sent. */
  taken(method: string): Promise<boolean> {
    if (this.#ended) return Promise.resolve(false);
    return new Promise((resolve) => this.#watched.set(method, resolve));
  }

  /** Resolves when the agent's side has taken the answers to all its requests of this method that are open now. */
  async answered(method: string): Promise<void> {
    const open = [...this.#open.values()].filter((request) => request.method === method);
    await Promise.all(open.map(({ waiting }) => new Promise<void>((resolve) => waiting.push(resolve))));
  }

  /** Nothing is read or written from now on. */
  end(cause?: GcError): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#queue = [];
    this.#gate.open();
    for (const { waiting } of this.#open.values()) for (const done of waiting) done();
    this.#open.clear();
    for (const done of this.#watched.values()) done(false);
    this.#watched.clear();
    this.#events.onEnd(cause);
  }

  async #pull(controller: ReadableStreamDefaultController<WireOut>): Promise<void> {
    for (;;) {
      const line = await this.#next();
      if (line === undefined || this.#ended) break;
      const message = this.#take(line);
      if (message === undefined) continue;
      controller.enqueue(message as WireOut);
      return;
    }
    this.end();
  }

  async #next(): Promise<MessageLine | undefined> {
    if (this.#quick !== undefined) await this.#answerOf(this.#quick);
    this.#quick = undefined;
    while (this.#queue.length === 0 && !this.#ended) {
      this.#events.onPause();
      await this.#gate.pass();
      const chunk = await this.#channel.read();
      if (chunk === undefined) return undefined;
      this.#queue = [...this.#lines.push(chunk)].reverse();
    }
    return this.#queue.pop();
  }

  #answerOf(id: string | number): Promise<void> {
    const open = this.#open.get(id);
    return open ? new Promise((resolve) => open.waiting.push(resolve)) : Promise.resolve();
  }

  /** What of it goes to the library. */
  #take(line: MessageLine): object | undefined {
    if (line.kind !== 'line') return this.#tooLong(line);
    const message = readMessage(line.text);
    if (message.kind === 'stray') return this.#passOver(line.text);
    if (message.kind !== 'blank') this.#strayBytes = 0;
    switch (message.kind) {
      case 'update':
        this.#events.onUpdate(message.params);
        return undefined;
      case 'request':
        return this.#request(message);
      case 'response':
        if (this.#awaited.delete(message.id)) return message.raw;
        this.#odd('it answered a request twice, or one that was never made; that answer was ignored');
        return undefined;
      case 'cancel-request':
        return message.raw;
      default:
        return undefined;
    }
  }

  #request({ id, method, raw }: Extract<WireMessage, { kind: 'request' }>): object | undefined {
    if (this.#open.has(id)) {
      this.#odd(
        `it made a second request with the number of one that is open (${method}); that one was ignored`,
      );
      return undefined;
    }
    if (this.#open.size >= OPEN_REQUEST_LIMIT) {
      this.#odd(`it has ${OPEN_REQUEST_LIMIT} requests open; further ones are refused`);
      const message = `at most ${OPEN_REQUEST_LIMIT} requests may be open`;
      void this.#channel.write(
        `${JSON.stringify({ jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message } })}\n`,
      );
      return undefined;
    }
    this.#open.set(id, { method, waiting: [] });
    if (!LONG_REQUESTS.has(method)) this.#quick = id;
    return raw;
  }

  #tooLong(line: Exclude<MessageLine, { kind: 'line' }>): undefined {
    if (line.kind === 'too-long' && isUpdateHead(line.head)) {
      this.#odd(`an update of more than ${MAX_MESSAGE_BYTES} bytes was left out`);
      return undefined;
    }
    this.end(
      new GcError('message-too-long', `it sent a message of more than ${MAX_MESSAGE_BYTES} bytes`, {
        next: 'start the session again; have the agent write such amounts to a file',
      }),
    );
    return undefined;
  }

  #passOver(text: string): undefined {
    this.#strayBytes += Buffer.byteLength(text) + 1;
    const sample = JSON.stringify(cut(text, SAMPLE_CHARS));
    this.#stray ??= sample;
    this.#odd(`it printed a line that is no protocol message: ${sample}`);
    if (this.#strayBytes <= STRAY_LIMIT_BYTES) return undefined;
    this.end(
      new GcError(
        'not-the-protocol',
        `its standard output is not the Agent Client Protocol, for example: ${sample}`,
        {
          next: 'check the command: most agents speak the protocol only with an option or a subcommand (gemini --experimental-acp, opencode acp)',
        },
      ),
    );
    return undefined;
  }

  #odd(what: string): void {
    const reason = what.replace(/\d+|:.*$/g, '');
    if (this.#told.has(reason)) return;
    this.#told.add(reason);
    this.#events.onOddity(what);
  }

  async #send(message: WireOut): Promise<void> {
    if (this.#ended) return;
    const { id, method } = message as { readonly id?: unknown; readonly method?: unknown };
    const named = typeof id === 'string' || typeof id === 'number' ? id : undefined;
    if (typeof method === 'string' && named !== undefined) this.#awaited.add(named);
    const taken = await this.#channel.write(`${JSON.stringify(message)}\n`);
    if (!taken) return; // the end is on its way
    if (typeof method === 'string') {
      this.#watched.get(method)?.(true);
      this.#watched.delete(method);
    } else if (named !== undefined) {
      const waiting = this.#open.get(named)?.waiting ?? [];
      this.#open.delete(named);
      for (const done of waiting) done();
    }
  }
}
