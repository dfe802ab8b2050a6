import type { PatternMatch } from '../session/name-pattern.ts';
import type { NudgeReply, SessionView } from './city-api.ts';

/** What keeps sessions in order, and what people tell them. Every method throws a GcError; the data shapes are the wire shapes. */
export interface UpkeepApi {
  /** Keeps it up while nothing holds it down. @throws session-closed, session-archived */
  pin(target: string): Promise<SessionView>;
  unpin(target: string): Promise<SessionView>;
  /** Its next life begins a new conversation; one that runs is ended for it. @throws no-controller */
  reset(target: string): Promise<SessionView>;
  /** Closes what has been suspended for long. */
  prune(request: PruneRequest): Promise<PruneReply>;
  /** @throws invalid-intent, pending-interaction, and what the state of the session refuses */
  submit(target: string, request: SubmitRequest): Promise<SubmitReply>;
  /** What fits a pattern of names; none when nothing does. */
  matching(pattern: string): Promise<readonly PatternMatch[]>;
  /** Written where the agent is declared. @throws agent-not-found, agent-in-pack, set-by-patch, invalid-scale */
  scale(agent: string, request: ScaleRequest): Promise<ScaleReply>;
}

/** What came of a wake. */
export interface WokenSession extends SessionView {
  /** Absent: the controller is of a version that does not tell. */
  readonly woke?: 'requested' | 'already-awake';
}

export interface PruneRequest {
  /** Suspended for longer than this, milliseconds. */
  readonly before_ms: number;
}

export interface PruneReply {
  readonly pruned: readonly PatternMatch[];
}

/** `default`: for its next turn, woken if it sleeps; `follow_up`: after this turn; `interrupt_now`: instead of this turn. */
export type SubmitIntent = 'default' | 'follow_up' | 'interrupt_now';

export interface SubmitRequest {
  readonly message: string;
  /** One of SubmitIntent, also with `-`; absent: `default`. */
  readonly intent?: string;
  /** Unique per message: a repeated request with the same id is the same message. */
  readonly id?: string;
  readonly sender?: string;
}

export interface SubmitReply {
  /** The id of the session. */
  readonly id: string;
  readonly session: string;
  readonly intent: SubmitIntent;
  /** It is committed, and delivered when the agent can take it. */
  readonly queued: boolean;
  /** A turn was ended for it. */
  readonly interrupted: boolean;
  readonly outcome: NudgeReply['outcome'];
}

export interface ScaleRequest {
  readonly min?: number;
  /** -1: no limit of its own. */
  readonly max?: number;
}

export interface ScaleReply {
  readonly agent: string;
  readonly file: string;
  readonly changed: boolean;
  /** What holds now. */
  readonly min: number;
  /** Its own limit, else its rig's, else the city's; -1: none. */
  readonly max: number;
}
