/** How the city's controller works. Times are milliseconds. */
export interface Daemon {
  readonly patrolIntervalMs: number;
  /** 0: unlimited. */
  readonly maxRestarts: number;
  readonly restartWindowMs: number;
  readonly shutdownTimeoutMs: number;
  readonly driftDrainTimeoutMs: number;
  /** 0: what agents ask waits for people for ever. */
  readonly answerTimeoutMs: number;
  readonly onAnswerTimeout: 'deny' | 'cancel';
  readonly probeConcurrency: number;
  readonly maxWakesPerTick: number;
  /** Limits for starts: load of the last minute, bytes that stay free, bytes that a start takes. 0: none. */
  readonly maxLoadPerCore: number;
  readonly minFreeMemory: number;
  readonly memoryPerSession: number;
  readonly observePaths: readonly string[];
  readonly formulaV2: boolean;
  readonly wispGcIntervalMs: number | undefined;
  readonly wispTtlMs: number | undefined;
}
