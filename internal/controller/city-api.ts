import type { NudgeDelivery } from '../beads/sqlite/inbox-table.ts';
import type { CityEvent, EventFilter } from '../events/event.ts';
import type { NudgeOutcome } from '../runtime/provider.ts';
import type { CityResources } from './city-resources.ts';
import type { AnswerReply, AnswerRequest, OpenQuestions } from './question-api.ts';
import type { RuleApi } from './rule-api.ts';
import type { TraceApi } from './trace-api.ts';
import type { UpkeepApi, WokenSession } from './upkeep-api.ts';
import type { WaitApi } from './wait-api.ts';

/**
 * Everything a person or a program can ask of one city. Served by the controller over its socket, and built directly
 * on the stores by a command when no controller lives. The data shapes are the wire shapes (snake_case JSON).
 * Every method throws a GcError; `session-not-found`, `ambiguous-session` and `session-not-active` carry a next step.
 */
export interface CityApi {
  readonly rules: RuleApi;
  readonly trace: TraceApi;
  readonly waits: WaitApi;
  readonly upkeep: UpkeepApi;
  status(): Promise<CityStatus>;
  /** What the sessions use, measured now: it takes half a second. */
  resources(): Promise<CityResources>;
  sessions(filter?: SessionFilter): Promise<readonly SessionView[]>;
  /** @throws session-not-found (nearest name offered), ambiguous-session */
  session(target: string): Promise<SessionView>;
  newSession(request: NewSessionRequest): Promise<SessionView>;
  nudge(target: string, request: NudgeRequest): Promise<NudgeReply>;
  /** What waits for a session, or for all that something waits for. */
  nudgeQueues(target?: string): Promise<readonly NudgeQueue[]>;
  /** Hands what waits to the session's own hook; what is not acknowledged within two minutes counts as uncertain. */
  takeNudges(target: string): Promise<TakenNudges>;
  acknowledgeNudges(target: string, taken: readonly TakenMark[]): Promise<void>;
  /** One try to deliver what waits, now. */
  deliverNudges(target: string): Promise<NudgeQueue>;
  peek(target: string, lines: number): Promise<string>;
  /** What agents ask people: of one session, or of all that live. */
  questions(target?: string): Promise<OpenQuestions>;
  /**
   * @param target a session, or the id of a question
   * @throws session-no-pending, interaction-not-found, foreign-interaction, already-answered (with who was first),
   * interaction-expired, interaction-withdrawn, unknown-action, invalid-rule, interaction-unsupported, answered-by-agent
   */
  answer(target: string, request: AnswerRequest): Promise<AnswerReply>;
  /** Ends the runtime; the controller starts it again by policy. */
  kill(target: string): Promise<SessionView>;
  /** Has it leave what it does now. @throws GcError `session-not-active`, `session-idle` */
  interrupt(target: string): Promise<SessionView>;
  suspend(target: string): Promise<SessionView>;
  /** Clears holds, strikes and quarantine, and tries at once. @throws agent-suspended; no-room, unless it is forced */
  wake(target: string, options?: WakeOptions): Promise<WokenSession>;
  close(target: string): Promise<SessionView>;
  /** Asks the agent to end: it says when it is done, at the latest its drain timeout ends it, and it stays down. */
  drain(target: string): Promise<SessionView>;
  undrain(target: string): Promise<SessionView>;
  /** Cheap: agents ask all the time. */
  drainState(target: string, life?: LifeRequest): Promise<DrainState>;
  /** The agent says that it is done. @throws session-replaced */
  acknowledgeDrain(target: string, life?: LifeRequest): Promise<DrainState>;
  /** The agent asks for a new life. @throws session-replaced */
  requestRestart(target: string, life?: LifeRequest): Promise<SessionView>;
  /** A letter to a session, and a new life for it that reads it. @throws session-replaced */
  handoff(target: string, request: HandoffRequest): Promise<HandoffReply>;
  rename(target: string, title: string): Promise<SessionView>;
  /** The last decisions about a session with their inputs, newest last. */
  explain(target: string): Promise<Explanation>;
  logs(target: string, options: LogsOptions): Promise<readonly LogEntry[]>;
  setAgentSuspended(agent: string, suspended: boolean): Promise<void>;
  events(filter: EventFilter): Promise<readonly CityEvent[]>;
  followEvents(afterSeq: number, signal: AbortSignal): AsyncIterable<CityEvent>;
  /** Reads the city file again; the answer says what came of it. */
  reload(): Promise<ReloadReply>;
  /** Begins a graceful shutdown of the whole city; resolves when no session of it runs. */
  stop(): Promise<StopReply>;
}

