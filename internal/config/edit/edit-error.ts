import { GcError } from '../../platform/errors.ts';
import type { ConfigProblem } from '../city.ts';

/** `agent-not-found`, `ambiguous-edit`, `already-there`, `not-there`, `config-unreadable`. The file is left alone in each case. */
export class EditError extends GcError {}

/** That a file cannot be edited, with the place of each fault. */
export function unreadable(file: string, problems: readonly ConfigProblem[]): EditError {
  const reasons = problems.map(({ position, message }) =>
    position ? `${position.line}:${position.column} ${message}` : message,
  );
  return new EditError('config-unreadable', `${file} cannot be edited: ${reasons.join('; ')}`, {
    next: 'repair the file first',
  });
}
