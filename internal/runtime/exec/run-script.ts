import { type ChildProcess, spawn } from 'node:child_process';
import { codeOf, messageOf } from '../../platform/errors.ts';
import { signalGroup } from '../../platform/process-group.ts';

export interface ScriptRequest {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment of the script. */
  readonly env: Readonly<Record<string, string>>;
  /** Given byte for byte; `undefined`: its stdin is the null device. */
  readonly stdin: string | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** A script that prints more is killed. Default `MAX_STDOUT_BYTES`. */
  readonly maxStdoutBytes?: number;
}

export type ScriptResult =
  | { readonly kind: 'ended'; readonly code: number; readonly stdout: string; readonly stderrTail: string }
  | { readonly kind: 'killed'; readonly signal: string; readonly stderrTail: string }
  | { readonly kind: 'timed-out'; readonly timeoutMs: number; readonly stderrTail: string }
  | {
      readonly kind: 'too-much-output';
      readonly stream: 'stdout' | 'stderr';
      readonly limitBytes: number;
      readonly stderrTail: string;
    }
  /** `ENOENT`: the script or the interpreter in its first line is missing; `EACCES`: it is not executable. */
  | { readonly kind: 'not-started'; readonly code: string | undefined; readonly reason: string };

export const MAX_STDOUT_BYTES = 8 * 1_048_576;
/** What a script may write to stderr in all; only the tail is kept. */
export const MAX_STDERR_BYTES = 64 * 1_048_576;
export const STDERR_TAIL_BYTES = 65_536;
/** Between TERM and KILL of a script whose time is over, milliseconds. */
const TERM_GRACE_MS = 2_000;
/** How long a killed group may take to be gone. */
const KILL_WAIT_MS = 1_000;
const GROUP_POLL_MS = 20;
/** After the script ended: output that stays silent this long is complete, whoever still holds the pipe. */
const LAST_OUTPUT_IDLE_MS = 100;

/**
 * Runs a script once, without a shell, in a process group of its own. It ends when the script itself ends: a child that
 * it left behind with its pipes is not waited for, and not ended either. A script whose time is over, or that prints too
 * much, is ended with its group: TERM, then KILL. Rejects only with the signal's reason.
 * Source: Gas City exec protocol, process model.
 */
export async function runScript(request: ScriptRequest): Promise<ScriptResult> {
  request.signal?.throwIfAborted();
  const run = new Run(request);
  try {
    return await run.result;
  } finally {
    request.signal?.removeEventListener('abort', run.abort);
  }
}

type Reason = Extract<ScriptResult['kind'], 'timed-out'> | 'stdout' | 'stderr' | 'aborted';

class Run {
  readonly result: Promise<ScriptResult>;
  readonly abort = () => void this.#endGroup('aborted');
  readonly #request: ScriptRequest;
  readonly #stdout: Buffer[] = [];
  readonly #timers = new Set<NodeJS.Timeout>();
  #child: ChildProcess | undefined;
  #stdoutBytes = 0;
  #stderrBytes = 0;
  #tail = Buffer.alloc(0);
  #ending: Reason | undefined;
  #settle: (result: ScriptResult) => void = () => undefined;
  #reject: (reason: unknown) => void = () => undefined;

