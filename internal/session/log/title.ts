import { GcError } from '../../platform/errors.ts';

/** Shown for a session that was asked nothing. */
export const NO_TITLE = '(nothing asked yet)';

const TITLE_CHARACTERS = 72;
const NAME_CHARACTERS = 120;

/** The title of a session, from the first thing that it was asked: its first line with something on it, cut between characters. */
export function titleFrom(question: string | undefined): string {
  const line = (question ?? '')
    .split(/\r?\n/)
    .map(visible)
    .find((each) => each !== '');
  if (line === undefined) return NO_TITLE;
  const characters = [...line];
  if (characters.length <= TITLE_CHARACTERS) return line;
  return `${characters.slice(0, TITLE_CHARACTERS).join('').trimEnd()}…`;
}

/**
 * A name as it is kept. Empty is fine: the derived title is shown again.
 * @throws GcError `invalid-name` when it is too long; a name is never cut
 */
export function cleanName(name: string): string {
  const clean = visible(name);
  const length = [...clean].length;
  if (length <= NAME_CHARACTERS) return clean;
  throw new GcError('invalid-name', `a name has at most ${NAME_CHARACTERS} characters, this one ${length}`, {
    next: 'choose a shorter one',
  });
}

const visible = (text: string): string => text.replace(/[\x00-\x1f\x7f]/g, '').trim();
