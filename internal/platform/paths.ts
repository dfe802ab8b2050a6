import { createHash } from 'node:crypto';
import { homedir, tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Longer Unix socket paths are cut silently by the platform (104 bytes on macOS, 108 on Linux). */
const SOCKET_PATH_LIMIT_BYTES = 100;

/** Where the machine-wide state of this user lives: `$GC_HOME`, else `~/.gc`. */
export function gcHome(env: Environment): string {
  return env['GC_HOME'] ? resolve(env['GC_HOME']) : join(env['HOME'] || homedir(), '.gc');
}

/** Sockets and ledgers that must outlive a deleted `.gc`: under `$GC_HOME` when that is set, else `$XDG_RUNTIME_DIR/gc`, else a private folder under the temporary one. */
export function runtimeDir(env: Environment): string {
  if (env['GC_HOME']) return join(resolve(env['GC_HOME']), 'run');
  if (env['XDG_RUNTIME_DIR']) return join(env['XDG_RUNTIME_DIR'], 'gc');
  return join(env['TMPDIR'] || tmpdir(), `gc-${userInfo().uid}`);
}

/** First 8 hex digits of the SHA-256 of the city's path: names per-city things outside the city. */
export function cityHash(cityPath: string): string {
  return createHash('sha256').update(resolve(cityPath)).digest('hex').slice(0, 8);
}

/** The city's folder in the runtime directory. */
export function cityRuntimeDir(env: Environment, cityPath: string): string {
  return join(runtimeDir(env), cityHash(cityPath));
}

/** `preferred` when a socket can have that path, else a short one in the runtime directory. */
export function socketPath(preferred: string, env: Environment): string {
  if (Buffer.byteLength(preferred) <= SOCKET_PATH_LIMIT_BYTES) return preferred;
  const short = `${createHash('sha256').update(preferred).digest('hex').slice(0, 32)}.sock`;
  const inRuntime = join(runtimeDir(env), short);
  if (Buffer.byteLength(inRuntime) <= SOCKET_PATH_LIMIT_BYTES) return inRuntime;
  return join('/tmp', `gc-${userInfo().uid}`, short);
}
