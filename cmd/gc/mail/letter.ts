import { UsageError } from '../cli/input.ts';
import { plainText } from '../output/plain.ts';

/** The words of `gc mail send`. */
export interface SendWords {
  readonly words: readonly string[];
  readonly to: string | undefined;
  readonly subject: string | undefined;
  readonly message: string | undefined;
  readonly all: boolean;
  /** It runs inside a session, which may write to itself. */
  readonly inSession: boolean;
}

export interface Letter {
  readonly to:
    | { readonly kind: 'all' }
    | { readonly kind: 'address'; readonly address: string }
    /** `couldBeAddress`: the only word may be a recipient whose text was forgotten. */
    | { readonly kind: 'self'; readonly couldBeAddress: boolean };
  readonly subject: string;
  readonly body: string;
}

export class SendUsageError extends UsageError {
  constructor(problem: string) {
    super(
      `usage: gc mail send <to> <text> (or <to> -s <subject> -m <text>, --all <text>): ${problem}`,
      'gc help mail send',
    );
  }
}

/**
 * To whom, and what. Inside a session a text alone goes to the session itself: notes for its next life. Outside, and for
 * a lone word that names somebody, it lacks a text. @throws SendUsageError
 */
export function readLetter(given: SendWords): Letter {
  const { to, body } = parts(given);
  const subject = plainText(given.subject ?? '').trim();
  if (subject === '' && isBlank(body)) throw new SendUsageError('there is no text');
  return { to, subject, body };
}

/** Nothing of it would be seen. */
export const isBlank = (text: string): boolean => plainText(text).trim() === '';

function parts(given: SendWords): Pick<Letter, 'to' | 'body'> {
  const { words, message, subject } = given;
  if (given.all || given.to !== undefined) {
    if (given.all && given.to !== undefined) throw new SendUsageError('--all and --to exclude each other');
    const to = given.to === undefined ? ({ kind: 'all' } as const) : addressed(given.to);
    return { to, body: oneText(words, message) };
  }
  const [first, ...rest] = words;
  if (first === undefined) {
    if (message === undefined && subject === undefined)
      throw new SendUsageError('there is no recipient and no text');
    return { to: selfIn(given, false), body: message ?? '' };
  }
  if (message !== undefined || rest.length > 0) return { to: addressed(first), body: oneText(rest, message) };
  const isWord = !/\s/.test(first.trim());
  if (subject !== undefined && isWord) return { to: addressed(first), body: '' };
  return { to: selfIn(given, isWord), body: first };
}

function selfIn({ inSession }: SendWords, couldBeAddress: boolean): Letter['to'] {
  if (inSession) return { kind: 'self', couldBeAddress };
  throw new SendUsageError('it wants a recipient and a text');
}

function addressed(address: string): Letter['to'] {
  if (address.trim() === '') throw new SendUsageError('the recipient is empty');
  return { kind: 'address', address };
}

function oneText(words: readonly string[], message: string | undefined): string {
  if (message === undefined) return words.join(' ');
  if (words.length > 0) throw new SendUsageError(`the text is given twice: -m and "${words.join(' ')}"`);
  return message;
}

/** `Re: ` once, however often it goes back and forth. */
export function replySubject(subject: string): string {
  return /^re:/i.test(subject) ? subject : `Re: ${subject}`;
}
