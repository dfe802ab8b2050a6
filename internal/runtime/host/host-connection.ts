import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { codeOf, GcError, messageOf, unreachable } from '../../platform/errors.ts';
import type { AttachedTerminal } from './attach-hub.ts';
import type { HostedSession } from './hosted-session.ts';
import {
  type ClientMessage,
  encodeMessage,
  type HostEvent,
  type HostMessage,
  type HostRequest,
  LineSplitter,
  MAX_PASTE_CHARS,
  negotiate,
  PART_CHARS,
  parseClientMessage,
} from './protocol.ts';
import type { SessionHost } from './session-host.ts';

/** A connection that does not say who it is within this time is closed. */
const GREETING_TIMEOUT_MS = 10_000;
/** A client that leaves this much unread is stuck; it is let go and may come back. */
const UNREAD_LIMIT_BYTES = 16_777_216;

/** Older clients do not know the event `changed`. */
const CHANGED_SINCE = 2;

export interface HostIdentity {
  readonly city: string;
  readonly incarnation: string;
  readonly pid: number;
}

/** The host's side of one client connection. Whatever arrives, only this connection can suffer from it. */
export class HostConnection {
  readonly #socket: Socket;
  readonly #host: SessionHost;
  readonly #identity: HostIdentity;
  readonly #lines = new LineSplitter();
  readonly #greetingTimer: NodeJS.Timeout;
  readonly #pastes = new Map<string, string>();
  #greeted = false;
  #version = 0;
  #watching = false;
  #attached: { readonly session: HostedSession; readonly terminal: AttachedTerminal } | undefined;

