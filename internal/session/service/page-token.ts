import { ServiceError } from './sessions-host.ts';

const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 500;
const SEPARATOR = '\0';
const INTEGER = /^-?\d{1,19}$/;
const INTEGER_BITS = 64;

/** 0 and less mean the default, and there is a most. */
export function pageSize(wanted: number): number {
  return wanted <= 0 ? DEFAULT_PAGE_SIZE : Math.min(wanted, MAX_PAGE_SIZE);
}

export interface SessionCursor {
  readonly createdAt: bigint;
  readonly uid: string;
}

/** Source: agentsessions.v1 page token: base64url of the creation time in nanoseconds, NUL and the uid. */
export function sessionToken({ createdAt, uid }: SessionCursor): string {
  return Buffer.from(`${createdAt}${SEPARATOR}${uid}`, 'utf8').toString('base64url');
}

/** @throws ServiceError INVALID_ARGUMENT */
export function parseSessionToken(token: string): SessionCursor {
  const text = decodeToken(token);
  const cut = text.indexOf(SEPARATOR);
  const createdAt = text.slice(0, Math.max(cut, 0));
  if (!INTEGER.test(createdAt)) throw badToken();
  const nanos = BigInt(createdAt);
  if (BigInt.asIntN(INTEGER_BITS, nanos) !== nanos) throw badToken();
  return { createdAt: nanos, uid: text.slice(cut + 1) };
}

/** Source: agentsessions.v1 harness list: base64url of the last name. */
export function nameToken(name: string): string {
  return Buffer.from(name, 'utf8').toString('base64url');
}

/** @throws ServiceError INVALID_ARGUMENT */
export function parseNameToken(token: string): string {
  const name = decodeToken(token);
  if (name === '') throw badToken();
  return name;
}

function decodeToken(token: string): string {
  const text = Buffer.from(token, 'base64url').toString('utf8');
  if (Buffer.from(text, 'utf8').toString('base64url') !== token) throw badToken();
  return text;
}

function badToken(): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', 'page_token is not one that this service gave out', {
    next: 'list from the beginning, without a token',
  });
}
