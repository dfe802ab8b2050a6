import { join } from 'node:path';
import { GcError } from '../../platform/errors.ts';

/** Longer Unix socket paths are cut silently by the platform. */
const SOCKET_PATH_LIMIT_BYTES = 100;

/** Held by the host as long as it lives. */
export const hostLockFile = (runtimeDir: string): string => join(runtimeDir, 'host.lock');
export const hostLogFile = (runtimeDir: string): string => join(runtimeDir, 'host.log');
export const scrollbackDir = (runtimeDir: string): string => join(runtimeDir, 'scrollback');
/** What an agent of the Agent Client Protocol said and did; it outlives the session and the host. */
export const conversationFile = (runtimeDir: string, session: string): string =>
  join(runtimeDir, 'conversations', `${session}.jsonl`);

/** @throws GcError `socket-path-too-long` */
export function hostSocketPath(runtimeDir: string): string {
  const path = join(runtimeDir, 'host.sock');
  if (Buffer.byteLength(path) <= SOCKET_PATH_LIMIT_BYTES) return path;
  throw new GcError('socket-path-too-long', `no socket can have the path ${path}`, {
    next: `set XDG_RUNTIME_DIR (or GC_HOME) to a folder with a shorter path: ${SOCKET_PATH_LIMIT_BYTES} bytes in all`,
  });
}