export interface CityStatus {
  readonly city_name: string;
  readonly city_path: string;
  readonly controller: ControllerInfo;
  /** What hosts the sessions, and how to find it by hand. */
  readonly provider: {
    readonly name: string;
    readonly chosen_by: 'GC_SESSION' | 'config' | 'default' | 'record';
    readonly tmux_socket?: string;
    readonly detail?: string;
  };
  readonly suspended: boolean;
  readonly started_at?: string;
  readonly config: ConfigState;
  readonly agents: readonly AgentStatus[];
  readonly sessions: readonly SessionView[];
  readonly rigs: readonly { readonly name: string; readonly path: string; readonly suspended: boolean }[];
  readonly summary: {
    readonly total_agents: number;
    readonly running_agents: number;
    readonly wanted_sessions: number;
    readonly running_sessions: number;
    readonly waiting_for_person: number;
    readonly backing_off: number;
    /** Could not be told; never counted as stopped. */
    readonly unknown_sessions: number;
    readonly active_sessions: number;
    readonly suspended_sessions: number;
  };
  /** Trouble a person should know of: the control channel, the store, a removed `.gc`. */
  readonly problems: readonly string[];
}

export interface ControllerInfo {
  readonly running: boolean;
  readonly pid?: number;
  readonly mode?: 'standalone' | 'supervisor';
  readonly status?: string;
}

export interface ConfigState {
  readonly file: string;
  readonly revision: string;
  /** Why the newest edit is not in force; the last good revision keeps running. */
  readonly error?: string;
}

export interface AgentStatus {
  readonly name: string;
  readonly qualified_name: string;
  readonly scope: 'city' | 'rig';
  readonly running: boolean;
  readonly suspended: boolean;
}

export type SessionCondition =
  | 'starting'
  | 'idle'
  | 'working'
  | 'running'
  | 'waits'
  | 'backing-off'
  | 'quarantined'
  | 'draining'
  | 'asleep'
  | 'suspended'
  | 'stopped'
  | 'closed'
  | 'unknown';

export interface SessionView {
  readonly id: string;
  /** What people call it: the named identity, the alias, else the runtime name. */
  readonly display_name: string;
  readonly session_name: string;
  readonly alias: string;
  readonly title: string;
  readonly template: string;
  readonly state: string;
  readonly condition: SessionCondition;
  /** RFC 3339: since when the condition holds. */
  readonly since?: string;
  /** One short line: the last screen line, the question, the exit, the next step. */
  readonly detail?: string;
  /** `q7`: what it asks people, see `questions`. */
  readonly question_id?: string;
  /** Why it cannot be started as it is written: a stable code, `provider-not-found` ... */
  readonly problem?: string;
  readonly wanted: boolean;
  readonly wake_reasons: readonly string[];
  readonly sleep_reason: string;
  readonly provider: string;
  /** `acp`: spoken to in the Agent Client Protocol, without a terminal; `''` otherwise. */
  readonly transport: string;
  readonly command: string;
  readonly work_dir: string;
  readonly session_key: string;
  readonly resume_flag: string;
  readonly resume_style: string;
  readonly resume_command: string;
  readonly attached: boolean;
  readonly created_at: string;
  readonly last_active?: string;
  readonly pid?: number;
  readonly restarts: number;
  /** RFC 3339: next try of a backing-off or quarantined session. */
  readonly next_try_at?: string;
  readonly last_exit?: {
    readonly code?: number;
    readonly signal?: string;
    /** Why, where the back end knows: `OOMKilled`. */
    readonly reason?: string;
    readonly at: string;
    readonly last_lines: string;
  };
  /** What the end of its transcript tells, as far as its program writes one. */
  readonly conversation?: ConversationView;
  /** Start-up questions that were answered in this life. */
  readonly answered?: readonly string[];
  readonly started_ms?: number;
  readonly depends_on: readonly string[];
  /** Of a named session: kept up, or there when asked for. */
  readonly named_mode?: 'always' | 'on_demand';
}

export interface ConversationView {
  readonly turn: 'idle' | 'in-turn' | 'unknown';
  /** What the agent said last, on one line. */
  readonly last_message?: string;
  /** RFC 3339. */
  readonly last_message_at?: string;
  /** Why the program gave up on the last turn, on one line. */
  readonly failure?: string;
  readonly model?: string;
  /** What the last request to the model took, and how much it takes at most. */
  readonly context_tokens?: number;
  readonly context_window?: number;
  readonly context_percent?: number;
}

export interface SessionFilter {
  /** `active`, `suspended`, `closed`, `all`, `open` or a comma list. */
  readonly state?: string;
  readonly template?: string;
}

