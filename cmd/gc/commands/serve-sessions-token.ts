import { readFileSync, statSync } from 'node:fs';
import { GcError, messageOf } from '../../../internal/platform/errors.ts';

/** What callers of a service must show: the first line of a file. @throws GcError `bad-token-file` */
export function tokenInFile(path: string): string {
  const refuse = (why: string, cause?: unknown) =>
    new GcError('bad-token-file', `no token can be read from ${path}: ${why}`, {
      ...(cause === undefined ? {} : { cause }),
      next: `put one line into it: (umask 077; openssl rand -hex 24 > ${path})`,
    });
  let text: string;
  try {
    if (!statSync(path).isFile()) throw refuse('it is not a file');
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw error instanceof GcError ? error : refuse(messageOf(error), error);
  }
  const [token = ''] = text.trim().split('\n');
  if (!/^[\x21-\x7e]+$/.test(token))
    throw refuse('its first line is empty or has more than printable characters');
  return token;
}
