import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../platform/clock.ts';
import { systemIds } from '../../platform/ids.ts';
import { isLockHeld, readLockHolder } from '../../platform/lifetime-lock.ts';
import { identityOf } from '../../platform/process-identity.ts';
import { readArguments, readProcesses } from '../../platform/process-table.ts';
import { reapLedger } from '../host/reap.ts';
import { hostLockFile, hostLogFile } from '../host/runtime-files.ts';
import type { BackendSession, Launch } from '../terminal/backend.ts';
import { HostBackend } from './host-backend.ts';
import { nodeHostCommand } from './host-launcher.ts';

/** For tests: a private folder in which real host processes run from source. */
const POLL_MS = 10;
export const NEVER = new AbortController().signal;
const PATH = '/usr/local/bin:/usr/bin:/bin';

export const hostCommand = nodeHostCommand(
  process.execPath,
  fileURLToPath(new URL('../host/main.ts', import.meta.url)),
  '--import',
  createRequire(import.meta.url).resolve('tsx'),
);

export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 10_000,
): Promise<T> {
  const deadline = systemClock.monotonic() + timeoutMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (systemClock.monotonic() > deadline) throw new Error(`not within ${timeoutMs} ms: ${what}`);
    await systemClock.sleep(POLL_MS);
  }
}

export function shell(script: string, changes: Partial<Launch> = {}): Launch {
  const env = { PATH, LANG: 'C.UTF-8' };
  const size = { columns: 80, rows: 24 };
  return {
    argv: ['/bin/sh', '-c', script],
    cwd: tmpdir(),
    env,
    unsetEnv: [],
    pty: true,
    ...size,
    ...changes,
  };
}

export const node = (script: string, changes: Partial<Launch> = {}): Launch =>
  shell('', { argv: [process.execPath, '-e', script], ...changes });

export class HostFixture {
  readonly dir = mkdtempSync(join(tmpdir(), 'gc-h-'));
  readonly #backends: HostBackend[] = [];

  backend(role: 'controller' | 'visitor' = 'controller', cityId = 'test-city'): HostBackend {
    const backend = new HostBackend({
      dir: this.dir,
      cityId,
      hostCommand,
      // A host lends nothing: this must not be seen by any agent.
      env: { PATH, HOST_SECRET: 'only-the-host' },
      clock: systemClock,
      ids: systemIds,
      role,
    });
    this.#backends.push(backend);
    return backend;
  }

  get hostPid(): number {
    const pid = readLockHolder(hostLockFile(this.dir))?.['pid'];
    if (typeof pid !== 'number' || !isLockHeld(hostLockFile(this.dir))) throw new Error('no host runs');
    return pid;
  }

  log(): string {
    return readFileSync(hostLogFile(this.dir), 'utf8');
  }

  /** Ends the host and everything in it. */
  async dispose(): Promise<void> {
    for (const backend of this.#backends) await backend.close();
    // Of several that were started at once, one serves and the others may still be on their way to see that.
    await until('no host is left', () => {
      const hosts = readProcesses().filter((entry) => readArguments(entry.pid).includes(this.dir));
      for (const { pid } of hosts) process.kill(pid, 'SIGKILL');
      return hosts.length === 0;
    });
    await reapLedger(this.dir, systemClock);
    rmSync(this.dir, { recursive: true, force: true });
  }
}

export async function sessionOf(backend: HostBackend, name: string): Promise<BackendSession> {
  const found = await backend.inspect(name);
  if (found.kind !== 'present') throw new Error(`${name} is ${found.kind}`);
  return found.session;
}

export async function pidOf(backend: HostBackend, name: string): Promise<number> {
  const { state } = await sessionOf(backend, name);
  if (state.kind !== 'alive') throw new Error(`${name} is dead`);
  return state.pid;
}

export const deathOf = (backend: HostBackend, name: string, timeoutMs?: number) =>
  until(
    `${name} is dead`,
    async () => {
      const { state } = await sessionOf(backend, name);
      return state.kind === 'dead' && state;
    },
    timeoutMs,
  );

export const screenHas = (backend: HostBackend, name: string, text: string | RegExp, timeoutMs?: number) =>
  until(
    `${name} shows ${text}`,
    async () => {
      const { lines } = await backend.capture(name, -1);
      const all = lines.join('\n');
      return (typeof text === 'string' ? all.includes(text) : text.test(all)) && lines;
    },
    timeoutMs,
  );

/** Open descriptors of a process and what they point to. */
export function descriptorsOf(pid: number): Readonly<Record<string, string>> {
  const dir = `/proc/${pid}/fd`;
  return Object.fromEntries(readdirSync(dir).map((fd) => [fd, readlinkSync(join(dir, fd))]));
}

/**
 * The program `sleep` runs and waits in its timer. Its name alone does not tell that: for a moment after the exec the
 * loader still has the C library's file open.
 */
export function sleeps(pid: number): boolean {
  if (readFileSync(`/proc/${pid}/comm`, 'utf8').trim() !== 'sleep') return false;
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('S');
}

/** A zombie that nobody has collected yet is not alive. */
export const isAlive = (pid: number): boolean => identityOf(pid) !== undefined;
