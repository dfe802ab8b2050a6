/** What the city's sessions and their machine are at. Bytes and milliseconds. */
export interface CityResources {
  readonly machine: {
    /** What could be had without swapping. */
    readonly memory_free: number;
    readonly memory_total: number;
    /** On average over 1, 5 and 15 minutes. */
    readonly load: readonly number[];
    readonly cores: number;
  };
  /** The limits for starts; 0: none. */
  readonly limits: {
    readonly max_load_per_core: number;
    readonly min_free_memory: number;
    readonly memory_per_session: number;
  };
  readonly sessions: readonly SessionResources[];
  /** Of the sessions on this machine. */
  readonly total: { readonly memory: number; readonly cpu_share: number; readonly processes: number };
}

export interface SessionResources {
  readonly id: string;
  readonly display_name: string;
  readonly session_name: string;
  /** Not on this machine: measured by its back end. */
  readonly elsewhere: boolean;
  /** Memory of its own and its part of what it shares. */
  readonly memory?: number;
  /** Processor time since it began. */
  readonly cpu_ms?: number;
  /** Of one core, now: 1 is a whole core. */
  readonly cpu_share?: number;
  readonly processes?: number;
  /** Why it could not be measured. */
  readonly problem?: string;
}
