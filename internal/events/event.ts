/** One fact about the city. Source: Gas City's event record; the JSON field names are its own. */
export interface CityEvent {
  /** Starts at 1 and grows by one per city. */
  readonly seq: number;
  readonly type: string;
  /** RFC 3339 with fraction. */
  readonly ts: string;
  readonly actor: string;
  readonly subject?: string;
  readonly message?: string;
  readonly payload?: unknown;
}

export interface NewEvent {
  readonly type: string;
  readonly actor: string;
  readonly subject?: string;
  readonly message?: string;
  readonly payload?: unknown;
}

export interface EventFilter {
  readonly type?: string;
  readonly actor?: string;
  /** Milliseconds since the epoch, inclusive. */
  readonly since?: number;
  /** Exclusive. */
  readonly afterSeq?: number;
  readonly limit?: number;
}

/** The city's numbered events. */
export interface EventBus {
  record(event: NewEvent): Promise<CityEvent>;
  list(filter: EventFilter): Promise<readonly CityEvent[]>;
  latestSeq(): Promise<number>;
  /** Everything after `afterSeq`, then what comes. Ends when the signal aborts. Sees other processes' events too. */
  follow(afterSeq: number, signal: AbortSignal): AsyncIterable<CityEvent>;
}
