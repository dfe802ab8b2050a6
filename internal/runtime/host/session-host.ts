import { statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { ensurePrivateDir } from '../../platform/atomic-file.ts';
import type { Clock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import { isExecutable } from '../../platform/executable.ts';
import { KeyedMutex } from '../../platform/keyed-mutex.ts';
import { identityOf } from '../../platform/process-identity.ts';
import { snapshotProcesses } from '../../platform/process-tree.ts';
import { SessionExistsError, SessionNotFoundError } from '../errors.ts';
import type { AgentCallbacks } from './agent-process.ts';
import { HostedSession } from './hosted-session.ts';
import { INSTANCE_TOKEN, Ledger } from './ledger.ts';
import { startPipeProcess } from './pipe-process.ts';
import type { HostEvent, WireLaunch, WireSession } from './protocol.ts';
import { startPtyProcess } from './pty-process.ts';
import { scrollbackDir } from './runtime-files.ts';
import { ScrollbackFile } from './scrollback-file.ts';

/** What the emulator is, for a program that was not told. */
const TERMINAL_TYPE = 'xterm-256color';
/** Where programs are looked for without a PATH, as the C library does. */
const DEFAULT_PATH = '/bin:/usr/bin';

export interface HostListener {
  onEvent(event: HostEvent): void;
  /** The last session is gone. */
  onEmpty(): void;
  /** A client says that nothing more will come, and there is no session. */
  onLeave(): void;
}

/** The sessions of one city. */
export class SessionHost {
  readonly #sessions = new Map<string, HostedSession>();
  readonly #perName = new KeyedMutex();
  readonly #ledger: Ledger;
  readonly #dir: string;
  readonly #clock: Clock;
  readonly #listener: HostListener;

  constructor(dir: string, clock: Clock, listener: HostListener) {
    this.#dir = dir;
    this.#clock = clock;
    this.#listener = listener;
    this.#ledger = new Ledger(dir);
    ensurePrivateDir(scrollbackDir(dir));
  }

  get size(): number {
    return this.#sessions.size;
  }

  get names(): readonly string[] {
    return [...this.#sessions.keys()];
  }

  /** @throws SessionExistsError; GcError `work-dir-missing`, `command-not-found`, `bad-launch`, `spawn-failed` */
  create(name: string, launch: WireLaunch): Promise<void> {
    return this.#perName.run(name, async () => {
      if (this.#sessions.has(name)) throw new SessionExistsError(name);
      checkLaunch(launch);
      const token = launch.env[INSTANCE_TOKEN] ?? '';
      this.#ledger.intend(name, token);
      try {
        await this.#launch(name, launch, token);
      } catch (error) {
        await this.#sessions.get(name)?.abandon();
        this.#forget(name);
        throw error;
      }
    });
  }

  /** @throws SessionNotFoundError */
  get(name: string): HostedSession {
    const session = this.#sessions.get(name);
    if (!session) throw new SessionNotFoundError(name);
    return session;
  }

  find(name: string): HostedSession | undefined {
    return this.#sessions.get(name);
  }

  inspect(name: string): WireSession | undefined {
    return this.#sessions.get(name)?.describe(snapshotProcesses());
  }

  list(): readonly WireSession[] {
    if (this.#sessions.size === 0) return [];
    const table = snapshotProcesses();
    return [...this.#sessions.values()].map((session) => session.describe(table));
  }

  /** A missing session is fine. */
  kill(name: string, graceMs: number): Promise<void> {
    return this.#perName.run(name, async () => {
      const session = this.#sessions.get(name);
      if (!session) return;
      await session.kill(graceMs);
      this.#forget(name);
    });
  }

  unacknowledgedExits(): readonly HostEvent[] {
    return [...this.#sessions.values()].flatMap((session) => session.unacknowledgedExit() ?? []);
  }

  /** Whether it ends now: only a host without sessions does. */
  leave(): boolean {
    const empty = this.#sessions.size === 0;
    if (empty) this.#listener.onLeave();
    return empty;
  }

  #forget(name: string): void {
    this.#sessions.delete(name);
    this.#ledger.remove(name);
    if (this.#sessions.size === 0) this.#listener.onEmpty();
  }

  async #launch(name: string, launch: WireLaunch, token: string): Promise<void> {
    const session = new HostedSession({
      name,
      clock: this.#clock,
      size: { columns: launch.columns, rows: launch.rows },
      terminal: launch.pty,
      meta: launch.env,
      scrollback: new ScrollbackFile(join(scrollbackDir(this.#dir), name)),
      emit: (event) => this.#listener.onEvent(event),
    });
    this.#sessions.set(name, session);
    let pid = 0;
    const callbacks: AgentCallbacks = {
      onOutput: (bytes) => session.onOutput(bytes),
      onOutputEnd: () => session.onOutputEnd(),
      onExit: (exit) => session.onExit(exit, pid),
    };
    const command = {
      ...launch,
      env: launch.pty ? { TERM: TERMINAL_TYPE, ...launch.env } : launch.env,
    };
    const process = launch.pty
      ? startPtyProcess(command, callbacks)
      : await startPipeProcess(command, callbacks);
    pid = process.pid;
    const leader = identityOf(pid);
    session.begin(process, leader);
    if (leader) this.#ledger.started(name, token, leader);
  }
}

function checkLaunch(launch: WireLaunch): void {
  const [program = ''] = launch.argv;
  if (program === '') throw new GcError('bad-launch', 'the command is empty');
  for (const value of [...launch.argv, ...Object.entries(launch.env).flat(), launch.cwd]) {
    if (value.includes('\0'))
      throw new GcError('bad-launch', 'a NUL byte is in the command or its environment');
  }
  if (!statSync(launch.cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw new GcError('work-dir-missing', `the work dir ${launch.cwd} is not a directory`);
  }
  if (!canRun(program, launch)) {
    throw new GcError('command-not-found', `${program}: command not found`, {
      next: 'install it, or give its full path',
    });
  }
}

function canRun(program: string, launch: WireLaunch): boolean {
  if (program.includes('/')) return isExecutable(resolve(launch.cwd, program));
  const path = launch.env['PATH'] ?? DEFAULT_PATH;
  return path.split(delimiter).some((dir) => isExecutable(resolve(launch.cwd, dir, program)));
}