  constructor(request: ScriptRequest) {
    this.#request = request;
    this.result = new Promise<ScriptResult>((resolve, reject) => {
      this.#settle = resolve;
      this.#reject = reject;
    }).finally(() => this.#release());
    try {
      this.#start();
    } catch (error) {
      // An argument that no program can be given, such as one with a NUL byte.
      this.#settle({ kind: 'not-started', code: codeOf(error), reason: messageOf(error) });
    }
  }

  #start(): void {
    const { file, args, cwd, env, stdin, timeoutMs, signal } = this.#request;
    const child = spawn(file, [...args], {
      cwd,
      env: { ...env },
      detached: true,
      stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.once('error', (error) => {
      this.#settle({ kind: 'not-started', code: codeOf(error), reason: error.message });
    });
    child.stdout?.on('data', (chunk: Buffer) => this.#takeStdout(chunk));
    child.stderr?.on('data', (chunk: Buffer) => this.#takeStderr(chunk));
    // A script need not read what it is given: EPIPE says only that.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(stdin);
    child.once('exit', (code, killedBy) => this.#exited(code, killedBy));
    this.#after(timeoutMs, () => void this.#endGroup('timed-out'));
    signal?.addEventListener('abort', this.abort, { once: true });
  }

  #takeStdout(chunk: Buffer): void {
    const limit = this.#request.maxStdoutBytes ?? MAX_STDOUT_BYTES;
    this.#stdoutBytes += chunk.length;
    if (this.#stdoutBytes <= limit) this.#stdout.push(chunk);
    else void this.#endGroup('stdout');
  }

  #takeStderr(chunk: Buffer): void {
    this.#stderrBytes += chunk.length;
    const kept = chunk.subarray(-STDERR_TAIL_BYTES);
    this.#tail = Buffer.concat([this.#tail, kept]).subarray(-STDERR_TAIL_BYTES);
    if (this.#stderrBytes > MAX_STDERR_BYTES) void this.#endGroup('stderr');
  }

  #exited(code: number | null, killedBy: NodeJS.Signals | null): void {
    if (this.#ending !== undefined) return;
    const finish = () => {
      const stderrTail = this.#stderrTail();
      if (killedBy) this.#settle({ kind: 'killed', signal: killedBy, stderrTail });
      else this.#settle({ kind: 'ended', code: code ?? 0, stdout: this.#text(), stderrTail });
    };
    let heard = 0;
    const hear = () => {
      heard += 1;
    };
    this.#child?.stdout?.on('data', hear);
    this.#child?.stderr?.on('data', hear);
    const waitForSilence = () => {
      const before = heard;
      this.#after(LAST_OUTPUT_IDLE_MS, () => {
        // On a busy machine the timer comes first: what is in the pipes already is read before it counts.
        setImmediate(() => (heard === before ? finish() : waitForSilence()));
      });
    };
    waitForSilence();
    this.#child?.once('close', finish);
  }

  /** TERM, then KILL to what is left of the group, whether or not the script itself has ended meanwhile. */
  async #endGroup(reason: Reason): Promise<void> {
    if (this.#ending !== undefined) return;
    this.#ending = reason;
    const pid = this.#child?.pid;
    signalGroup(pid, 'SIGTERM');
    if (!(await this.#groupGone(pid, TERM_GRACE_MS))) {
      signalGroup(pid, 'SIGKILL');
      await this.#groupGone(pid, KILL_WAIT_MS);
    }
    this.#settleEnded(reason);
  }

  #settleEnded(reason: Reason): void {
    const stderrTail = this.#stderrTail();
    const { timeoutMs, signal, maxStdoutBytes } = this.#request;
    switch (reason) {
      case 'aborted':
        this.#reject(signal?.reason);
        return;
      case 'timed-out':
        this.#settle({ kind: 'timed-out', timeoutMs, stderrTail });
        return;
      case 'stdout':
      case 'stderr': {
        const limitBytes = reason === 'stdout' ? (maxStdoutBytes ?? MAX_STDOUT_BYTES) : MAX_STDERR_BYTES;
        this.#settle({ kind: 'too-much-output', stream: reason, limitBytes, stderrTail });
      }
    }
  }

  async #groupGone(pid: number | undefined, withinMs: number): Promise<boolean> {
    for (let waited = 0; waited < withinMs; waited += GROUP_POLL_MS) {
      if (!groupLives(pid)) return true;
      await new Promise<void>((resolve) => this.#after(GROUP_POLL_MS, resolve));
    }
    return !groupLives(pid);
  }

  #after(ms: number, act: () => void): NodeJS.Timeout {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      act();
    }, ms);
    this.#timers.add(timer);
    return timer;
  }

  /** Nothing of ours is left on it: no timer, no pipe. */
  #release(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    for (const stream of [this.#child?.stdin, this.#child?.stdout, this.#child?.stderr]) stream?.destroy();
  }

  #text(): string {
    return Buffer.concat(this.#stdout).toString('utf8');
  }

  #stderrTail(): string {
    return this.#tail.toString('utf8').trim();
  }
}

function groupLives(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    process.kill(-pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
