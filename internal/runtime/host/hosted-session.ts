import type { Clock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import { bootId, type ProcessIdentity } from '../../platform/process-identity.ts';
import type { ProcessEntry } from '../../platform/process-table.ts';
import {
  killTree,
  namesOf,
  type ProcessTable,
  signalExactly,
  snapshotProcesses,
  treeOf,
} from '../../platform/process-tree.ts';
import { SessionNotFoundError } from '../errors.ts';
import type { ExitInfo, TerminalSize } from '../provider.ts';
import type { AgentProcess } from './agent-process.ts';
import { type AttachedTerminal, AttachHub, type AttachSink } from './attach-hub.ts';
import type { HostEvent, WireSession } from './protocol.ts';
import { Screen } from './screen.ts';
import type { ScrollbackFile } from './scrollback-file.ts';
import { SessionInput } from './session-input.ts';

/** Output that waits for the emulator: above the first the program is paused, below the second it goes on. */
const PAUSE_BYTES = 262_144;
const RESUME_BYTES = 65_536;
/**
 * After the exit a helper may hold the terminal for ever: the output ends when this many looks in a row saw nothing new,
 * at the latest after the limits. Looks are counted, not time: between two of them everything that waits is read.
 */
const OUTPUT_POLL_MS = 20;
const OUTPUT_SILENT_LOOKS = 5;
const OUTPUT_LIMIT_MS = 2_000;
/** The program's own output may still be on its way through a busy emulator. */
const OUTPUT_BACKLOG_LIMIT_MS = 10_000;
/** Between two activity events of one session. */
const ACTIVITY_EVENT_MS = 1_000;
const WAKE_PAUSE_MS = 60;
const LAST_LINES = 20;
const LAST_LINES_CHARS = 4_096;
const REAP_WAIT_MS = 3_000;

type State =
  | { readonly kind: 'running' }
  /** The program ended, its output may not be whole. */
  | { readonly kind: 'ending'; readonly exit: ExitInfo; readonly at: number }
  | { readonly kind: 'dead'; readonly exit: ExitInfo; readonly lastLines: string };

export interface SessionParts {
  readonly name: string;
  readonly clock: Clock;
  readonly size: TerminalSize;
  readonly terminal: boolean;
  readonly meta: Readonly<Record<string, string>>;
  readonly scrollback: ScrollbackFile;
  readonly emit: (event: HostEvent) => void;
}

/** One agent in the host: its process, its screen, what is typed to it, and who watches. */
export class HostedSession {
  readonly name: string;
  readonly meta: Map<string, string>;
  readonly input: SessionInput;
  readonly #parts: SessionParts;
  readonly #screen: Screen;
  readonly #hub: AttachHub;
  readonly #ended: Promise<void>;
  readonly #lifetime = new AbortController();
  #resolveEnded: () => void = () => undefined;
  #process: AgentProcess | undefined;
  #leader: ProcessIdentity | undefined;
  #state: State = { kind: 'running' };
  #survivors: readonly ProcessEntry[] = [];
  #paused = false;
  /** What the emulator reads now was answered long ago, or never will be. */
  #replaying = false;
  #outputEnded = false;
  #lastOutput: number;
  #lastActivity: number;
  #announcedActivity = Number.NEGATIVE_INFINITY;
  #killing = false;
  #exitAcknowledged = false;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.name = parts.name;
    this.meta = new Map(Object.entries(parts.meta));
    this.#lastActivity = parts.clock.now();
    this.#lastOutput = parts.clock.monotonic();
    this.#ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    this.#screen = new Screen({
      ...parts.size,
      pipe: !parts.terminal,
      scrollback: parts.scrollback,
      onReply: (bytes) => this.#answer(bytes),
      onShown: (piece) => this.#shown(piece),
    });
    this.input = new SessionInput(parts.name, this.#screen, () => this.interrupt());
    this.#hub = new AttachHub(
      this.#screen,
      (size) => this.#resize(size),
      (change) => parts.emit({ kind: change, name: this.name }),
    );
  }

  /** The process runs. `leader` is undefined when it ended before it could be looked at. */
  begin(process: AgentProcess, leader: ProcessIdentity | undefined): void {
    this.#process = process;
    this.#leader = leader;
    if (this.#paused) process.pauseOutput();
    this.input.connect(process);
  }

  onOutput(bytes: Buffer): void {
    const { clock, emit } = this.#parts;
    this.#lastOutput = clock.monotonic();
    this.#lastActivity = clock.now();
    this.#screen.write(bytes);
    this.#pauseWhenBehind();
    if (this.#lastOutput - this.#announcedActivity < ACTIVITY_EVENT_MS) return;
    this.#announcedActivity = this.#lastOutput;
    emit({ kind: 'activity', name: this.name });
  }

  /** Output of before, from a log. People at the terminal get the outcome, not the way there. */
  onReplay(bytes: Buffer): void {
    this.#screen.settle(() => {
      this.#replaying = true;
    });
    this.#screen.write(bytes);
    this.#screen.settle(() => {
      this.#replaying = false;
      this.#hub.redraw();
    });
    this.#pauseWhenBehind();
  }

  onOutputEnd(): void {
    this.#outputEnded = true;
    if (this.#state.kind === 'ending') this.#finish(this.#state.exit);
  }

  onExit(exit: ExitInfo, pid: number): void {
    if (this.#state.kind !== 'running') return;
    if (pid === 0) {
      this.input.close();
      this.#finish(exit);
      return;
    }
    this.#state = { kind: 'ending', exit, at: this.#parts.clock.monotonic() };
    this.input.close();
    // While members live, the leader's number cannot be given to another session: these are ours.
    this.#survivors = treeOf(pid, snapshotProcesses()).filter((e) => e.pid !== pid && e.state !== 'Z');
    if (this.#outputEnded) this.#finish(exit);
    else this.#awaitSilence();
  }

  describe(table: ProcessTable): WireSession {
    // 0 is no process of this machine, although the system has much below it.
    const tree = this.#process?.pid ? treeOf(this.#process.pid, table) : [];
    const common = {
      name: this.name,
      attached: this.#hub.count,
      lastActivity: this.#lastActivity,
      meta: Object.fromEntries(this.meta),
    };
    if (this.#state.kind === 'dead') {
      const { exit, lastLines } = this.#state;
      return { ...common, exit, lastLines, processNames: [] };
    }
    return { ...common, pid: this.#process?.pid ?? 0, processNames: namesOf(tree) };
  }

  /** The exit as an event, when nobody has acknowledged it. */
  unacknowledgedExit(): HostEvent | undefined {
    if (this.#state.kind !== 'dead' || this.#exitAcknowledged) return undefined;
    return { kind: 'exited', name: this.name, exit: this.#state.exit, lastLines: this.#state.lastLines };
  }

  acknowledgeExit(): void {
    this.#exitAcknowledged = this.#state.kind === 'dead';
  }

  /** Ends the whole tree and lets go of everything. @throws GcError `kill-incomplete` */
  async kill(graceMs: number): Promise<void> {
    const { clock } = this.#parts;
    this.#killing = true;
    // Elsewhere: its life is its back end's to end.
    if (this.#process?.pid === 0) return this.dispose();
    const leader = this.#leader ?? { bootId: bootId(), pid: this.#process?.pid ?? 0, startTime: 'ended' };
    const { left } = await killTree(leader, {
      graceMs,
      clock,
      known: [...this.#survivors, ...(this.#process?.helpers?.() ?? [])],
    });
    if (left.length > 0) {
      this.#killing = false;
      throw new GcError(
        'kill-incomplete',
        `session "${this.name}": process ${left.join(', ')} does not end, not even by SIGKILL`,
        { next: `look at it with: ps -o pid,stat,wchan:20,args -p ${left.join(',')}` },
      );
    }
    await Promise.race([
      this.#ended,
      clock.sleep(REAP_WAIT_MS, this.#lifetime.signal).catch(() => undefined),
    ]);
    this.dispose();
  }

  /** Ends its program as if it had ended by itself: its exit, its last lines and its metadata stay to be seen. */
  async endProgram(graceMs: number): Promise<void> {
    if (this.#state.kind !== 'running' || this.#killing || !this.#leader) return;
    const known = this.#process?.helpers?.() ?? [];
    await killTree(this.#leader, { graceMs, clock: this.#parts.clock, known });
  }

  /** Ends what a failed creation had begun. */
  async abandon(): Promise<void> {
    try {
      if (this.#process) await this.kill(0);
    } catch {
      // the error of the creation is the one to tell
    }
    this.dispose();
  }

  dispose(): void {
    this.#lifetime.abort();
    this.#hub.end('removed');
    this.input.close();
    this.#process?.release();
    this.#screen.dispose();
    this.#parts.scrollback.clear();
  }

  /** Ctrl-C in a terminal, SIGINT to the group without one. */
  interrupt(): void {
    if (this.#state.kind !== 'running' || !this.#process) return;
    if (this.#process.terminal) {
      this.input.typed(Buffer.from('\x03'));
      return;
    }
    const table = snapshotProcesses();
    if (!this.#leader || table.entry(this.#leader.pid)?.startTime !== this.#leader.startTime) return;
    for (const entry of table.inGroup(this.#leader.pid)) signalExactly(entry, 'SIGINT');
  }

  /** @throws SessionNotFoundError when it is removed meanwhile */
  capture(lines: number): Promise<ReturnType<Screen['capture']>> {
    return new Promise((resolve, reject) => {
      const { signal } = this.#lifetime;
      const removed = () => reject(new SessionNotFoundError(this.name));
      signal.addEventListener('abort', removed, { once: true });
      this.#screen.settle(() => {
        signal.removeEventListener('abort', removed);
        if (signal.aborted) return;
        try {
          resolve(this.#screen.capture(lines));
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  /** Two changes of size make a full-screen program draw itself anew. People at the terminal do that themselves. */
  async wake(): Promise<void> {
    if (this.#hub.count > 0 || this.#state.kind !== 'running') return;
    const { columns, rows } = this.#screen;
    this.#process?.resize(columns, Math.max(1, rows - 1));
    await this.#parts.clock.sleep(WAKE_PAUSE_MS, this.#lifetime.signal).catch(() => undefined);
    this.#process?.resize(this.#screen.columns, this.#screen.rows);
  }

  clearScrollback(): void {
    this.#screen.clearScrollback();
  }

  /** @throws GcError `session-ended` */
  attach(sink: AttachSink, size: TerminalSize): AttachedTerminal {
    if (this.#state.kind !== 'running') {
      throw new GcError('session-ended', `session "${this.name}" has ended: nothing to attach to`, {
        next: `gc session peek ${this.name}`,
      });
    }
    return this.#hub.add(sink, size);
  }

  #pauseWhenBehind(): void {
    if (this.#paused || this.#screen.pendingBytes <= PAUSE_BYTES) return;
    this.#paused = true;
    this.#process?.pauseOutput();
  }

  #answer(bytes: string): void {
    if (this.#replaying) return;
    // With a person at it, the person's terminal answers.
    if (this.#parts.terminal && !this.#hub.answers) this.input.typed(Buffer.from(bytes));
  }

  #shown(piece: Buffer): void {
    if (!this.#replaying) this.#hub.shown(piece);
    if (!this.#paused || this.#screen.pendingBytes > RESUME_BYTES) return;
    this.#paused = false;
    this.#process?.resumeOutput();
  }

  #resize(size: TerminalSize): void {
    this.#screen.resize(size);
    this.#process?.resize(size.columns, size.rows);
  }

  #awaitSilence(): void {
    const { clock } = this.#parts;
    let seen = this.#lastOutput;
    let silentLooks = 0;
    const timer = setInterval(() => {
      if (this.#state.kind !== 'ending') return clearInterval(timer);
      silentLooks = this.#paused || seen !== this.#lastOutput ? 0 : silentLooks + 1;
      seen = this.#lastOutput;
      const limit = this.#paused ? OUTPUT_BACKLOG_LIMIT_MS : OUTPUT_LIMIT_MS;
      const late = clock.monotonic() - this.#state.at > limit;
      if (silentLooks < OUTPUT_SILENT_LOOKS && !late) return;
      clearInterval(timer);
      this.#finish(this.#state.exit);
    }, OUTPUT_POLL_MS);
    this.#lifetime.signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  #finish(exit: ExitInfo): void {
    if (this.#state.kind === 'dead' || this.#lifetime.signal.aborted) return;
    this.#screen.end();
    this.#screen.settle(() => {
      if (this.#state.kind === 'dead' || this.#lifetime.signal.aborted) return;
      const lastLines = this.#screen.lastLines(LAST_LINES, LAST_LINES_CHARS);
      this.#state = { kind: 'dead', exit, lastLines };
      this.#process?.release();
      this.#hub.end('exited');
      this.#resolveEnded();
      if (!this.#killing) this.#parts.emit({ kind: 'exited', name: this.name, exit, lastLines });
    });
  }
}
