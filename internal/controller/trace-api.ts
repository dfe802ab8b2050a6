/** Why the controller did what it did, tick by tick, for templates that somebody watches. Source: Gas City's `gc trace`. */
export interface TraceApi {
  /** @throws agent-not-found, ambiguous-agent, invalid-duration */
  arm(request: TraceArm): Promise<TraceStatus>;
  /** @throws agent-not-found, unless something of this name is watched; ambiguous-agent */
  disarm(request: TraceDisarm): Promise<TraceStatus>;
  status(): Promise<TraceStatus>;
  /** Oldest first. */
  records(filter: TraceFilter): Promise<readonly TraceRecord[]>;
  /** How often each reason was given, the most frequent first. */
  reasons(filter: TraceFilter): Promise<Readonly<Record<string, number>>>;
}

export interface TraceArm {
  /** Qualified or unique short name of an agent. */
  readonly template: string;
  /** Milliseconds. */
  readonly for_ms: number;
  readonly level: 'baseline' | 'detail';
  /** `auto`: armed by a program; `gc trace stop` without `--all` leaves it. */
  readonly source: 'manual' | 'auto';
}

export interface TraceDisarm {
  readonly template: string;
  /** Those of programs too. */
  readonly all: boolean;
}

export interface TraceStatus {
  /** What is watched now. */
  readonly arms: readonly TraceArmed[];
  readonly records: number;
  /** RFC 3339. */
  readonly oldest?: string;
}

export interface TraceArmed {
  /** Qualified name. */
  readonly template: string;
  readonly level: 'baseline' | 'detail';
  readonly source: 'manual' | 'auto';
  /** RFC 3339. */
  readonly armed_at: string;
  readonly expires_at: string;
}

export interface TraceFilter {
  /** Qualified or unique short name of an agent. */
  readonly template?: string;
  /** Runtime name. */
  readonly session?: string;
  readonly trace_id?: string;
  readonly tick?: number;
  readonly type?: string;
  readonly reason?: string;
  /** Milliseconds since the epoch, inclusive. */
  readonly since_ms?: number;
  /** After this record, exclusive. */
  readonly after_seq?: number;
  /** The first so many of them. */
  readonly limit?: number;
  /** The last so many of them; then `limit` does not count. */
  readonly last?: number;
}

export interface TraceRecord {
  readonly seq: number;
  /** One per pass of one life of a controller. */
  readonly trace_id: string;
  /** The number of the pass in this life of the controller, the first being 1. */
  readonly tick: number;
  /** RFC 3339. */
  readonly at: string;
  readonly template: string;
  /** Runtime name; `''`: about the template as a whole. */
  readonly session: string;
  /** `cycle`, `decision`, `change`, `action`; at level `detail` also `session`, of one that nothing is done about. */
  readonly type: string;
  /** `start`, `ended`, `wait` ... */
  readonly what: string;
  readonly reason: string;
  /** What was looked at for it. */
  readonly inputs: Readonly<Record<string, unknown>>;
}
