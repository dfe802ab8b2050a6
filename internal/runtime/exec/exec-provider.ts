import { join } from 'node:path';
import type { Clock } from '../../platform/clock.ts';
import { parseRfc3339 } from '../../platform/clock.ts';
import { GcError, messageOf } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import { flattenContent } from '../content-blocks.ts';
import { RuntimeUnavailableError, SessionNotFoundError } from '../errors.ts';
import { assertSessionName, isSessionName } from '../name-rule.ts';
import {
  type Answer,
  type AttachPlan,
  type CheckingProvider,
  type ClosableProvider,
  type ContentBlock,
  type ContinuingProvider,
  type IdleWaitProvider,
  type InteractionProvider,
  type InteractionResponse,
  META_INSTANCE_TOKEN,
  type NudgeOptions,
  type NudgeOutcome,
  type ObservingProvider,
  type PendingInteraction,
  type ProviderCapabilities,
  type SleepCapability,
  type SleepCapableProvider,
  type StartOptions,
  type StartResult,
  type StopOptions,
  type Survey,
} from '../provider.ts';
import type { RunShell } from '../run-shell.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import { outcomeOfError } from '../terminal/delivery.ts';
import { hasProcess } from '../terminal/facts.ts';
import { DEFAULT_TIMINGS, type TerminalTimings } from '../terminal/options.ts';
import { RunningStarts } from '../terminal/running-starts.ts';
import type { SessionLock } from '../terminal/session-lock.ts';
import { withSessionEnv } from '../terminal/start-steps.ts';
import { TerminalProvider } from '../terminal/terminal-provider.ts';
import { nudgeClassic } from './classic-nudge.ts';
import { type ClassicContext, finishClassic, runLive, startClassic } from './classic-start.ts';
import { asUnavailable, ScriptUnsupportedError } from './errors.ts';
import type { ScriptCommand } from './find-script.ts';
import { NameBook } from './name-book.ts';
import { ScriptBackend } from './script-backend.ts';
import { DEFAULT_EXEC_TIMEOUTS, type ExecTimeouts, ScriptCalls } from './script-calls.ts';
import { ScriptSurvey } from './script-survey.ts';

/** A look ends before its caller gives up on it. */
const LOOK_MS = 8_000;

export interface ExecProviderOptions {
  /** From `findScript`. */
  readonly script: ScriptCommand;
  /** What scripts inherit: the environment of this process, as the protocol says. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where scripts run: where this process runs, as the protocol says. */
  readonly cwd: string;
  /** A private folder of the city's: our book of names, and `GC_EXEC_STATE_DIR` of scripts where it is not set. */
  readonly dir: string;
  /** A Node to run, told to scripts as `GC_NODE` where that is not set. */
  readonly node: string;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Runs `session_live` and, where the script leaves them to us, set-up commands. */
  readonly runShell: RunShell;
  readonly lock: SessionLock;
  readonly timeouts?: Partial<ExecTimeouts>;
  readonly timings?: Partial<TerminalTimings>;
}

/**
 * Sessions of a script: each operation runs it once. A script of the published protocol brings its agent to readiness
 * and types messages itself; one that says `terminal` only gives the terminal, and the one terminal algorithm does the rest.
 * Source: Gas City exec provider; what differs is listed in docs/differences.md.
 */
