import { GcError } from '../../platform/errors.ts';
import { RuntimeUnavailableError } from '../errors.ts';

const DOC = 'docs/exec-provider.md says what a script has to answer';

/** An operation of a script did not succeed. `message` names script, operation and the last lines that it wrote. */
export class ScriptFailedError extends GcError {
  /** `undefined`: it did not end by itself, or not with a code. */
  readonly exitCode: number | undefined;
  /** What it wrote to stderr last. */
  readonly stderrTail: string;

  constructor(message: string, exitCode: number | undefined, stderrTail: string, next?: string) {
    super('script-failed', message, next === undefined ? {} : { next });
    this.exitCode = exitCode;
    this.stderrTail = stderrTail;
  }
}

/** The script answered that it does not know an operation whose result matters. Source: exit 2 of Gas City's exec protocol. */
export class ScriptUnsupportedError extends GcError {
  constructor(script: string, operation: string) {
    super('script-unsupported', `exec provider ${script} does not support "${operation}" (exit 2)`, {
      next: DOC,
    });
  }
}

/** The same failure, for callers to whom only matters that nothing could be told. */
export function asUnavailable(error: unknown): unknown {
  return error instanceof ScriptFailedError || error instanceof ScriptUnsupportedError
    ? new RuntimeUnavailableError(error.message, error)
    : error;
}