export interface NewSessionRequest {
  readonly template: string;
  readonly alias?: string;
  readonly title?: string;
  /** Whatever the limits of the machine say. */
  readonly force?: boolean;
}

export interface WakeOptions {
  /** Whatever the limits of the machine say. */
  readonly force?: boolean;
}

/** What a session says about itself holds for the life that says it. */
export interface LifeRequest {
  /** `GC_INSTANCE_TOKEN` of that life; absent: whichever runs. */
  readonly instance_token?: string;
}

export interface DrainState {
  readonly session: string;
  readonly draining: boolean;
  readonly acknowledged: boolean;
  readonly reason?: string;
  /** RFC 3339. */
  readonly since?: string;
}

export interface HandoffRequest extends LifeRequest {
  readonly from: string;
  readonly subject: string;
  readonly body: string;
  /** The session itself, which waits for its end, or somebody else, who waits until it has ended. */
  readonly by: 'session' | 'other';
}

export interface HandoffReply {
  readonly mail_id: string;
  /** The address of the letter. */
  readonly to: string;
  /** It runs, and is ended for it. */
  readonly stops: boolean;
}

export interface NudgeRequest {
  readonly text: string;
  /** How long the sender stands by while the agent is busy, milliseconds; 0 means `immediate` where no delivery is named. */
  readonly wait_idle_ms: number;
  readonly delivery?: NudgeDelivery;
  /** Unique per message: a repeated request with the same id is the same message. */
  readonly id?: string;
  /** Who says it, where that is not who asks. */
  readonly sender?: string;
  /** What it is about: `session`, `mail`, `wait`, `sling`; default `session`. */
  readonly source?: string;
}

export interface NudgeReply {
  readonly session: string;
  readonly outcome: NudgeOutcome | NudgeQueued;
}

/** It is committed, and delivered when the agent can take it. */
export interface NudgeQueued {
  readonly kind: 'queued';
  readonly id: string;
  readonly why: string;
  /** RFC 3339. */
  readonly expires_at: string;
}

/** One message that waits, or that was given up. The names are those of Gas City's queue file. Times are RFC 3339. */
export interface NudgeItem {
  readonly id: string;
  readonly agent: string;
  /** Only this session may get it; `''`: whoever has the name. */
  readonly session_id: string;
  readonly source: string;
  readonly sender: string;
  readonly message: string;
  readonly state: string;
  readonly created_at: string;
  readonly deliver_after: string;
  readonly expires_at: string;
  readonly attempts: number;
  readonly last_attempt_at?: string;
  readonly last_error?: string;
  readonly lease_until?: string;
  readonly dead_at?: string;
}

export interface NudgeQueue {
  readonly agent: string;
  readonly session: string;
  /** `''`: the name has no record now. */
  readonly session_id: string;
  /** The oldest ones; `waiting` counts them all, those in flight too. */
  readonly pending: readonly NudgeItem[];
  readonly in_flight: readonly NudgeItem[];
  readonly dead: readonly NudgeItem[];
  readonly waiting: number;
}

export interface TakenMark {
  readonly id: string;
  readonly fence: number;
}

export interface TakenNudges {
  readonly session: string;
  readonly items: readonly (TakenMark & {
    readonly source: string;
    readonly sender: string;
    readonly message: string;
  })[];
}

export interface Explanation {
  readonly session: SessionView;
  readonly decisions: readonly ExplainedDecision[];
  /** Commands that help now, ready to paste. */
  readonly helps: readonly { readonly command: string; readonly why: string }[];
}

export interface ExplainedDecision {
  /** RFC 3339. */
  readonly at: string;
  /** `start`, `ended`, `wait`, `stop`, `drain`, `quarantine`, `adopt`, `keep`, `re-apply live` ... */
  readonly what: string;
  readonly why: string;
  /** What the decision saw: wanted, liveness, strikes, limits. */
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly lines?: readonly string[];
}

export interface LogsOptions {
  /** Conversation segments between compactions; 0: all. */
  readonly tail: number;
}

export interface LogEntry {
  readonly at: string;
  readonly type: string;
  readonly text: string;
}

export type ReloadReply =
  | { readonly kind: 'unchanged'; readonly revision: string }
  | { readonly kind: 'applied'; readonly revision: string; readonly message: string }
  | { readonly kind: 'rejected'; readonly error: string };

export interface StopReply {
  readonly stopped: readonly string[];
  /** What could not be ended, by name; then the exit code is not 0. */
  readonly left: readonly string[];
  /** Why nobody could tell what lives: nothing was ended, and `left` is what is believed to run. */
  readonly reason?: string;
}