export class ExecProvider
  implements
    ObservingProvider,
    IdleWaitProvider,
    InteractionProvider,
    ContinuingProvider,
    CheckingProvider,
    SleepCapableProvider,
    ClosableProvider
{
  readonly kind: string;
  readonly #calls: ScriptCalls;
  readonly #backend: ScriptBackend;
  readonly #terminal: TerminalProvider;
  readonly #classic: ClassicContext;
  readonly #options: ExecProviderOptions;
  readonly #book: NameBook;
  readonly #survey: ScriptSurvey;
  readonly #starts = new RunningStarts();

  constructor(options: ExecProviderOptions) {
    const { script, clock, ids, cwd, dir, runShell, lock, env } = options;
    this.kind = `exec:${script.shown}`;
    this.#options = options;
    const timeouts = { ...DEFAULT_EXEC_TIMEOUTS, ...options.timeouts };
    const timings = { ...DEFAULT_TIMINGS, ...options.timings };
    const launcherDir = join(dir, 'launch');
    this.#calls = new ScriptCalls({ script, env: scriptEnv(options), cwd, timeouts });
    this.#backend = new ScriptBackend({ kind: this.kind, calls: this.#calls, ids, launcherDir });
    const backend = this.#backend;
    this.#terminal = new TerminalProvider({
      backend,
      clock,
      ids,
      launcherDir,
      hostEnv: env,
      runShell,
      lock,
      timings,
    });
    this.#classic = { calls: this.#calls, backend, clock, ids, timings, hostEnv: env, runShell };
    this.#book = new NameBook(join(dir, 'names'));
    this.#survey = new ScriptSurvey(this.#calls, this.#book, clock);
  }

  async start(name: string, config: RuntimeConfig, options: StartOptions): Promise<StartResult> {
    assertSessionName(name);
    options.signal.throwIfAborted();
    if ((await this.#backend.features()).terminal) return await this.#terminal.start(name, config, options);
    const full = withSessionEnv(config, this.#options.ids);
    const token = full.env[META_INSTANCE_TOKEN] ?? '';
    return await this.#starts.run(name, token, options, (own) =>
      this.#locked(name, own.signal, async () => {
        const result = await startClassic(this.#classic, name, full, own);
        await this.#book.add(name);
        return result;
      }),
    );
  }

  async continueStart(name: string, config: RuntimeConfig, options: StartOptions): Promise<StartResult> {
    if ((await this.#backend.features()).terminal) {
      return await this.#terminal.continueStart(name, config, options);
    }
    if ((await this.isRunning(name)) === 'no') throw new SessionNotFoundError(name);
    const full = withSessionEnv(config, this.#options.ids);
    return await this.#locked(name, options.signal, () => finishClassic(this.#classic, name, full, options));
  }

  async stop(name: string, options: StopOptions = {}): Promise<void> {
    if (!isSessionName(name)) return;
    if ((await this.#backend.features()).terminal) return await this.#terminal.stop(name, options);
    const { instanceToken } = options;
    await this.#starts.cancel(name, instanceToken);
    if (instanceToken !== undefined) {
      const current = await this.#unavailableIfNot(() => this.#backend.getMeta(name, META_INSTANCE_TOKEN));
      if (current !== '' && current !== instanceToken) return;
    }
    await this.#backend.kill(name, options.graceMs ?? DEFAULT_TIMINGS.stopGraceMs);
    await this.#book.remove(name);
  }

  async interrupt(name: string): Promise<void> {
    await this.#terminal.interrupt(name);
  }

  async isRunning(name: string): Promise<Answer> {
    return await this.#terminal.isRunning(name);
  }

  async isAttached(name: string): Promise<Answer> {
    if (!(await this.#backend.features()).observe) return 'unknown';
    try {
      const seen = (await this.#backend.observe(name)).get(name);
      if (!seen) return 'no';
      return seen.attached === undefined ? 'unknown' : seen.attached > 0 ? 'yes' : 'no';
    } catch {
      return 'unknown'; // the answer for a question that could not be asked
    }
  }

  async attach(name: string): Promise<AttachPlan> {
    return await this.#backend.attach(name);
  }

  async processAlive(name: string, names: readonly string[]): Promise<Answer> {
    if (names.length === 0) return 'yes';
    if (!isSessionName(name)) return 'no';
    try {
      const reply = await this.#calls.call('process-alive', [name], { stdin: names.join('\n') });
      if (reply.kind === 'ok') return reply.text.trim() === 'true' ? 'yes' : 'no';
      if (!(await this.#backend.features()).observe) {
        return (await this.isRunning(name)) === 'no' ? 'no' : 'unknown';
      }
      const seen = (await this.#backend.observe(name)).get(name);
      if (seen?.liveness.kind !== 'running') return 'no';
      return seen.processNames ? (hasProcess(seen.processNames, names) ? 'yes' : 'no') : 'unknown';
    } catch {
      return 'unknown'; // a probe that failed proves nothing about the process
    }
  }

  async nudge(
    name: string,
    content: readonly ContentBlock[],
    options: NudgeOptions = {},
  ): Promise<NudgeOutcome> {
    if ((await this.#backend.features()).terminal) return await this.#terminal.nudge(name, content, options);
    const text = flattenContent(content);
    if (text === '') return { kind: 'empty' };
    const signal = options.signal ?? new AbortController().signal;
    const waitMs = options.waitIdleMs ?? 0;
    try {
      return await this.#locked(
        name,
        signal,
        () => nudgeClassic(this.#classic, name, text, { ...options, signal }),
        waitMs,
      );
    } catch (error) {
      signal.throwIfAborted();
      return outcomeOfError(error);
    }
  }

  async setMeta(name: string, key: string, value: string): Promise<void> {
    await this.#backend.setMeta(name, key, value);
  }

  async getMeta(name: string, key: string): Promise<string> {
    return await this.#backend.getMeta(name, key);
  }

  async removeMeta(name: string, key: string): Promise<void> {
    await this.#backend.removeMeta(name, key);
  }

  async peek(name: string, lines: number): Promise<string> {
    return await this.#terminal.peek(name, lines);
  }

  async listRunning(prefix: string): Promise<readonly string[]> {
    return await this.#unavailableIfNot(async () => {
      const text = await this.#calls.need('list-running', [prefix]);
      return text.split('\n').filter((name) => name !== '' && name.startsWith(prefix));
    });
  }

  async getLastActivity(name: string): Promise<number | undefined> {
    const reply = await this.#unavailableIfNot(() => this.#calls.call('get-last-activity', [name]));
    return reply.kind === 'ok' ? parseRfc3339(reply.text.trim()) : undefined;
  }

  async clearScrollback(name: string): Promise<void> {
    await this.#terminal.clearScrollback(name);
  }

  async copyTo(name: string, source: string, relativeTarget: string): Promise<void> {
    const reply = await this.#calls.call('copy-to', [name, source, relativeTarget]);
    if (reply.kind === 'unsupported') await this.#terminal.copyTo(name, source, relativeTarget);
  }

  async sendKeys(name: string, keys: readonly string[]): Promise<void> {
    await this.#terminal.sendKeys(name, keys);
  }

  async runLive(name: string, config: RuntimeConfig): Promise<readonly string[]> {
    if ((await this.#backend.features()).terminal) return await this.#terminal.runLive(name, config);
    const full = withSessionEnv(config, this.#options.ids);
    return await runLive(this.#classic, name, full, new AbortController().signal);
  }

  capabilities(): ProviderCapabilities {
    const { observe } = this.#backend.known;
    return { canReportAttachment: observe, canReportActivity: observe };
  }

  sleepCapability(_name: string): SleepCapability {
    return this.#backend.known.terminal && this.#backend.known.observe ? 'full' : 'timed_only';
  }

  /** One run of a script that answers `observe`; otherwise a bounded number of single questions, see `ScriptSurvey`. */
  async observe(): Promise<Survey> {
    try {
      if (!(await this.#backend.features()).observe) return await this.#survey.look();
      return { kind: 'seen', sessions: await this.#backend.observe('', LOOK_MS) };
    } catch (error) {
      return { kind: 'unknown', reason: messageOf(error) };
    }
  }

  async waitForIdle(name: string, timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    return await this.#terminal.waitForIdle(name, timeoutMs, signal);
  }

  async pending(name: string): Promise<PendingInteraction | undefined> {
    try {
      return await this.#terminal.pending(name);
    } catch (error) {
      if (error instanceof ScriptUnsupportedError) return undefined; // no screen, no question on it
      throw error;
    }
  }

  async respond(name: string, response: InteractionResponse): Promise<void> {
    await this.#terminal.respond(name, response);
  }

  /** @throws GcError `image-missing`; a script without `check-image` has nothing to check. */
  async checkImage(image: string): Promise<void> {
    try {
      await this.#calls.call('check-image', [image]);
    } catch (error) {
      throw new GcError('image-missing', messageOf(error), { cause: error });
    }
  }

  async close(): Promise<void> {
    await this.#terminal.close();
  }

  async #locked<T>(name: string, signal: AbortSignal, work: () => Promise<T>, waitMs = 0): Promise<T> {
    const { lock, timings } = this.#options;
    return await lock(name, (timings?.lockTimeoutMs ?? DEFAULT_TIMINGS.lockTimeoutMs) + waitMs, work, signal);
  }

  /** What could not be told of the script says nothing about any session. @throws RuntimeUnavailableError */
  async #unavailableIfNot<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      const unavailable = asUnavailable(error);
      throw unavailable instanceof Error ? unavailable : new RuntimeUnavailableError(messageOf(unavailable));
    }
  }
}

function scriptEnv({ env, dir, node }: ExecProviderOptions): Readonly<Record<string, string>> {
  const ours = { GC_EXEC_STATE_DIR: join(dir, 'state'), GC_NODE: node };
  const kept = Object.entries({ ...ours, ...env }).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, value] as const],
  );
  return Object.fromEntries(kept);
}
