import type { RuntimeConfig } from './runtime-config.ts';

/**
 * The contract of everything that can host an agent. One interface hides tmux, the embedded session host, scripts,
 * ACP and Kubernetes. Sessions are addressed by name alone; there are no handles.
 * Source: Gas City `runtime.Provider`; what differs is listed in docs/differences.md.
 */
export interface Provider {
  /** `tmux`, `subprocess`, `fake`, `fail`: the value that `GC_SESSION` and `[session] provider` take. */
  readonly kind: string;

  /**
   * Creates the session, brings its agent to readiness, answers known start-up questions and delivers the prompt.
   * `signal` is the whole start's deadline; it is checked between all steps and nothing later runs once it aborts.
   * @throws SessionExistsError when a live session has the name; nothing about that session is touched.
   * @throws DiedDuringStartupError with exit code and last lines.
   * @throws StartFailedError for a step that failed before an agent ran (pre_start, overlay, work_dir).
   */
  start(name: string, config: RuntimeConfig, options: StartOptions): Promise<StartResult>;
  /** Ends the session's whole process tree and removes it. A missing session is fine. After it resolves, `isRunning` is `no`. */
  stop(name: string, options?: StopOptions): Promise<void>;
  /** A soft interrupt (Ctrl-C, SIGINT). A missing session is fine. */
  interrupt(name: string): Promise<void>;
  /** The session exists and its own process lives. */
  isRunning(name: string): Promise<Answer>;
  /** A person's terminal is connected. */
  isAttached(name: string): Promise<Answer>;
  /** How a terminal can be connected to the session. Only `cmd/` owns a terminal. @throws AttachUnsupportedError */
  attach(name: string): Promise<AttachPlan>;
  /** Some process in the session's tree has one of `names`. An empty list is always `yes`. */
  processAlive(name: string, names: readonly string[]): Promise<Answer>;
  /** Delivers text to the agent as one message and submits it once. A missing session is `{ kind: 'no-session' }`. */
  nudge(name: string, content: readonly ContentBlock[], options?: NudgeOptions): Promise<NudgeOutcome>;
  setMeta(name: string, key: string, value: string): Promise<void>;
  /** `''` when unset. */
  getMeta(name: string, key: string): Promise<string>;
  removeMeta(name: string, key: string): Promise<void>;
  /** The last `lines` lines; 0 or less: everything kept. Wrapped lines are joined, padding is trimmed. @throws SessionNotFoundError */
  peek(name: string, lines: number): Promise<string>;
  /** Names of our sessions that start with `prefix`, dead panes included. @throws RuntimeUnavailableError when it could not be told. */
  listRunning(prefix: string): Promise<readonly string[]>;
  /** Last output, milliseconds since the epoch; `undefined` when unknown. */
  getLastActivity(name: string): Promise<number | undefined>;
  clearScrollback(name: string): Promise<void>;
  /** Copies a local file or folder into the session's work dir. An unknown session or missing source is fine. */
  copyTo(name: string, source: string, relativeTarget: string): Promise<void>;
  /** Bare keys in tmux spelling (`Enter`, `Down`, `C-c`); nothing is appended. A missing session is fine. */
  sendKeys(name: string, keys: readonly string[]): Promise<void>;
  /** Runs the `session_live` commands again, without a restart. Best effort: failures are returned as warnings. */
  runLive(name: string, config: RuntimeConfig): Promise<readonly string[]>;
  capabilities(): ProviderCapabilities;
}

/** Yes, no, or could not tell. A probe that failed is never `no`. */
export type Answer = 'yes' | 'no' | 'unknown';

export interface ProviderCapabilities {
  readonly canReportAttachment: boolean;
  readonly canReportActivity: boolean;
}

export type SleepCapability = 'disabled' | 'timed_only' | 'full';

export interface StartOptions {
  readonly signal: AbortSignal;
  /** Told what the start is waiting for, for progress lines. */
  readonly onProgress?: (progress: StartProgress) => void;
}

export type StartProgress =
  | { readonly kind: 'step'; readonly step: StartStep }
  | { readonly kind: 'answered'; readonly dialog: string }
  | { readonly kind: 'waiting'; readonly what: string };

export type StartStep =
  | 'staging'
  | 'pre_start'
  | 'creating'
  | 'readiness'
  | 'session_setup'
  | 'prompt'
  | 'session_live';

export type StartResult =
  | {
      readonly kind: 'ready';
      /** Names of the start-up questions that were answered, in order. */
      readonly answered: readonly string[];
      readonly warnings: readonly string[];
    }
  | {
      /** The agent lives and shows a question that no rule answers: a person must. */
      readonly kind: 'waits-for-person';
      readonly question: string;
      /** The last lines of the screen. */
      readonly screen: string;
      readonly answered: readonly string[];
      readonly warnings: readonly string[];
    };

export interface StopOptions {
  /** Between TERM and KILL, milliseconds. */
  readonly graceMs?: number;
  /** Refuse (as a no-op) when the session carries another instance token. */
  readonly instanceToken?: string;
}

