import { GcError, messageOf } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import { SessionExistsError, SessionNotFoundError, StartFailedError } from '../errors.ts';
import { isSessionName } from '../name-rule.ts';
import { plainLines } from '../plain-lines.ts';
import { type AttachPlan, META_INSTANCE_TOKEN, type Observation, type RuntimeEvent } from '../provider.ts';
import type { RunShell } from '../run-shell.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import { stageFiles } from '../staging.ts';
import type {
  BackendSession,
  Elsewhere,
  ElsewhereLaunch,
  Inspection,
  InspectionOfAll,
  Launch,
  ScreenText,
  TerminalBackend,
} from '../terminal/backend.ts';
import { prepareLaunch } from '../terminal/launch.ts';
import { ScriptFailedError, ScriptUnsupportedError } from './errors.ts';
import { type Features, NO_FEATURES, parseFeatures } from './features.ts';
import { readMeta, storedMeta } from './meta-text.ts';
import { parseObservations } from './observe-lines.ts';
import type { ScriptCalls } from './script-calls.ts';
import { launchJson } from './start-json.ts';

export interface ScriptBackendOptions {
  readonly kind: string;
  readonly calls: ScriptCalls;
  readonly ids: Ids;
  readonly launcherDir: string;
}

/** `features` prints words that the script knows by heart. */
const FEATURES_MS = 4_000;
/** Each look runs the script. */
const POLL_MS = 200;
/** A script does not tell the size of its terminal. */
const VISIBLE_ROWS = 50;
/** What a session is started with and keeps: a look that told it needs no second question. */
const FIXED_META = new Set(['GC_PROVIDER', 'GC_READY_PROMPT_PREFIX', 'GC_DIR']);
/** Told to `stop`, milliseconds between TERM and KILL. */
const GRACE_VARIABLE = 'GC_STOP_GRACE_MS';
const STOP_MARGIN_MS = 30_000;
const ALREADY_EXISTS = /already exists/i;
const UNKNOWN_LEAVE = 'the key of its terminal program (screen: Ctrl-a d, tmux: Ctrl-b d)';

/** The operations of a session script as a back end with terminals. */
export class ScriptBackend implements TerminalBackend {
  readonly kind: string;
  readonly pollMs = POLL_MS;
  readonly #calls: ScriptCalls;
  readonly #options: ScriptBackendOptions;
  #features: { readonly of: number | undefined; readonly asked: Promise<Features> } | undefined;
  #known: Features = NO_FEATURES;
  /** Whether the last paste into a session was framed: how much time the next submit needs. */
  readonly #framed = new Map<string, boolean>();
  /** Metadata of the sessions as they were last observed. */
  readonly #meta = new Map<string, Readonly<Record<string, string>>>();

  constructor(options: ScriptBackendOptions) {
    this.kind = options.kind;
    this.#calls = options.calls;
    this.#options = options;
  }

  /** What is known of the script without asking it. */
  get known(): Features {
    return this.#known;
  }

  /** Asked once, and again when the file of the script has changed. @throws ScriptFailedError when no answer comes */
  async features(): Promise<Features> {
    const changedMs = this.#calls.changedMs();
    if (!this.#features || this.#features.of !== changedMs) {
      this.#features = { of: changedMs, asked: this.#askFeatures() };
    }
    return await this.#features.asked;
  }

