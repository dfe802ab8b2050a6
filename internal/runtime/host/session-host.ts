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
import type { AcpAgent, AgentProcess, StreamCallbacks } from './agent-process.ts';
import { HostedSession } from './hosted-session.ts';
import { INSTANCE_TOKEN, Ledger } from './ledger.ts';
import { startPipeProcess } from './pipe-process.ts';
import type { HostEvent, WireLaunch, WireSession } from './protocol.ts';
import { startPtyProcess } from './pty-process.ts';
import { conversationFile, scrollbackDir } from './runtime-files.ts';
import { ScrollbackFile } from './scrollback-file.ts';

/** What the emulator is, for a program that was not told. */
const TERMINAL_TYPE = 'xterm-256color';
/** Where programs are looked for without a PATH, as the C library does. */
const DEFAULT_PATH = '/bin:/usr/bin';

/** From a broken conversation to the end of an agent that does not end by itself, and between TERM and KILL. */
const USELESS_PATIENCE_MS = 1_500;
const USELESS_KILL_GRACE_MS = 2_000;

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
  readonly #acpAgents = new Map<string, AcpAgent>();
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
      // What runs elsewhere needs no proof here: nothing of it is ever signalled.
      if (!launch.remote) this.#ledger.intend(name, token);
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

  /** @throws SessionNotFoundError, GcError `not-acp` */
  acp(name: string): AcpAgent {
    this.get(name);
    const agent = this.#acpAgents.get(name);
    if (!agent)
      throw new GcError('not-acp', `session "${name}" does not speak the Agent Client Protocol here`);
    return agent;
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
    this.#acpAgents.get(name)?.close();
    this.#acpAgents.delete(name);
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
    const callbacks: StreamCallbacks = {
      onOutput: (bytes) => session.onOutput(bytes),
      onReplay: (bytes) => session.onReplay(bytes),
      onOutputEnd: () => session.onOutputEnd(),
      onExit: (exit) => session.onExit(exit, pid),
    };
    const process = await this.#startProcess(name, launch, callbacks);
    pid = process.pid;
    const leader = pid === 0 ? undefined : identityOf(pid);
    session.begin(process, leader);
    if (leader) this.#ledger.started(name, token, leader);
  }

  /** An agent that cannot be spoken to any more is of no use to anybody, while its process may live on for ever. */
  #endUseless(name: string): void {
    if (this.#acpAgents.get(name)?.state().phase !== 'failed') return;
    const session = this.#sessions.get(name);
    // Most are about to end by themselves, and tell more with their own exit.
    const end = () => session?.endProgram(USELESS_KILL_GRACE_MS);
    this.#clock.sleep(USELESS_PATIENCE_MS).then(end, end);
  }

  /** What speaks a protocol, or is reached over a network, is loaded with the first session that needs it. */
  async #startProcess(name: string, launch: WireLaunch, callbacks: StreamCallbacks): Promise<AgentProcess> {
    const { acp, remote, pty } = launch;
    if (remote) {
      const { startPodStream } = await import('../k8s/stream/start-pod-stream.ts');
      return startPodStream(remote.target, launch, callbacks, this.#clock);
    }
    if (acp) {
      const { startAcpAgent } = await import('../acp/agent/start-acp-agent.ts');
      const onChanged = () => {
        this.#listener.onEvent({ kind: 'changed', name });
        this.#endUseless(name);
      };
      const agent = await startAcpAgent(
        { name, command: launch, acp, journal: conversationFile(this.#dir, name) },
        { ...callbacks, onChanged },
        this.#clock,
      );
      this.#acpAgents.set(name, agent);
      return agent.process;
    }
    return pty
      ? startPtyProcess({ ...launch, env: { TERM: TERMINAL_TYPE, ...launch.env } }, callbacks)
      : startPipeProcess(launch, callbacks);
  }
}

function checkLaunch(launch: WireLaunch): void {
  if (launch.remote) return;
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