export type AttachPlan =
  | {
      readonly kind: 'spawn';
      readonly argv: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      /** How to leave, for a person: `Ctrl-b d`. */
      readonly leave: string;
    }
  | {
      readonly kind: 'stream';
      readonly leave: string;
      open(size: TerminalSize): Promise<AttachStream>;
    };

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

export interface AttachStream {
  /** Bytes for the person's terminal, the first of them a full redraw. Ends when the session ends or `close` is called. */
  readonly output: AsyncIterable<Uint8Array>;
  write(bytes: Uint8Array): void;
  resize(size: TerminalSize): void;
  close(): void;
}

export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file_path'; readonly path: string };

export interface NudgeOptions {
  /** Wait this long for the agent to be idle first, milliseconds; 0: deliver at once. Default 0. */
  readonly waitIdleMs?: number;
  readonly signal?: AbortSignal;
  /**
   * Awaited right before the first byte of the text goes to the agent; when it rejects, nothing is typed and the outcome is `failed`.
   * What is not yet certain to be typed is not announced with it: `busy` is never answered after it.
   */
  readonly beforeTyping?: () => Promise<void>;
}

export type NudgeOutcome =
  | {
      readonly kind: 'delivered';
      readonly tookMs: number /** The composer was seen empty, or the message was seen taken. */;
      readonly verified: boolean;
    }
  | { readonly kind: 'no-session' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'busy'; readonly detail: string }
  /** Pasted, but no proof that it was submitted: the draft sits in the composer. */
  | { readonly kind: 'unsubmitted'; readonly detail: string }
  | { readonly kind: 'failed'; readonly detail: string };

/** What one look at one session found. */
export interface Observation {
  readonly name: string;
  readonly liveness: Liveness;
  /** Clients of people, not our control connection; `undefined` when unknown. */
  readonly attached: number | undefined;
  /** Milliseconds since the epoch. */
  readonly lastActivity: number | undefined;
  /** Names of every process in the session's tree; `undefined` when they could not be read. */
  readonly processNames: readonly string[] | undefined;
  /** The session's metadata that identifies it: GC_SESSION_ID, GC_INSTANCE_TOKEN and drain keys at least. */
  readonly meta: Readonly<Record<string, string>>;
  /** What keeps the session from working, in the back end's words: `ImagePullBackOff: ...`. For people. */
  readonly note?: string;
}

export type Liveness =
  | { readonly kind: 'running'; readonly pid: number | undefined }
  | { readonly kind: 'exited'; readonly exit: ExitInfo; readonly lastLines: string }
  | { readonly kind: 'unknown'; readonly reason: string };

/** How a process ended. Exactly one of the two is set when it is known. */
export interface ExitInfo {
  readonly code?: number;
  /** `SIGKILL`, `SIGTERM` ... */
  readonly signal?: string;
  /** Why, where the back end knows more than a code: `OOMKilled`, `Evicted: node was low on memory`, `deleted`. */
  readonly reason?: string;
}

/** What `observe` answers: either everything, or that it could not tell anything. */
export type Survey =
  | {
      readonly kind: 'seen';
      readonly sessions: ReadonlyMap<string, Observation>;
      /** Of a provider with several back ends: those that were not seen, each with what it answered instead. */
      readonly unseen?: readonly UnseenPart[];
    }
  | Unseen;

export type Unseen =
  /** The server or host is proven gone: every session of it is gone too, together. */
  | { readonly kind: 'infrastructure-gone'; readonly what: string }
  | { readonly kind: 'unknown'; readonly reason: string };

/** A back end that was not seen, and the sessions that this says something about. */
export interface UnseenPart {
  readonly answer: Unseen;
  /** It is the one that has, or had, a session of this name. Asked only for names that are not among those seen. */
  holds(name: string): boolean;
}

/** What a survey says of a session that it did not see; `undefined`: there is none of this name. */
export function unseenAnswer(survey: Extract<Survey, { kind: 'seen' }>, name: string): Unseen | undefined {
  const answers = (survey.unseen ?? []).filter((part) => part.holds(name)).map((part) => part.answer);
  return answers.find((answer) => answer.kind === 'unknown') ?? answers[0];
}

export type RuntimeEvent =
  | { readonly kind: 'exited'; readonly name: string; readonly exit: ExitInfo; readonly lastLines: string }
  | { readonly kind: 'activity'; readonly name: string }
  | { readonly kind: 'attached' | 'detached'; readonly name: string }
  /** What it asks a person, or what keeps it from working, is different. */
  | { readonly kind: 'changed'; readonly name: string }
  /** One event for all sessions that went with it. */
  | { readonly kind: 'infrastructure-gone'; readonly what: string };

/** Every session in one call. */
export interface ObservingProvider extends Provider {
  observe(): Promise<Survey>;
}

/** Exits and activity as they are seen. */
export interface WatchingProvider extends Provider {
  watch(signal: AbortSignal): AsyncIterable<RuntimeEvent>;
}

