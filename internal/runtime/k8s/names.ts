import { createHash } from 'node:crypto';

const MAX_NAME_CHARS = 63;
const HASH_CHARS = 8;

/**
 * The name of a session's pod: lower case, everything else a dash, at most 63 characters. Where that loses something,
 * a hash of the whole name is added, so that two sessions never share a name.
 * Source: Gas City `SanitizeName`; the hash is ours.
 */
export function podName(session: string): string {
  if (session === '') return '';
  const plain = sanitizePodName(session);
  return plain === session ? plain : withHash(plain, session, '-');
}

/** A second name for the same session, where another city has a pod with the first one. */
export const podNameInCity = (session: string, cityId: string): string =>
  withHash(sanitizePodName(session), `${cityId}\0${session}`, '-');

/** The published rule without the hash. */
export function sanitizePodName(session: string): string {
  const dashed = [...session.toLowerCase()].map((rune) => (/[a-z0-9-]/.test(rune) ? rune : '-')).join('');
  const cut = dashed.replace(/^-+/, '').slice(0, MAX_NAME_CHARS).replace(/-+$/, '');
  return cut === '' && session !== '' ? 'unknown' : cut;
}

/** A value that a label can have; unlike the original's, ASCII only, as clusters demand. */
export function sanitizeLabel(value: string): string {
  const dashed = [...value].map((rune) => (/[A-Za-z0-9._-]/.test(rune) ? rune : '-')).join('');
  const cut = dashed
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, MAX_NAME_CHARS)
    .replace(/[^A-Za-z0-9]+$/, '');
  return cut === '' ? 'unknown' : cut;
}

/** As `sanitizeLabel`, with a hash of the value where something was lost: for labels that select. */
export function exactLabel(value: string): string {
  const plain = sanitizeLabel(value);
  return plain === value ? plain : withHash(plain, value, '.');
}

function withHash(plain: string, whole: string, separator: string): string {
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, HASH_CHARS);
  const room = MAX_NAME_CHARS - HASH_CHARS - separator.length;
  return `${plain.slice(0, room).replace(/[^A-Za-z0-9]+$/, '')}${separator}${hash}`;
}
