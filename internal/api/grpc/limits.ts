/** What one listener allows. */
export interface RpcLimits {
  /** The largest message that is taken, in bytes. */
  readonly receiveBytes: number;
  /** Streams (turns, replays) open at the same time, over all connections. */
  readonly streams: number;
  /** Other calls at the same time. */
  readonly calls: number;
  readonly connections: number;
  /** How often peers are asked whether they are still there; who has not answered by the next time is cut. Milliseconds. */
  readonly pingMs: number;
  /** A reader that takes nothing for this long is cut. Milliseconds. */
  readonly stallMs: number;
  /** A request must have arrived whole within this. Milliseconds. */
  readonly requestMs: number;
  /** What is under way gets this long when the service ends. Milliseconds. */
  readonly stopMs: number;
}

/** The size is that of gRPC servers elsewhere, so that who fits there fits here. */
export const DEFAULT_LIMITS: RpcLimits = {
  receiveBytes: 4 * 1024 * 1024,
  streams: 256,
  calls: 1_024,
  connections: 1_024,
  pingMs: 20_000,
  stallMs: 300_000,
  requestMs: 60_000,
  stopMs: 10_000,
};

/**
 * Megabytes of one HTTP/2 connection that may wait to be sent. Above it Node resets calls whose headers come in, and its
 * own limit of 10 is less than one large message. What waits is bounded by the sizes and numbers of messages.
 */
export const CONNECTION_MEMORY_MB = 4_096;