export interface IdleWaitProvider extends Provider {
  /** Resolves `true` when the agent is idle, `false` at the timeout (a hard bound). @throws InteractionUnsupportedError, SessionNotFoundError */
  waitForIdle(name: string, timeoutMs: number, signal?: AbortSignal): Promise<boolean>;
}

export interface PendingInteraction {
  readonly request_id: string;
  readonly kind: string;
  readonly prompt?: string;
  readonly options?: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface InteractionResponse {
  readonly request_id?: string;
  readonly action: string;
  readonly text?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

export interface InteractionProvider extends Provider {
  /** @throws InteractionUnsupportedError */
  pending(name: string): Promise<PendingInteraction | undefined>;
  /**
   * Answers the question that `request_id` names, else the one that waits. Each is answered once.
   * @throws GcError `interaction-changed` or `already-answered` when the one that is named does not wait any more; `unknown-action`
   */
  respond(name: string, response: InteractionResponse): Promise<void>;
}

/**
 * Can take up a start that did not come to its end: a person has answered its question, or the process that started
 * the session died in the middle.
 */
export interface ContinuingProvider extends Provider {
  /**
   * Goes on from waiting for readiness: set-up commands, the prompt unless it was delivered, live commands. What is
   * done is not done again. @throws SessionNotFoundError; otherwise as `start`, but a failure leaves the session.
   */
  continueStart(name: string, config: RuntimeConfig, options: StartOptions): Promise<StartResult>;
}

/** Metadata key: how far a start has come, one of `created`, `prompting`, `prompted`, `ready`. */
export const META_START_PHASE = 'GC_START_PHASE';
/** Metadata key: the agent's own id of its conversation, where the provider speaks a protocol that tells it. */
export const META_CONVERSATION = 'GC_CONVERSATION';
export const META_INSTANCE_TOKEN = 'GC_INSTANCE_TOKEN';

export interface SleepCapableProvider extends Provider {
  sleepCapability(name: string): SleepCapability;
}

/**
 * Delegates each session to one of several back ends. Which one is told before a start, kept with the session's record,
 * and told again by whoever finds the session there later.
 */
export interface RoutingProvider extends Provider {
  /** Sends the session to the back end of this kind from now on; `''`: to the default. */
  routeTo(name: string, route: string): void;
  /** Where the session goes: a kind of the back ends behind it, `''` for the default. */
  routeOf(name: string): string;
  /** The back end that runs the session, asked of all of them; `undefined`: none does, or it could not be told. */
  findRoute(name: string): Promise<string | undefined>;
}

/** What a session uses of its machine. */
export interface SessionUsage {
  /** Memory of its own and its part of what is shared, bytes. */
  readonly memoryBytes: number;
  /** Time on a processor since it began, milliseconds; `undefined`: only the rate is known. */
  readonly cpuMs: number | undefined;
  /** Of one core, now: 1 is a whole core; `undefined`: only the sum is known. */
  readonly cpuShare: number | undefined;
}

/** Knows what sessions use where their processes cannot be looked at from here. */
export interface MeasuringProvider extends Provider {
  /** One call for all; a session that could not be measured is left out. @throws RuntimeUnavailableError */
  usage(): Promise<ReadonlyMap<string, SessionUsage>>;
}

/** Looks at what a start will need before the first one, once for the whole city. */
export interface CheckingProvider extends Provider {
  /** @throws GcError `image-missing` ... with what to do */
  checkImage(image: string): Promise<void>;
}

/** Holds connections or children that must be let go. Sessions are not touched. */
export interface ClosableProvider extends Provider {
  close(): Promise<void>;
}

export const canObserve = (p: Provider): p is ObservingProvider =>
  'observe' in p && typeof p.observe === 'function';
export const canWatch = (p: Provider): p is WatchingProvider => 'watch' in p && typeof p.watch === 'function';
export const canWaitForIdle = (p: Provider): p is IdleWaitProvider =>
  'waitForIdle' in p && typeof p.waitForIdle === 'function';
/** @public Part of the contract; nothing of this version asks for it yet. */
export const canInteract = (p: Provider): p is InteractionProvider =>
  'pending' in p && typeof p.pending === 'function';
export const canContinueStart = (p: Provider): p is ContinuingProvider =>
  'continueStart' in p && typeof p.continueStart === 'function';
/** @public Part of the contract; nothing of this version asks for it yet. */
export const canSleep = (p: Provider): p is SleepCapableProvider =>
  'sleepCapability' in p && typeof p.sleepCapability === 'function';
/** @public Part of the contract. */
export const canRoute = (p: Provider): p is RoutingProvider =>
  'routeTo' in p && typeof p.routeTo === 'function';
/** @public Part of the contract. */
export const canMeasure = (p: Provider): p is MeasuringProvider =>
  'usage' in p && typeof p.usage === 'function';
/** @public Part of the contract. */
export const canCheckImage = (p: Provider): p is CheckingProvider =>
  'checkImage' in p && typeof p.checkImage === 'function';
export const canClose = (p: Provider): p is ClosableProvider => 'close' in p && typeof p.close === 'function';