  async #askFeatures(): Promise<Features> {
    const args = ['features', ''];
    const result = await this.#calls.run(args, { timeoutMs: FEATURES_MS });
    if (result.kind !== 'ended') {
      this.#features = undefined;
      throw this.#calls.failure(args, result);
    }
    // Any refusal is an answer: the script is one of the published protocol.
    this.#known = result.code === 0 ? parseFeatures(result.stdout) : NO_FEATURES;
    return this.#known;
  }

  get elsewhere(): Elsewhere | undefined {
    if (!this.#known.inside) return undefined;
    return {
      prepareLaunch: (name, config) => this.#prepareInside(name, config),
      runShell: (name) => this.#runInside(name),
      copyTo: async (name, source, target, signal) => {
        await this.#calls.call('copy-to', [name, source, target], { signal });
      },
    };
  }

  async create(name: string, launch: Launch, signal: AbortSignal): Promise<void> {
    const stdin = launchJson(launch, launch.config?.preStart ?? []);
    try {
      await this.#calls.need('start', [name], { stdin, signal });
    } catch (error) {
      if (isExisting(error)) throw new SessionExistsError(name);
      await this.#removeOwn(name, launch.env[META_INSTANCE_TOKEN]);
      signal.throwIfAborted();
      throw startFailure(name, error);
    }
  }

  async inspect(name: string): Promise<Inspection> {
    if (!isSessionName(name)) return { kind: 'absent' };
    try {
      if ((await this.features()).observe) return inspectionOf((await this.observe(name)).get(name));
      const reply = await this.#calls.call('is-running', [name]);
      if (reply.kind === 'unsupported')
        return { kind: 'unknown', reason: 'the script does not answer is-running' };
      return reply.text.trim() === 'true'
        ? { kind: 'present', session: livingSession(name) }
        : { kind: 'absent' };
    } catch (error) {
      return { kind: 'unknown', reason: messageOf(error) };
    }
  }

  async inspectAll(): Promise<InspectionOfAll> {
    try {
      const seen = await this.observe('');
      const sessions = [...seen.values()].flatMap((observation) => {
        const inspection = inspectionOf(observation);
        return inspection.kind === 'present' ? [[observation.name, inspection.session] as const] : [];
      });
      return { kind: 'seen', sessions: new Map(sessions) };
    } catch (error) {
      return { kind: 'unknown', reason: messageOf(error) };
    }
  }

  /** One run of the script for all sessions whose name begins with `prefix`. */
  async observe(prefix: string, timeoutMs?: number): Promise<ReadonlyMap<string, Observation>> {
    const limit = timeoutMs === undefined ? {} : { timeoutMs };
    const seen = this.#parse(await this.#calls.need('observe', [prefix], limit));
    for (const name of this.#meta.keys()) if (name.startsWith(prefix) && !seen.has(name)) this.#forget(name);
    for (const [name, { meta }] of seen) this.#meta.set(name, meta);
    return seen;
  }

  #parse(text: string): ReadonlyMap<string, Observation> {
    try {
      return parseObservations(text);
    } catch (error) {
      if (!(error instanceof GcError)) throw error;
      const message = `exec provider ${this.#calls.script.shown}: ${error.message}`;
      throw new GcError(error.code, message, { cause: error });
    }
  }

  #forget(name: string): void {
    this.#meta.delete(name);
    this.#framed.delete(name);
  }

  async kill(name: string, graceMs: number): Promise<void> {
    if (!isSessionName(name)) return;
    const env = { [GRACE_VARIABLE]: String(Math.round(graceMs)) };
    await this.#calls.need('stop', [name], { env, timeoutMs: graceMs + STOP_MARGIN_MS });
    const left = await this.inspect(name);
    if (left.kind === 'present' && left.session.state.kind === 'alive') {
      throw new GcError(
        'stop-failed',
        `the script said that it stopped session "${name}", but it still runs`,
      );
    }
  }

  async interrupt(name: string): Promise<void> {
    await this.#act(name, () => this.#calls.need('interrupt', [name]));
  }

  async capture(name: string, lines: number): Promise<ScreenText> {
    const wanted = lines < 0 ? 0 : lines === 0 ? VISIBLE_ROWS : lines;
    const text = await this.#act(name, () => this.#calls.need('peek', [name, String(wanted)]));
    // A script may show what it has: a file that the agent wrote to, with the colours and the carriage returns.
    const rows = plainLines(text);
    return {
      lines: rows,
      cursor: undefined,
      visibleRows: Math.min(rows.length, VISIBLE_ROWS),
      bracketedPaste: this.#framed.get(name),
    };
  }

  async paste(name: string, text: string): Promise<void> {
    const said = await this.#act(name, () => this.#calls.need('paste', [name], { stdin: text }), 'life');
    this.#framed.set(name, said.trim() === 'framed');
  }

  async sendKeys(name: string, keys: readonly string[]): Promise<void> {
    await this.#act(name, () => this.#calls.need('send-keys', [name, ...keys]), 'life');
  }

  async wake(): Promise<void> {
    // The protocol has no word for it; a script that needs it redraws by itself.
  }

  async clearScrollback(name: string): Promise<void> {
    await this.#act(name, () => this.#calls.call('clear-scrollback', [name]));
  }

  async setMeta(name: string, key: string, value: string): Promise<void> {
    await this.#act(name, () => this.#calls.need('set-meta', [name, key], { stdin: storedMeta(value) }));
  }

  async getMeta(name: string, key: string): Promise<string> {
    if (!isSessionName(name)) return '';
    const seen = FIXED_META.has(key) ? this.#meta.get(name) : undefined;
    if (seen && 'GC_DIR' in seen) return seen[key] ?? '';
    const reply = await this.#calls.call('get-meta', [name, key]);
    return reply.kind === 'ok' ? readMeta(reply.text) : '';
  }

  async removeMeta(name: string, key: string): Promise<void> {
    if (!isSessionName(name)) return;
    await this.#calls.call('remove-meta', [name, key]);
  }

  async attach(name: string): Promise<AttachPlan> {
    const { leave } = await this.features();
    const inspection = await this.inspect(name);
    if (inspection.kind === 'absent') throw new SessionNotFoundError(name);
    return {
      kind: 'spawn',
      argv: [this.#calls.script.file, 'attach', name],
      env: this.#calls.env,
      leave: leave === '' ? UNKNOWN_LEAVE : leave,
    };
  }

  async *watch(): AsyncIterable<RuntimeEvent> {
    // A script is only ever asked.
  }

  setupEnv(): Readonly<Record<string, string>> {
    return {};
  }

  async close(): Promise<void> {
    // Nothing is held between two calls.
  }

  /** Overlays and files come into the work dir here; the script's place has it under the same path. */
  async #prepareInside(name: string, config: RuntimeConfig): Promise<ElsewhereLaunch> {
    await stageFiles(config, new AbortController().signal);
    const prepared = await prepareLaunch(name, config, this.#options.launcherDir, this.#options.ids);
    return { launch: { ...prepared.launch, config }, typedPrompt: prepared.typedPrompt };
  }

  #runInside(name: string): RunShell {
    return async ({ command, timeoutMs, signal }) => {
      const result = await this.#calls.run(['run', name], { stdin: command, timeoutMs, signal });
      switch (result.kind) {
        case 'ended': {
          const { code, stderrTail } = result;
          return code === 0 ? { kind: 'ok' } : { kind: 'exited', exit: { code }, stderrTail };
        }
        case 'killed':
          return { kind: 'exited', exit: { signal: result.signal }, stderrTail: result.stderrTail };
        case 'timed-out':
          return { kind: 'timed-out', timeoutMs, stderrTail: result.stderrTail };
        case 'too-much-output':
          return { kind: 'not-started', reason: `it printed more than ${result.limitBytes} bytes` };
        case 'not-started':
          return { kind: 'not-started', reason: result.reason };
      }
    };
  }

  /** Tells a session that is gone from a script that failed; text and keys need one whose agent lives. */
  async #act<T>(name: string, work: () => Promise<T>, needs: 'a session' | 'life' = 'a session'): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof ScriptFailedError)) throw error;
      const found = await this.inspect(name);
      const isDead = found.kind === 'present' && found.session.state.kind === 'dead';
      if (found.kind === 'absent' || (isDead && needs === 'life')) throw new SessionNotFoundError(name);
      throw error;
    }
  }

  /** After a start that failed or was cut off: ends what is proven to come from it. */
  async #removeOwn(name: string, token: string | undefined): Promise<void> {
    if (!token) return;
    try {
      if ((await this.inspect(name)).kind !== 'present') return;
      if ((await this.getMeta(name, META_INSTANCE_TOKEN)) === token) await this.#calls.need('stop', [name]);
    } catch {
      // The reason of the failed start matters more; the next look finds what is left.
    }
  }
}

