import { statSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { type PublishedSocket, publishSocket } from '../../controller/control-socket-file.ts';
import { codeOf, GcError, messageOf } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import {
  addressText,
  isLoopback,
  isLoopbackLiteral,
  type NetworkAddress,
  type TcpAddress,
} from '../../platform/network-address.ts';

/** Longer ones are cut silently by the platform. */
const SOCKET_PATH_LIMIT_BYTES = 100;
const NOT_THE_OWNER = 0o077;

/** An address that is taken already; connections wait until somebody serves them. */
export interface BoundListener {
  /** With the port that was given where 0 was asked for. */
  readonly address: NetworkAddress;
  serve(accept: (socket: Socket) => void): void;
  /** Takes no further connection and removes the socket file. */
  close(): void;
}

/**
 * `alias` is the name that leads to a socket whose own is out of the way.
 * @throws GcError `listen-failed`, `socket-in-use`, `socket-path-taken`, `socket-path-too-long`, `socket-dir-open`
 */
export async function bindListener(
  listen: NetworkAddress,
  ids: Pick<Ids, 'hex'>,
  alias?: string,
): Promise<BoundListener> {
  const waiting: Socket[] = [];
  let accept = (socket: Socket): void => {
    waiting.push(socket);
  };
  const server = createServer({ noDelay: true }, (socket) => accept(socket));
  const published = await open(server, listen, ids, alias);
  return {
    address: boundTo(server, listen),
    serve(to) {
      accept = to;
      for (const socket of waiting.splice(0)) to(socket);
    },
    close() {
      published?.remove();
      server.close();
      for (const socket of waiting.splice(0)) socket.destroy();
    },
  };
}

async function open(
  server: Server,
  listen: NetworkAddress,
  ids: Pick<Ids, 'hex'>,
  alias: string | undefined,
): Promise<PublishedSocket | undefined> {
  try {
    if (listen.kind === 'tcp') {
      await listening(server, { host: listen.host, port: listen.port });
      return undefined;
    }
    assertSocketPlace(listen.path);
    const place = { path: listen.path, ...(alias === undefined ? {} : { alias }) };
    return await publishSocket(place, ids, (staged) => listening(server, { path: staged }));
  } catch (error) {
    server.close();
    if (error instanceof GcError) throw error;
    const taken = codeOf(error) === 'EADDRINUSE';
    const what = taken ? 'something else listens there' : messageOf(error);
    throw new GcError('listen-failed', `cannot listen on ${addressText(listen)}: ${what}`, {
      cause: error,
      next: taken ? 'stop the other program, or choose another address' : 'check the address',
    });
  }
}

function listening(server: Server, at: { host: string; port: number } | { path: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(at, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function boundTo(server: Server, listen: NetworkAddress): NetworkAddress {
  const bound = server.address();
  if (listen.kind === 'unix' || bound === null || typeof bound === 'string') return listen;
  return { ...listen, port: bound.port };
}

/** The folder is what keeps others out on every platform; one of the person's own is not tightened behind their back. */
function assertSocketPlace(path: string): void {
  const length = Buffer.byteLength(path);
  if (length > SOCKET_PATH_LIMIT_BYTES) {
    throw new GcError(
      'socket-path-too-long',
      `the socket path is too long (${length} bytes, at most ${SOCKET_PATH_LIMIT_BYTES}): ${path}`,
      { next: 'choose a shorter one' },
    );
  }
  const folder = dirname(path);
  const found = statSync(folder, { throwIfNoEntry: false });
  if (!found || (found.mode & NOT_THE_OWNER) === 0) return;
  throw new GcError('socket-dir-open', `others can enter ${folder}, where the socket is to be`, {
    next: `put it in a folder of its own: mkdir -m 700 ${folder}/gc, then unix:${folder}/gc/sessions.sock`,
  });
}

/**
 * Who reaches more than this machine must be asked for a token.
 * @throws GcError `token-needed`
 */
export function assertMayListen(listen: NetworkAddress, token: string | undefined): void {
  if (listen.kind === 'unix' || isLoopback(listen.host) || token !== undefined) return;
  throw new GcError(
    'token-needed',
    `${addressText(listen)} can be reached from other machines, and there is no token that callers must show`,
    { next: 'listen on 127.0.0.1, or set GC_SERVE_TOKEN or --token-file' },
  );
}

/**
 * The registry decides what is run: it is for this machine only, and its address says so without a look-up.
 * Source: agentsessions.v1, the operator's listener.
 * @throws GcError `registry-not-loopback`, `same-listener`
 */
export function assertRegistryAddress(registry: TcpAddress, sessions: NetworkAddress): void {
  if (!isLoopbackLiteral(registry.host)) {
    throw new GcError(
      'registry-not-loopback',
      `the registry listens on loopback addresses only, not on ${addressText(registry)}`,
      { next: 'for example 127.0.0.1:8081' },
    );
  }
  if (sessions.kind === 'tcp' && registry.port !== 0 && registry.port === sessions.port) {
    throw new GcError(
      'same-listener',
      `the registry needs another port than the sessions (${registry.port})`,
      {
        next: 'choose another port, or 0 for any',
      },
    );
  }
}
