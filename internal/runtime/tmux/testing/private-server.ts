import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../platform/clock.ts';
import { identityOf } from '../../../platform/process-identity.ts';
import type { Launch } from '../../terminal/backend.ts';
import { TmuxBackend, type TmuxBackendOptions } from '../tmux-backend.ts';

export const hasTmux = spawnSync('tmux', ['-V']).status === 0;
/** For titles: why real-server tests are skipped. */
export const tmuxNote = hasTmux ? '' : ' (skipped: tmux is not on the PATH)';
export const TRANSPORTS = ['control', 'plain'] as const;

const WAIT_TIMEOUT_MS = 15_000;
const WAIT_POLL_MS = 25;

/** One tmux server in a private temporary folder, and everything that a test makes there. */
export class PrivateServer {
  readonly root = mkdtempSync(join(tmpdir(), 'gc-tmux-'));
  readonly socketName = `gc-test-${randomBytes(4).toString('hex')}`;
  readonly env: Record<string, string>;
  /** Every process that a back end of this server started. */
  readonly spawned: (readonly string[])[] = [];
  readonly #backends: TmuxBackend[] = [];
  readonly #sockets = new Set<string>([this.socketName]);

  constructor(extraEnv: Readonly<Record<string, string>> = {}) {
    mkdirSync(join(this.root, 'work'));
    this.env = {
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      HOME: this.root,
      SHELL: '/bin/sh',
      LANG: 'C.UTF-8',
      TMUX_TMPDIR: this.root,
      ...extraEnv,
    };
  }

  backend(transport: TmuxBackendOptions['transport'], more: Partial<TmuxBackendOptions> = {}): TmuxBackend {
    const socketName = more.socketName ?? this.socketName;
    this.#sockets.add(socketName);
    const backend = new TmuxBackend({
      cityId: 'city-a',
      transport,
      clock: systemClock,
      env: this.env,
      onSpawn: (argv) => this.spawned.push(argv),
      ...more,
      socketName,
    });
    this.#backends.push(backend);
    return backend;
  }

  launch(argv: readonly string[], more: Partial<Launch> = {}): Launch {
    const env = { GC_SESSION_ID: 's-1', GC_INSTANCE_TOKEN: 'token1' };
    return { argv, cwd: this.path('work'), env, unsetEnv: [], pty: true, columns: 80, rows: 24, ...more };
  }

  path(name: string): string {
    return join(this.root, name);
  }

  /** A tmux command of a person, on the same server. */
  tmux(...args: string[]): string {
    return execFileSync('tmux', ['-u', '-L', this.socketName, ...args], {
      env: { ...this.env, TERM: 'xterm-256color' },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: WAIT_TIMEOUT_MS,
    });
  }

  serverPid(socketName = this.socketName): number | undefined {
    const asked = spawnSync('tmux', ['-L', socketName, '-N', 'display-message', '-p', '#{pid}'], {
      env: this.env,
      encoding: 'utf8',
      timeout: 2_000,
    });
    return /^\d+$/.test(asked.stdout.trim()) ? Number(asked.stdout) : undefined;
  }

  /** Ends every server of the test by its own pid, and what still runs in its panes. */
  async dispose(): Promise<void> {
    for (const backend of this.#backends) await backend.close();
    for (const socketName of this.#sockets) {
      const server = this.serverPid(socketName);
      if (server === undefined) continue;
      const panes = spawnSync(
        'tmux',
        ['-L', socketName, 'list-panes', '-a', '-F', '#{pane_dead} #{pane_pid}'],
        {
          env: this.env,
          encoding: 'utf8',
        },
      );
      for (const line of panes.stdout.split('\n')) {
        const pid = /^0 (\d+)$/.exec(line)?.[1];
        if (pid) endProcess(Number(pid));
      }
      endProcess(server);
      await eventually('the server is gone', () => !isAlive(server));
    }
    rmSync(this.root, { recursive: true, force: true, maxRetries: 5 });
  }
}

export function endProcess(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it ended by itself
  }
}

/** A process that ended but was not collected by its parent yet does not count. */
export function isAlive(pid: number): boolean {
  return identityOf(pid) !== undefined;
}

/** Polls until `check` gives something other than `undefined` or `false`; fails after a bounded time with `what`. */
export async function eventually<T>(
  what: string,
  check: () => T | Promise<T>,
): Promise<Exclude<T, undefined | false>> {
  const deadline = systemClock.monotonic() + WAIT_TIMEOUT_MS;
  for (;;) {
    const got = await check();
    if (got !== undefined && got !== false) return got as Exclude<T, undefined | false>;
    if (systemClock.monotonic() > deadline) throw new Error(`timed out waiting until ${what}`);
    await systemClock.sleep(WAIT_POLL_MS);
  }
}
