import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { HostConnection, type HostIdentity } from './host-connection.ts';
import type { HostEvent } from './protocol.ts';
import type { SessionHost } from './session-host.ts';

const OWNER_ONLY = 0o600;
const BACKLOG = 64;

export interface HostServer {
  readonly connections: number;
  event(event: HostEvent): void;
  /** Takes no further connection; the socket file is gone when this returns. */
  close(): void;
}

/** Listens on the host's one socket. The caller holds the host's lock, so a file that is there already is stale. */
export async function serveHost(options: {
  readonly path: string;
  readonly host: SessionHost;
  readonly identity: HostIdentity;
  readonly log: (line: string) => void;
  /** The last connection closed. */
  readonly onIdle: () => void;
}): Promise<HostServer> {
  const { path, host, identity, log } = options;
  const open = new Set<HostConnection>();
  const server = createServer((socket) => {
    const connection = new HostConnection(socket, host, identity, log);
    open.add(connection);
    socket.on('close', () => {
      open.delete(connection);
      if (open.size === 0) options.onIdle();
    });
  });
  rmSync(path, { force: true });
  await listen(server, path);
  chmodSync(path, OWNER_ONLY);
  return {
    get connections() {
      return open.size;
    },
    event: (event) => {
      for (const connection of open) connection.event(event);
    },
    close: () => {
      server.close();
      rmSync(path, { force: true });
    },
  };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ path, backlog: BACKLOG }, () => {
      server.off('error', reject);
      // Too many open files, for one: this connection is lost, the host goes on.
      server.on('error', () => undefined);
      resolve();
    });
  });
}
