/** A harness that an operator registered. Times are nanoseconds since the epoch. Source: agentsessions.v1 harnesses table. */
export interface HarnessRow {
  readonly name: string;
  readonly uid: string;
  /** Canonical JSON of the spec. */
  readonly spec: string;
  /** `sha256:` and hex. */
  readonly specDigest: string;
  readonly state: 'active' | 'retired';
  readonly retireReason: string;
  readonly retiredAt: bigint;
  readonly createdAt: bigint;
  readonly updatedAt: bigint;
}

/** The registered harnesses of a store, and the names that can never be registered. */
export interface HarnessTable {
  /** Synchronous, so that it can be asked inside a transaction, such as the guard of `SessionIndex.create`. */
  find(name: string): HarnessRow | undefined;
  /** By name. */
  list(): Promise<readonly HarnessRow[]>;
  isReserved(name: string): boolean;
  /** Keeps names of harnesses that are built in. @throws GcError `harness-registered` when one of them is registered */
  reserve(names: readonly string[]): Promise<void>;
  /** One transaction: what `decide` returns is stored; `undefined` stores nothing. */
  put(
    name: string,
    decide: (current: HarnessRow | undefined) => HarnessRow | undefined,
  ): Promise<HarnessRow | undefined>;
  /** Nanoseconds since the epoch, never the same twice. */
  now(): bigint;
}
