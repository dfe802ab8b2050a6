import { GcError } from '../../../platform/errors.ts';

/** Why a program did not bring a turn to its end. The messages name the program. */
export type CommandFailure =
  | 'not-executable'
  | 'no-work-dir'
  | 'unsupported-input'
  | 'failed'
  | 'timed-out'
  | 'idle'
  | 'flooded'
  | 'bad-output'
  | 'conversation-lost'
  | 'leftover';

export class CommandError extends GcError {
  readonly failure: CommandFailure;

  constructor(failure: CommandFailure, message: string, options: { cause?: unknown; next?: string } = {}) {
    super(`command-${failure}`, message, options);
    this.failure = failure;
  }
}
