import { connect, createServer, type Server, type Socket } from 'node:net';
import { GcError } from './errors.ts';

export interface LineTimeouts {
  readonly connectMs: number;
  readonly replyMs: number;
}

const MAX_LINE_BYTES = 1_048_576;

/** Sends one line and answers the one line that comes back, without its newline. @throws Node's connect errors; GcError `no-reply` */
export function requestLine(path: string, line: string, timeouts: LineTimeouts): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path });
    let received = '';
    const fail = (error: Error) => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    let timer = setTimeout(() => fail(new GcError('no-reply', `no answer from ${path}`)), timeouts.connectMs);
    socket.setEncoding('utf8');
    socket.on('connect', () => {
      clearTimeout(timer);
      timer = setTimeout(() => fail(new GcError('no-reply', `no answer from ${path}`)), timeouts.replyMs);
      socket.write(`${line}\n`);
    });
    socket.on('data', (chunk: string) => {
      received += chunk;
      const end = received.indexOf('\n');
      if (end < 0) return;
      clearTimeout(timer);
      socket.end();
      resolve(received.slice(0, end));
    });
    socket.on('error', fail);
    socket.on('close', () => fail(new GcError('no-reply', `${path} closed without an answer`)));
  });
}

/**
 * Serves one line per connection. `handle` answers the reply line, or `undefined` to close without one. The caller owns
 * the socket file. The server ends with the signal.
 */
export async function serveLines(
  path: string,
  handle: (line: string) => Promise<string | undefined>,
  signal: AbortSignal,
): Promise<Server> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    let received = '';
    socket.setEncoding('utf8');
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: string) => {
      received += chunk;
      const end = received.indexOf('\n');
      if (end < 0) {
        if (received.length > MAX_LINE_BYTES) socket.destroy();
        return;
      }
      socket.pause();
      handle(received.slice(0, end)).then(
        (reply) => (reply === undefined ? socket.end() : socket.end(`${reply}\n`)),
        () => socket.destroy(),
      );
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
  signal.addEventListener(
    'abort',
    () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
    { once: true },
  );
  return server;
}
