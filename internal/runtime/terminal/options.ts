import type { Clock } from '../../platform/clock.ts';
import type { Ids } from '../../platform/ids.ts';
import type { RunShell } from '../run-shell.ts';
import type { TerminalBackend } from './backend.ts';
import type { SessionLock } from './session-lock.ts';

/** What `new TerminalProvider(options)` takes. */
export interface TerminalProviderOptions {
  readonly backend: TerminalBackend;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Where launcher scripts go when a session has no work dir. Created 0700 when needed. */
  readonly launcherDir: string;
  /** What set-up commands inherit, below the session's own environment. */
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  /** `runShell` of run-shell.ts, or a test's. */
  readonly runShell: RunShell;
  /** Holds off other processes that act on the same session: `fileSessionLock(...)` of session-lock.ts. */
  readonly lock: SessionLock;
  readonly timings?: Partial<TerminalTimings>;
}

/** Waits of the terminal algorithm, all in milliseconds. */
export interface TerminalTimings {
  /** From creation to readiness. Stays below the callers' own deadline for a start (60 s), so that the reason is told. */
  readonly readyTimeoutMs: number;
  /** An agent with nothing to wait for counts as started when it lives this long. */
  readonly settleMs: number;
  /** Between the moving keys of a dialog and its Enter. */
  readonly dialogKeyGapMs: number;
  /** How long an answered dialog may stay on the screen before it is answered again. */
  readonly dialogGoneMs: number;
  /** How long an unknown question must stand unchanged before a person is asked. */
  readonly questionSettleMs: number;
  /** How long another delivery to the same session may take before this one gives up. */
  readonly lockTimeoutMs: number;
  /** How long a pasted text may take to show up in the composer. */
  readonly draftSeenMs: number;
  /** How long a submitted text may stay in the composer before Enter is pressed again. */
  readonly submitSeenMs: number;
  /** Between TERM and KILL. */
  readonly stopGraceMs: number;
  /** Between two looks at whether an answered permission question went away. */
  readonly respondVerifyMs: number;
}

export const DEFAULT_TIMINGS: TerminalTimings = Object.freeze({
  readyTimeoutMs: 50_000,
  settleMs: 300,
  dialogKeyGapMs: 200,
  dialogGoneMs: 2_000,
  questionSettleMs: 3_000,
  lockTimeoutMs: 30_000,
  draftSeenMs: 1_500,
  submitSeenMs: 1_500,
  stopGraceMs: 2_000,
  respondVerifyMs: 500,
});
