const NANOS_PER_SECOND = 1_000_000_000n;
const NANOS_PER_MS = 1_000_000;
const MS_PER_SECOND = 1000;

/** The fields of a Timestamp. */
export interface TimestampFields {
  readonly seconds: bigint;
  readonly nanos: number;
}

/** Of nanoseconds since the epoch. */
export function timestampOfNanos(nanos: bigint): TimestampFields {
  const rest = ((nanos % NANOS_PER_SECOND) + NANOS_PER_SECOND) % NANOS_PER_SECOND;
  return { seconds: (nanos - rest) / NANOS_PER_SECOND, nanos: Number(rest) };
}

/** Of milliseconds since the epoch. */
export function timestampOfMs(ms: number): TimestampFields {
  const seconds = Math.floor(ms / MS_PER_SECOND);
  return { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * MS_PER_SECOND) * NANOS_PER_MS) };
}
