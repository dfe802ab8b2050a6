import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Clock } from '../../../platform/clock.ts';
import { messageOf } from '../../../platform/errors.ts';
import type { Environment } from '../../../platform/paths.ts';
import { signalGroup } from '../../../platform/process-group.ts';
import { identityOf, type ProcessIdentity } from '../../../platform/process-identity.ts';
import { CommandError } from './errors.ts';
import { LastLines } from './last-lines.ts';
import { LineCutter } from './line-cutter.ts';
import { endTurn } from './process-ledger.ts';

/** A line of output that is longer ends the program. */
export const LINE_LIMIT_BYTES = 8 * 1024 * 1024;
/** How long the output of a program that has ended may stay open in the hands of what it started. */
const DRAIN_MS = 2_000;
/** How long a program may stay after it has said that its turn is over. */
export const LINGER_MS = 30_000;
/** Between looks at what a silent program does. */
const SILENCE_LOOK_MS = 1_000;

export interface LinesRun {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Environment;
  readonly token: string;
  readonly input: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly turnTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxOutputBytes: number;
  /** Called as soon as the program has a number. */
  started(leader: ProcessIdentity): void;
  /** One line of standard output, without its end. Nothing more is read before it resolves; when it rejects the program is ended. */
  line(text: string, said: LastLines): Promise<void>;
  /** What the program does now: while a tool is at work silence means nothing; once it is over it should go. */
  state(): 'talking' | 'working' | 'over';
}

export interface LinesExit {
  readonly code: number | undefined;
  readonly signal: string | undefined;
  /** The last of both outputs. */
  readonly lines: LastLines;
}

/**
 * Runs a program without a shell, in a session of its own, and gives its output line by line. Whatever ends the run ends
 * the program and what it started.
 * @throws CommandError, the signal's reason, or what `line` rejects with
 */
export async function runLines(run: LinesRun): Promise<LinesExit> {
  run.signal.throwIfAborted();
  const child = startChild(run);
  const exited = exitOf(child, run);
  const leader = child.pid === undefined ? undefined : identityOf(child.pid);
  return await new Reading(run, child, leader, exited).result();
}

