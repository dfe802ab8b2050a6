import { connect, type Socket } from 'node:net';
import type { Clock } from '../../platform/clock.ts';
import { codeOf, GcError, messageOf } from '../../platform/errors.ts';
import { RuntimeUnavailableError } from '../errors.ts';
import {
  type ClientMessage,
  encodeMessage,
  type HostMessage,
  LineSplitter,
  OLDEST_PROTOCOL_VERSION,
  PROTOCOL_VERSION,
  parseHostMessage,
} from '../host/protocol.ts';

export interface HostAddress {
  readonly path: string;
  readonly city: string;
  readonly clock: Clock;
}

/** A host that lives greets back within this time; one that is stopped does not. */
const GREETING_TIMEOUT_MS = 2_000;

/** Nobody listens on the host's socket. Whether the host is gone, its lock tells. */
export class NoHostError extends GcError {
  constructor(cause: unknown) {
    super('no-session-host', 'no session host answers', { cause });
  }
}

/** The connection ended: the host closed it, or died. */
export class HostLostError extends RuntimeUnavailableError {}

/** One connection to the session host, greeted; messages go to `onMessage`, and its end to `onClose`, once. */
export class HostLink {
  readonly socket: Socket;
  readonly incarnation: string;
  readonly pid: number;

  private constructor(socket: Socket, welcome: Extract<HostMessage, { t: 'welcome' }>) {
    this.socket = socket;
    this.incarnation = welcome.incarnation;
    this.pid = welcome.pid;
  }

  /** @throws NoHostError, RuntimeUnavailableError, or what the host refuses with */
  static open(
    address: HostAddress,
    handlers: { onMessage(message: HostMessage): void; onClose(reason: Error): void },
  ): Promise<HostLink> {
    return new Promise((resolve, reject) => {
      const socket = connect({ path: address.path });
      const lines = new LineSplitter();
      let link: HostLink | undefined;
      let failure: Error | undefined;
      const fail = (error: Error) => {
        failure ??= error;
        socket.destroy();
      };
      const timer = setTimeout(
        () => fail(new RuntimeUnavailableError('the session host does not answer')),
        GREETING_TIMEOUT_MS,
      );
      const take = (message: HostMessage) => {
        if (message.t === 'refused') {
          fail(refusal(message));
          return;
        }
        if (link) {
          handlers.onMessage(message);
          return;
        }
        if (message.t !== 'welcome')
          return fail(new RuntimeUnavailableError('the session host does not greet'));
        clearTimeout(timer);
        link = new HostLink(socket, message);
        resolve(link);
      };
      socket.on('connect', () => {
        socket.write(
          encodeMessage({
            t: 'hello',
            version: PROTOCOL_VERSION,
            oldest: OLDEST_PROTOCOL_VERSION,
            city: address.city,
          }),
        );
      });
      socket.on('data', (chunk: Buffer) => {
        try {
          for (const line of lines.push(chunk)) take(parseHostMessage(line));
        } catch (error) {
          fail(
            new RuntimeUnavailableError(
              `the session host sent what cannot be read: ${messageOf(error)}`,
              error,
            ),
          );
        }
      });
      socket.on('error', (error) => fail(connectError(error)));
      socket.on('close', () => {
        clearTimeout(timer);
        const reason = failure ?? new HostLostError('the session host closed the connection');
        if (link) handlers.onClose(reason);
        else reject(reason);
      });
    });
  }

  /** Answers `false` when the host should take what it has first. */
  send(message: ClientMessage): boolean {
    return this.socket.destroyed || this.socket.write(encodeMessage(message));
  }
}

function connectError(error: Error): Error {
  const code = codeOf(error);
  if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTSOCK') return new NoHostError(error);
  return new HostLostError(`the connection to the session host failed: ${error.message}`, error);
}

function refusal(message: Extract<HostMessage, { t: 'refused' }>): Error {
  const next =
    message.code === 'protocol-version'
      ? 'stop the city with the program that started it, then start it again'
      : undefined;
  return new GcError(message.code, message.message, next === undefined ? {} : { next });
}
