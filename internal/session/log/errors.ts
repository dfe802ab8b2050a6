import { GcError } from '../../platform/errors.ts';

/** Somebody else appended meanwhile. Carries where the log stands, so that the loser can look again. */
export class LogConflictError extends GcError {
  readonly expected: number;
  readonly actual: number;

  constructor(uid: string, expected: number, actual: number) {
    super('log-conflict', `${uid} stands at record ${actual}, not ${expected}`, {
      next: 'read what was appended meanwhile and decide again',
    });
    this.expected = expected;
    this.actual = actual;
  }
}

/** The writer is of an incarnation that was replaced: it must stop. */
export class StaleFenceError extends GcError {
  readonly fence: number;
  readonly current: number;

  constructor(uid: string, fence: number, current: number) {
    super('stale-fence', `${uid} is at incarnation ${current}; this writer is of ${fence}`, {
      next: 'the session was taken over; this writer has to stop',
    });
    this.fence = fence;
    this.current = current;
  }
}

/** The same source was used before, for something else. */
export class SourceReusedError extends GcError {
  constructor(uid: string, source: string) {
    super('source-reused', `${uid} has other records under the source ${JSON.stringify(source)}`);
  }
}

export class UnknownLogError extends GcError {
  constructor(uid: string) {
    super('session-not-found', `no session ${JSON.stringify(uid)} in this store`, { next: 'gc log list' });
  }
}

export class SessionDeletedError extends GcError {
  constructor(uid: string) {
    super('session-deleted', `${uid} was deleted: its log can be read, not continued`);
  }
}

/** The log is damaged: it can be read up to the damage and not continued. */
export class LogCorruptError extends GcError {
  /** The first record that is not sound. */
  readonly seq: number;

  constructor(uid: string, seq: number, what: string, cause?: unknown) {
    super('log-corrupt', `${uid}: ${what}`, {
      ...(cause === undefined ? {} : { cause }),
      next: `gc log verify ${uid}`,
    });
    this.seq = seq;
  }
}