function startChild(run: LinesRun): ChildProcessWithoutNullStreams {
  try {
    return spawn(run.file, [...run.args], {
      cwd: run.cwd,
      env: { ...run.env },
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  } catch (cause) {
    throw notStarted(run, cause); // an argument or a variable that no program can be given
  }
}

function notStarted(run: LinesRun, cause: unknown): CommandError {
  return new CommandError(
    'not-executable',
    `harness ${run.name}: ${run.file} did not start: ${messageOf(cause)}`,
    { cause, next: 'run the program by hand in the same place' },
  );
}

interface ChildExit {
  readonly code: number | undefined;
  readonly signal: string | undefined;
}

async function exitOf(
  child: ChildProcessWithoutNullStreams,
  run: LinesRun,
): Promise<ChildExit | CommandError> {
  return new Promise((resolve) => {
    child.once('error', (cause) => resolve(notStarted(run, cause)));
    child.once('exit', (code, signal) => resolve({ code: code ?? undefined, signal: signal ?? undefined }));
  });
}

class Reading {
  readonly #run: LinesRun;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #leader: ProcessIdentity | undefined;
  readonly #exited: Promise<ChildExit | CommandError>;
  readonly #over = new AbortController();
  readonly #lines: LastLines;
  #heardAt: number;
  #busy = false;
  #stopped: { readonly reason: unknown } | undefined;
  #ending: Promise<unknown> | undefined;
  readonly #unending: Promise<CommandError>;
  #stuck: (error: CommandError) => void = () => undefined;

  constructor(
    run: LinesRun,
    child: ChildProcessWithoutNullStreams,
    leader: ProcessIdentity | undefined,
    exited: Promise<ChildExit | CommandError>,
  ) {
    this.#run = run;
    this.#child = child;
    this.#leader = leader;
    this.#exited = exited;
    this.#lines = new LastLines(run.env);
    this.#heardAt = run.clock.monotonic();
    this.#unending = new Promise((resolve) => {
      this.#stuck = resolve;
    });
  }

  async result(): Promise<LinesExit> {
    const { run, child } = { run: this.#run, child: this.#child };
    const abort = () => this.#stop(run.signal.reason);
    this.#tellStarted();
    run.signal.addEventListener('abort', abort, { once: true });
    child.stdin.on('error', () => child.stdin.destroy()); // it closed its input: what it says tells why
    child.stderr.on('data', (chunk: Buffer) => this.#lines.add(chunk.toString('utf8')));
    child.stderr.on('error', () => child.stderr.destroy());
    child.stdin.end(run.input);
    const watching = [this.#watchDeadline(), this.#watchSilence(), this.#watchDrain()];
    try {
      await this.#read();
      const exit = await Promise.race([this.#exited, this.#unending]);
      await this.#ending;
      if (exit instanceof CommandError && exit.failure === 'leftover') throw exit;
      if (this.#stopped) throw this.#stopped.reason;
      if (exit instanceof CommandError) throw exit;
      return { ...exit, lines: this.#lines };
    } finally {
      run.signal.removeEventListener('abort', abort);
      this.#over.abort();
      await Promise.all(watching);
      child.stdout.destroy();
      child.stderr.destroy();
    }
  }

  /** A program that cannot be written down must not run. */
  #tellStarted(): void {
    try {
      if (this.#leader) this.#run.started(this.#leader);
    } catch (error) {
      this.#stop(error);
    }
  }

  async #read(): Promise<void> {
    const lines = new LineCutter(LINE_LIMIT_BYTES);
    let total = 0;
    try {
      for await (const chunk of this.#child.stdout as AsyncIterable<Buffer>) {
        if (this.#stopped) continue; // read to the end, so that nobody waits for room in the pipe
        total += chunk.length;
        if (total > this.#run.maxOutputBytes) {
          this.#stop(this.#flooded(`printed more than ${this.#run.maxOutputBytes} bytes`));
          continue;
        }
        await this.#tell(lines.push(chunk));
      }
    } catch (error) {
      // Closed by us, after the program had ended or when it was told to.
      if (!this.#stopped && !this.#over.signal.aborted && !this.#child.stdout.destroyed) this.#stop(error);
    }
    const rest = lines.rest();
    if (!this.#stopped && rest !== '') await this.#tell([rest]);
  }

  async #tell(lines: readonly string[] | 'too-long'): Promise<void> {
    if (lines === 'too-long') {
      this.#stop(this.#flooded(`printed a line of more than ${LINE_LIMIT_BYTES} bytes`));
      return;
    }
    this.#busy = true;
    try {
      for (const line of lines) {
        if (this.#stopped) return;
        this.#lines.add(`${line}\n`);
        await this.#run.line(line, this.#lines);
      }
    } catch (error) {
      this.#stop(error);
    } finally {
      this.#busy = false;
      this.#heardAt = this.#run.clock.monotonic();
    }
  }

  #flooded(what: string): CommandError {
    return new CommandError('flooded', `harness ${this.#run.name}: ${this.#run.file} ${what} and was ended`, {
      next: 'make the program say less, or raise its limit',
    });
  }

  /** Ends the program once; the first reason counts. */
  #stop(reason: unknown): void {
    this.#stopped ??= { reason };
    this.#end();
  }

  #end(): void {
    this.#ending ??= this.#endAll();
  }

  async #endAll(): Promise<void> {
    const { token, clock, name, file } = this.#run;
    // Nobody could look at a program that ended at once; its group is that of our child, which is not reaped yet.
    if (this.#leader === undefined) signalGroup(this.#child.pid, 'SIGKILL');
    const left = await endTurn({ token, leader: this.#leader }, clock);
    if (left.length > 0)
      this.#stuck(
        new CommandError(
          'leftover',
          `harness ${name}: processes of ${file} cannot be ended: ${left.join(', ')}`,
          { next: 'end them by hand' },
        ),
      );
    this.#child.stdout.destroy();
  }

  async #watchDeadline(): Promise<void> {
    const { turnTimeoutMs, clock, name, file } = this.#run;
    if (!(await this.#sleep(turnTimeoutMs, clock))) return;
    const what = `${file} did not end its turn within ${seconds(turnTimeoutMs)}`;
    this.#stop(
      new CommandError('timed-out', `harness ${name}: ${what} and was ended${this.#lines.shown()}`, {
        next: 'give it a longer turn, or smaller work',
      }),
    );
  }

  async #watchSilence(): Promise<void> {
    const { idleTimeoutMs, clock, name, file } = this.#run;
    for (;;) {
      const state = this.#run.state();
      const limit = state === 'over' ? Math.min(LINGER_MS, idleTimeoutMs) : idleTimeoutMs;
      const silent = clock.monotonic() - this.#heardAt;
      if (silent >= limit && !this.#busy) {
        if (state === 'over') {
          return this.#end();
        }
        if (state === 'talking') {
          const what = `${file} said nothing for ${seconds(idleTimeoutMs)}`;
          return this.#stop(
            new CommandError('idle', `harness ${name}: ${what} and was ended${this.#lines.shown()}`, {
              next: 'see what it waits for by running it by hand',
            }),
          );
        }
      }
      const wait = silent >= limit ? SILENCE_LOOK_MS : Math.min(limit - silent, SILENCE_LOOK_MS);
      if (!(await this.#sleep(wait, clock))) return;
    }
  }

  /** What a program left running may hold its output open for ever: the turn does not wait for that. */
  async #watchDrain(): Promise<void> {
    await Promise.race([this.#exited, once(this.#over.signal, 'abort')]);
    while (!this.#over.signal.aborted) {
      if (!(await this.#sleep(DRAIN_MS, this.#run.clock))) return;
      const quiet = this.#run.clock.monotonic() - this.#heardAt >= DRAIN_MS;
      if (quiet && !this.#busy) return void this.#child.stdout.destroy();
    }
  }

  /** `false`: the run was over first. */
  async #sleep(ms: number, clock: Clock): Promise<boolean> {
    try {
      await clock.sleep(ms, this.#over.signal);
      return true;
    } catch {
      return false; // the only reason is ours
    }
  }
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;
