import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { GcError } from '../../../platform/errors.ts';

const PLAIN = /^[A-Za-z0-9_-]$/;
/** Leaves room for the longest ending within the 255 bytes of a name. */
const NAME_BYTES_MAX = 200;
const RECORDS = '.jsonl';
const SESSION = '.session.json';
/** Sessions share this many locks; a lock is a file that stays. */
const LOCKS = 64;

export interface LogPaths {
  /** The record file. */
  readonly records: string;
  readonly times: string;
  readonly session: string;
  /** What becomes the session file when a fork is complete. */
  readonly fork: string;
  readonly lock: string;
}

/** @throws GcError `bad-session-uid` for one that can be no file name */
export function logPaths(folder: string, uid: string): LogPaths {
  const name = fileNameOf(uid);
  if (name === '' || name.length > NAME_BYTES_MAX) {
    throw new GcError(
      'bad-session-uid',
      `${JSON.stringify(uid)} cannot name a log: it is empty or too long`,
      {
        next: `use at most ${NAME_BYTES_MAX} letters, digits, - and _`,
      },
    );
  }
  const lock = (createHash('sha256').update(uid).digest()[0] ?? 0) % LOCKS;
  return {
    records: join(folder, `${name}${RECORDS}`),
    times: join(folder, `${name}.times`),
    session: join(folder, `${name}${SESSION}`),
    fork: join(folder, `${name}${SESSION}.fork`),
    lock: join(folder, 'locks', lock.toString(16).padStart(2, '0')),
  };
}

/** The uid with every byte that is not plain as `%` and two hex digits: it never leads anywhere else. */
function fileNameOf(uid: string): string {
  return [...Buffer.from(uid)]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      return PLAIN.test(char) ? char : `%${byte.toString(16).padStart(2, '0')}`;
    })
    .join('');
}

function uidOf(name: string): string | undefined {
  try {
    const uid = decodeURIComponent(name);
    return fileNameOf(uid) === name ? uid : undefined;
  } catch {
    return undefined; // a file of somebody else
  }
}

/** Where the n-th cut-off tail of a log goes. */
export const tornPath = (folder: string, uid: string, n: number): string =>
  join(folder, `${fileNameOf(uid)}.torn-${n}`);

const TORN = /^(.+)\.torn-([1-9][0-9]*)$/;

/** Numbers of the tails that were cut off a log before. */
export function tornNumbers(names: readonly string[], uid: string): readonly number[] {
  return names.flatMap((name) => {
    const [, of, n] = TORN.exec(name) ?? [];
    return of === fileNameOf(uid) ? [Number(n)] : [];
  });
}

/** The sessions that a folder's file names speak of. */
export function uidsIn(names: readonly string[]): readonly string[] {
  const uids = new Set<string>();
  for (const name of names) {
    for (const end of [SESSION, RECORDS]) {
      const uid = name.endsWith(end) ? uidOf(name.slice(0, -end.length)) : undefined;
      if (uid) uids.add(uid);
    }
  }
  return [...uids];
}
