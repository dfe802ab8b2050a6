import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import type { Fault } from './faults.ts';
import type { OpenStreams } from './open-streams.ts';
import type { ApiRequest } from './request.ts';
import { isRecord } from './shapes.ts';
import { badRequest } from './status-error.ts';

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const ERROR = 3;
const RESIZE = 4;
const CLOSE = 255;
const NORMAL_CLOSE = 1_000;

export const PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** The sink of what a client sends. */
export interface ChannelInput {
  onStdin(bytes: Buffer): void;
  /** Half-closed: only version 5 can say this. */
  onStdinEnd(): void;
  onResize(columns: number, rows: number): void;
  /** The client is gone. */
  onGone(): void;
}

const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false, maxPayload: 32_000_000 });

export interface Upgrade {
  readonly request: ApiRequest;
  readonly message: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
  readonly protocols: readonly Protocol[];
  readonly streams: OpenStreams;
  readonly fault: Fault | undefined;
}

/** The first protocol of the server's that the client offers. @throws StatusError 400 for none, as a bad handshake */
export function chooseProtocol(message: IncomingMessage, supported: readonly Protocol[]): Protocol {
  const offered = (message.headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim());
  const chosen = supported.find((protocol) => offered.includes(protocol));
  if (!chosen)
    throw badRequest(
      `unable to upgrade: unable to negotiate protocol: client supports [${offered.join(' ')}], server accepts [${supported.join(' ')}]`,
    );
  return chosen;
}

/** One exec or attach over a WebSocket: numbered channels, as the Kubernetes remote command protocol has them. */
export class Channels {
  readonly #socket: WebSocket;
  readonly #upgrade: Upgrade;
  readonly #forget: () => void;
  #silent = false;
  #sent = 0;
  #input: ChannelInput | undefined;
  #early: (() => void)[] = [];

  static open(upgrade: Upgrade): Promise<Channels> {
    const protocol = chooseProtocol(upgrade.message, upgrade.protocols);
    const message = upgrade.message;
    // The library answers with the first that the client offers; the choice is the server's.
    message.headers['sec-websocket-protocol'] = protocol;
    return new Promise((resolve) => {
      sockets.handleUpgrade(message, upgrade.socket, upgrade.head, (socket) => {
        resolve(new Channels(socket, upgrade));
      });
    });
  }

  private constructor(socket: WebSocket, upgrade: Upgrade) {
    this.#socket = socket;
    this.#upgrade = upgrade;
    this.#forget = upgrade.streams.add({
      request: upgrade.request,
      silence: () => this.#goSilent(),
      cut: (closeFrame) => this.cut(closeFrame),
    });
    socket.on('message', (data: RawData) => this.#receive(toBuffer(data)));
    socket.on('error', () => socket.terminate());
    socket.once('close', () => {
      this.#forget();
      this.#deliver((input) => input.onGone());
    });
    this.#afterFrame();
  }

  get protocol(): string {
    return this.#socket.protocol;
  }

  /** What came before is delivered now. */
  start(input: ChannelInput): void {
    this.#input = input;
    for (const deliver of this.#early.splice(0)) deliver();
  }

  stdout(bytes: Buffer): void {
    this.#send(STDOUT, bytes);
  }

  stderr(bytes: Buffer): void {
    this.#send(STDERR, bytes);
  }

  /** The last word, on the error channel, then the close frame. */
  end(status: object): void {
    if (this.#upgrade.fault?.kind === 'drop') {
      this.cut();
      return;
    }
    this.#send(ERROR, Buffer.from(JSON.stringify(status)));
    if (!this.#silent) this.#socket.close(NORMAL_CLOSE);
  }

  cut(closeFrame?: number): void {
    if (closeFrame === undefined) this.#socket.terminate();
    else this.#socket.close(closeFrame, 'cut');
  }

  #goSilent(): void {
    this.#silent = true;
    // Answers to pings would tell that somebody is there.
    this.#socket.pause();
  }

  #send(channel: number, bytes: Buffer): void {
    if (this.#silent || this.#socket.readyState !== this.#socket.OPEN) return;
    this.#socket.send(Buffer.concat([Buffer.of(channel), bytes]), { binary: true });
    this.#sent += 1;
    this.#afterFrame();
  }

  #afterFrame(): void {
    const { fault } = this.#upgrade;
    if (fault?.kind === 'silent' && this.#sent >= (fault.after ?? 0)) this.#goSilent();
    if (fault?.kind === 'cut' && this.#sent >= fault.after) this.cut(fault.closeFrame);
  }

  #receive(frame: Buffer): void {
    if (this.#silent) return;
    const body = frame.subarray(1);
    switch (frame[0]) {
      case STDIN:
        if (body.length > 0) this.#deliver((input) => input.onStdin(body));
        return;
      case RESIZE: {
        const size = parseSize(body);
        if (size) this.#deliver((input) => input.onResize(size.columns, size.rows));
        return;
      }
      case CLOSE:
        if (this.protocol === PROTOCOLS[0] && body[0] === STDIN) this.#deliver((input) => input.onStdinEnd());
        return;
      default:
        return; // the real one reads and forgets other channels
    }
  }

  #deliver(what: (input: ChannelInput) => void): void {
    const input = this.#input;
    if (input) what(input);
    else this.#early.push(() => this.#input && what(this.#input));
  }
}

function parseSize(body: Buffer): { columns: number; rows: number } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { Width: columns, Height: rows } = value;
  if (typeof columns !== 'number' || typeof rows !== 'number') return undefined;
  return { columns, rows };
}

function toBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}

export const SUCCESS = { metadata: {}, status: 'Success' };

export function exitStatus(code: number): object {
  if (code === 0) return SUCCESS;
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${code}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  };
}
