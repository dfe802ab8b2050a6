import { statSync } from 'node:fs';
import { unreachable } from '../../platform/errors.ts';
import { SessionNotFoundError } from '../errors.ts';
import { isSessionName } from '../name-rule.ts';
import { ScriptFailedError, ScriptUnsupportedError } from './errors.ts';
import type { ScriptCommand } from './find-script.ts';
import { runScript, type ScriptResult } from './run-script.ts';
import { Slots } from './slots.ts';

export interface ScriptCallsOptions {
  readonly script: ScriptCommand;
  /** The whole environment of the scripts. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly timeouts: ExecTimeouts;
}

/** Milliseconds. Source: Gas City exec protocol. */
export interface ExecTimeouts {
  readonly startMs: number;
  readonly otherMs: number;
}

export const DEFAULT_EXEC_TIMEOUTS: ExecTimeouts = Object.freeze({ startMs: 120_000, otherMs: 30_000 });

export interface CallOptions {
  readonly stdin?: string;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** Added to the script's environment. */
  readonly env?: Readonly<Record<string, string>>;
}

export type Reply = { readonly kind: 'ok'; readonly text: string } | { readonly kind: 'unsupported' };

const UNKNOWN_OPERATION = 2;
/** Scripts that run at once; starts have places of their own, since one of them may take two minutes. */
const CALLS_AT_ONCE = 8;
const STARTS_AT_ONCE = 8;
/** Asked every time: what they answer decides over a session, or the script has said that it knows them. */
const NEVER_REMEMBERED = new Set(['start', 'stop', 'is-running', 'observe', 'paste', 'run']);
/** Their first argument, if any, is something else than a session's name. */
const WITHOUT_NAME: ReadonlySet<string> = new Set(['list-running', 'observe', 'check-image', 'features']);
const TAIL_LINES = 20;

/** Calls the operations of one script, a bounded number at once, and remembers which ones it does not know. */
export class ScriptCalls {
  readonly script: ScriptCommand;
  readonly #options: ScriptCallsOptions;
  readonly #calls = new Slots(CALLS_AT_ONCE);
  readonly #starts = new Slots(STARTS_AT_ONCE);
  readonly #unsupported = new Set<string>();
  #changedMs: number | undefined;

  constructor(options: ScriptCallsOptions) {
    this.script = options.script;
    this.#options = options;
  }

  /** What the script's environment is. */
  get env(): Readonly<Record<string, string>> {
    return this.#options.env;
  }

  /**
   * One operation. What it printed, without the newlines at its end; exit 2 is `unsupported`.
   * @throws ScriptFailedError for any other exit, a script that cannot be run, does not end or prints too much
   */
  async call(operation: string, args: readonly string[], options: CallOptions = {}): Promise<Reply> {
    this.#forgetIfChanged();
    if (this.#unsupported.has(operation)) return { kind: 'unsupported' };
    const result = await this.run([operation, ...args], options);
    if (result.kind === 'ended' && result.code === UNKNOWN_OPERATION) {
      if (!NEVER_REMEMBERED.has(operation)) this.#unsupported.add(operation);
      return { kind: 'unsupported' };
    }
    if (result.kind === 'ended' && result.code === 0) {
      return { kind: 'ok', text: result.stdout.replace(/\n+$/, '') };
    }
    throw this.failure([operation, ...args], result);
  }

  /** As `call`. @throws ScriptUnsupportedError for exit 2 */
  async need(operation: string, args: readonly string[], options: CallOptions = {}): Promise<string> {
    const reply = await this.call(operation, args, options);
    if (reply.kind === 'unsupported') throw new ScriptUnsupportedError(this.script.shown, operation);
    return reply.text;
  }

  /** Whether the script is known not to know the operation. */
  lacks(operation: string): boolean {
    this.#forgetIfChanged();
    return this.#unsupported.has(operation);
  }

  /**
   * One run of the script, whatever comes of it. A script may make a path of the name it is given: what is no name
   * never reaches one.
   * @throws SessionNotFoundError
   */
  async run(args: readonly string[], options: CallOptions = {}): Promise<ScriptResult> {
    const [operation = '', name = ''] = args;
    if (!WITHOUT_NAME.has(operation) && !isSessionName(name)) throw new SessionNotFoundError(name);
    const { cwd, env, timeouts } = this.#options;
    const starting = args[0] === 'start';
    const { signal } = options;
    const slots = starting ? this.#starts : this.#calls;
    const work = () =>
      runScript({
        file: this.script.file,
        args,
        cwd,
        env: { ...env, ...options.env },
        stdin: options.stdin,
        timeoutMs: options.timeoutMs ?? (starting ? timeouts.startMs : timeouts.otherMs),
        signal,
      });
    return await slots.run(work, signal);
  }

  /** When the script's file was changed last, milliseconds; `undefined`: it is gone. */
  changedMs(): number | undefined {
    return statSync(this.script.file, { throwIfNoEntry: false })?.mtimeMs;
  }

  /** A script that was edited may know more than before. */
  #forgetIfChanged(): void {
    const changedMs = this.changedMs();
    if (changedMs !== this.#changedMs) this.#unsupported.clear();
    this.#changedMs = changedMs;
  }

  /** What went wrong with a run, for people. */
  failure(args: readonly string[], result: ScriptResult): ScriptFailedError {
    const head = `exec provider ${this.script.shown} ${args.filter((arg) => arg !== '').join(' ')}:`;
    const { text, next } = describeResult(result, this.script.file);
    const code = result.kind === 'ended' ? result.code : undefined;
    return new ScriptFailedError(`${head} ${text}`, code, tailOfResult(result), next);
  }
}

const tailOfResult = (result: ScriptResult) =>
  result.kind === 'not-started' ? '' : lastLines(result.stderrTail);

function describeResult(result: ScriptResult, file: string): { text: string; next?: string } {
  const tail = tailOfResult(result);
  switch (result.kind) {
    case 'ended':
      return { text: tail === '' ? `exit ${result.code}, nothing on stderr` : tail };
    case 'killed':
      return { text: withTail(`ended by ${result.signal}`, tail) };
    case 'timed-out':
      return { text: withTail(`no end within ${result.timeoutMs / 1_000} s, killed`, tail) };
    case 'too-much-output': {
      const limit = `${result.limitBytes / 1_048_576} MiB`;
      return { text: withTail(`it printed more than ${limit} to ${result.stream}, killed`, tail) };
    }
    case 'not-started':
      return notStarted(result, file);
    default:
      return unreachable(result);
  }
}

function notStarted(
  result: Extract<ScriptResult, { kind: 'not-started' }>,
  file: string,
): { text: string; next?: string } {
  switch (result.code) {
    case 'ENOENT':
      return {
        text: statSync(file, { throwIfNoEntry: false })
          ? 'the program in its first line (#!) does not exist'
          : `${file} does not exist`,
      };
    case 'EACCES':
      return { text: `${file} is not executable`, next: `chmod +x ${file}` };
    case 'ENOEXEC':
      return { text: `${file} has no first line that names its interpreter, such as #!/bin/sh` };
    case 'E2BIG':
      return { text: 'its arguments are too long' };
    default:
      return { text: result.reason };
  }
}

function lastLines(stderr: string): string {
  return stderr.split('\n').slice(-TAIL_LINES).join('\n');
}

function withTail(what: string, tail: string): string {
  return tail === '' ? what : `${what}; its last lines:\n${tail}`;
}
