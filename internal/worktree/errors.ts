import { GcError } from '../platform/errors.ts';

/** A worktree could not be made or used; nothing half-made is left. */
export class WorktreeError extends GcError {
  /** What the command that failed said last, `''` when none did. */
  readonly lastLines: string;

  constructor(
    code: string,
    message: string,
    options: { cause?: unknown; next?: string; lastLines?: string } = {},
  ) {
    super(code, message, options);
    this.lastLines = options.lastLines ?? '';
  }
}