function isExisting(error: unknown): boolean {
  return error instanceof ScriptFailedError && ALREADY_EXISTS.test(error.message);
}

/** What a failed `start` of a script means. */
export function startFailure(name: string, error: unknown): unknown {
  if (isExisting(error)) return new SessionExistsError(name);
  // A script that does not know `start` has started nothing.
  if (!(error instanceof ScriptFailedError || error instanceof ScriptUnsupportedError)) return error;
  return new StartFailedError(error.code, error.message, {
    cause: error,
    lastLines: error instanceof ScriptFailedError ? error.stderrTail : '',
    ...(error.next === undefined ? {} : { next: error.next }),
  });
}

function inspectionOf(observation: Observation | undefined): Inspection {
  if (!observation) return { kind: 'absent' };
  const { liveness } = observation;
  switch (liveness.kind) {
    case 'unknown':
      return { kind: 'unknown', reason: liveness.reason };
    case 'running':
      return present(observation, { kind: 'alive', pid: liveness.pid ?? 0 });
    case 'exited':
      return present(observation, { kind: 'dead', exit: liveness.exit, lastLines: liveness.lastLines });
  }
}

function present(observation: Observation, state: BackendSession['state']): Inspection {
  const { liveness: _, attached, ...rest } = observation;
  return { kind: 'present', session: { ...rest, state, attached: attached ?? 0 } };
}

function livingSession(name: string): BackendSession {
  return {
    name,
    state: { kind: 'alive', pid: 0 },
    attached: 0,
    lastActivity: undefined,
    processNames: undefined,
    meta: {},
  };
}
