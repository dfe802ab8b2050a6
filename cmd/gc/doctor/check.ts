import type { LoadResult } from '../../../internal/config/load-city.ts';
import type { CityStatus } from '../../../internal/controller/city-api.ts';
import type { Environment } from '../../../internal/platform/paths.ts';
import type { GroupSpec } from '../cli/spec.ts';

export type CheckLevel = 'ok' | 'warn' | 'fail';

export interface CheckResult {
  readonly level: CheckLevel;
  readonly message: string;
  /** What to do; always given when the level is not `ok`. */
  readonly hint?: string;
  /** Shown with `--verbose`. */
  readonly details?: readonly string[];
}

/** What the checks look at, gathered once. */
export interface CheckSubject {
  readonly root: string;
  readonly env: Environment;
  readonly config: LoadResult;
  /** The controller's word, or the stores'; an error when neither could be asked. */
  readonly status: CityStatus | Error;
  /** A controller answered. */
  readonly live: boolean;
  /** The program's own commands. */
  readonly commands: readonly GroupSpec[];
  /** Aborts at Ctrl-C. */
  readonly signal: AbortSignal;
}

export interface Check {
  /** Stable, kebab-case. */
  readonly name: string;
  run(subject: CheckSubject): Promise<CheckResult>;
}

export interface CheckReport extends CheckResult {
  readonly name: string;
}

export const ok = (message: string, details: readonly string[] = []): CheckResult => ({
  level: 'ok',
  message,
  details,
});

export const warn = (message: string, hint: string, details: readonly string[] = []): CheckResult => ({
  level: 'warn',
  message,
  hint,
  details,
});

export const fail = (message: string, hint: string, details: readonly string[] = []): CheckResult => ({
  level: 'fail',
  message,
  hint,
  details,
});
