import type { WaitKind, WaitState } from '../session/waits.ts';

/** Durable waits of sessions. Every method throws a GcError; the data shapes are the wire shapes. */
export interface WaitApi {
  /**
   * @throws session-not-found, session-not-active, session-closed, bead-not-found, wait-on-itself, wait-cycle,
   * wait-needs-condition, wait-needs-note, invalid-wait; `no-controller` for one that lets the session sleep
   */
  register(target: string, request: WaitRequest): Promise<WaitReply>;
  list(filter?: WaitFilter): Promise<readonly WaitView[]>;
  /** @throws wait-not-found, not-a-wait */
  inspect(id: string): Promise<WaitView>;
  /** Ended without its condition; the session is free again. Cancelling one that is over changes nothing. */
  cancel(id: string): Promise<WaitView>;
  /** Taken as satisfied. One that is over is tried anew under a new id. */
  ready(id: string): Promise<WaitReply>;
}

/** Ready as soon as all (or any) of what it names has come. */
export interface WaitRequest {
  /** Beads that are to be closed. */
  readonly on_beads: readonly string[];
  /** Sessions that are to be at rest: idle, asleep or closed. */
  readonly on_sessions: readonly string[];
  /** RFC 3339: a time that is to come. */
  readonly until?: string;
  /** Instead of `until`: so long from now, milliseconds; a gap in which nobody ran does not count. */
  readonly for_ms?: number;
  readonly mode: 'all' | 'any';
  /** What the session is told when it is over. */
  readonly note: string;
  /** The session goes to sleep meanwhile. */
  readonly sleep: boolean;
  /** Given up after so long, milliseconds; a gap in which nobody ran does not count. */
  readonly expires_in_ms?: number;
  /** The id of the session that asks, `''` for a person. */
  readonly created_by: string;
}

/** The names are those of Gas City's wait beads where it has them. Times are RFC 3339. */
export interface WaitView {
  readonly id: string;
  readonly session: string;
  readonly session_id: string;
  readonly session_name: string;
  readonly state: WaitState;
  readonly kind: WaitKind;
  readonly dep_ids: readonly string[];
  readonly dep_mode: 'all' | 'any';
  readonly on_sessions: readonly string[];
  readonly until?: string;
  readonly note: string;
  /** The session stays down until it is over. */
  readonly sleep: boolean;
  /** The conversation it belongs to: another one is not told of it. */
  readonly registered_epoch: string;
  readonly delivery_attempt: number;
  readonly nudge_id: string;
  readonly created_at: string;
  readonly created_by_session: string;
  readonly expires_at?: string;
  readonly last_error?: string;
  readonly retried_from_wait?: string;
}

export interface WaitFilter {
  /** One or more, comma-separated, or `all`; without it those that are not over. */
  readonly state?: string;
  readonly session?: string;
}

export interface WaitReply {
  readonly wait: WaitView;
  /** The session sleeps until it is over. */
  readonly sleeps: boolean;
  /** The wait that this one tries anew. */
  readonly retried?: string;
}