  constructor(socket: Socket, host: SessionHost, identity: HostIdentity, log: (line: string) => void) {
    this.#socket = socket;
    this.#host = host;
    this.#identity = identity;
    this.#greetingTimer = setTimeout(() => socket.destroy(), GREETING_TIMEOUT_MS);
    socket.on('error', () => socket.destroy()); // the other side vanished
    socket.on('close', () => {
      clearTimeout(this.#greetingTimer);
      this.#attached?.terminal.leave();
    });
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const line of this.#lines.push(chunk)) this.#take(parseClientMessage(line));
      } catch (error) {
        log(`connection closed: ${messageOf(error)}`);
        this.#refuse(codeOf(error) ?? 'bad-message', messageOf(error));
      }
    });
  }

  event(event: HostEvent): void {
    if (!this.#watching || (event.kind === 'changed' && this.#version < CHANGED_SINCE)) return;
    this.#send({ t: 'event', event });
  }

  #take(message: ClientMessage): void {
    if (this.#socket.destroyed) return;
    if (!this.#greeted && message.t !== 'hello') {
      throw new GcError('bad-message', 'the first message must be a greeting');
    }
    switch (message.t) {
      case 'hello':
        this.#greet(message);
        break;
      case 'request':
        this.#answer(message.id, message.request);
        break;
      case 'attach':
        this.#attach(message);
        break;
      case 'input':
        this.#attached?.session.input.typed(Buffer.from(message.data, 'base64'));
        break;
      case 'resize':
        this.#attached?.terminal.resize(message.size);
        break;
      default:
        unreachable(message);
    }
  }

  #greet(hello: Extract<ClientMessage, { t: 'hello' }>): void {
    clearTimeout(this.#greetingTimer);
    const version = negotiate(hello);
    if (version === undefined) {
      const spoken = `${hello.oldest} to ${hello.version}`;
      throw new GcError('protocol-version', `this session host does not speak version ${spoken}`);
    }
    if (hello.city !== this.#identity.city) {
      throw new GcError('wrong-city', `this session host belongs to the city ${this.#identity.city}`);
    }
    this.#greeted = true;
    this.#version = version;
    this.#send({ t: 'welcome', version, incarnation: this.#identity.incarnation, pid: this.#identity.pid });
  }

  #answer(id: number, request: HostRequest): void {
    this.#perform(id, request).then(
      (result) => this.#send({ t: 'reply', id, result }),
      (error: unknown) => {
        const next = error instanceof GcError ? error.next : undefined;
        const failed = {
          t: 'failed',
          id,
          code: codeOf(error) ?? 'internal',
          message: messageOf(error),
        } as const;
        this.#send(next === undefined ? failed : { ...failed, next });
      },
    );
  }

  async #perform(id: number, request: HostRequest): Promise<unknown> {
    const host = this.#host;
    switch (request.op) {
      case 'create':
        return this.#create(request);
      case 'inspect':
        return { session: host.inspect(request.name) };
      case 'list':
        return { sessions: host.list() };
      case 'kill':
        return host.kill(request.name, request.graceMs);
      case 'interrupt':
        return host.get(request.name).interrupt();
      case 'capture':
        return this.#capture(id, request.name, request.lines);
      case 'paste':
        return this.#paste(request);
      case 'keys':
        return host.get(request.name).input.keys(request.keys);
      case 'inputLimit':
        return { bytes: await host.get(request.name).input.limit() };
      case 'wake':
        return host.get(request.name).wake();
      case 'clear':
        return host.get(request.name).clearScrollback();
      case 'setMeta':
        host.get(request.name).meta.set(request.key, request.value);
        return undefined;
      case 'getMeta':
        return { value: host.find(request.name)?.meta.get(request.key) ?? '' };
      case 'removeMeta':
        host.find(request.name)?.meta.delete(request.key);
        return undefined;
      case 'watch':
        this.#watching = true;
        for (const event of host.unacknowledgedExits()) this.event(event);
        return undefined;
      case 'acknowledge':
        return host.find(request.name)?.acknowledgeExit();
      case 'acpState':
        return host.acp(request.name).state();
      case 'acpWait':
        return host.acp(request.name).wait(request.until, request.timeoutMs);
      case 'acpPrompt':
        return host.acp(request.name).prompt(request.blocks);
      case 'acpCancel':
        return host.acp(request.name).cancel();
      case 'acpAnswer':
        return host.acp(request.name).answer(request.question, request.option);
      case 'leave':
        return { leaving: host.leave() };
      default:
        return unreachable(request);
    }
  }

  /** A session whose creator cannot be told of it is undone: for that one, the creation has failed. */
  async #create({ name, launch }: Extract<HostRequest, { op: 'create' }>): Promise<void> {
    await this.#host.create(name, launch);
    await setImmediate(); // an end of the connection that arrived meanwhile is seen now
    if (this.#socket.destroyed || this.#socket.readableEnded) await this.#host.kill(name, 0);
  }

  async #capture(id: number, name: string, lines: number): Promise<unknown> {
    const { history, continued, screen } = await this.#host.get(name).capture(lines);
    for (let from = 0; from < history.length && !this.#socket.destroyed; from += PART_CHARS) {
      const flowing = this.#send({ t: 'part', id, text: history.slice(from, from + PART_CHARS) });
      if (!flowing) await this.#drained();
    }
    return { screen, continued };
  }

  async #paste(request: Extract<HostRequest, { op: 'paste' }>): Promise<void> {
    const text = (this.#pastes.get(request.name) ?? '') + request.text;
    this.#pastes.delete(request.name);
    if (text.length > MAX_PASTE_CHARS) throw new GcError('paste-too-long', 'this is too much for one paste');
    if (request.done) return this.#host.get(request.name).input.paste(text);
    this.#pastes.set(request.name, text);
  }

  #attach(message: Extract<ClientMessage, { t: 'attach' }>): void {
    if (this.#attached) throw new GcError('bad-message', 'this connection is attached already');
    const session = this.#host.get(message.name);
    const sink = {
      send: (bytes: Buffer) => {
        this.#send({ t: 'output', data: bytes.toString('base64') });
      },
      queuedBytes: () => this.#socket.writableLength,
      end: (reason: 'exited' | 'removed' | 'closing') => {
        this.#send({ t: 'ended', reason });
        this.#socket.end();
      },
    };
    this.#attached = { session, terminal: session.attach(sink, message.size) };
  }

  #refuse(code: string, message: string): void {
    if (this.#socket.destroyed) return;
    this.#socket.end(encodeMessage({ t: 'refused', code, message }));
    this.#socket.destroySoon();
  }

  /** Answers `false` when the other side should take what it has first. */
  #send(message: HostMessage): boolean {
    if (this.#socket.destroyed || this.#socket.writableEnded) return true;
    const flowing = this.#socket.write(encodeMessage(message));
    if (this.#socket.writableLength > UNREAD_LIMIT_BYTES) this.#socket.destroy();
    return flowing;
  }

  #drained(): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#socket.off('drain', done);
        this.#socket.off('close', done);
        resolve();
      };
      this.#socket.on('drain', done);
      this.#socket.on('close', done);
    });
  }
}
