import type { Clock } from '../../platform/clock.ts';
import { type Doing, errorKindOf, serviceErrorOf } from './error-table.ts';

/** One line about a call. Never a payload, an argument, a fence or the text of an error. */
export interface ServiceLogFields {
  readonly component: 'session' | 'registry';
  readonly operation: string;
  readonly phase: 'start' | 'finish';
  readonly session_uid?: string;
  readonly outcome?: 'ok' | 'error';
  readonly duration_ms?: number;
  readonly error_kind?: string;
}

export type ServiceLog = (fields: ServiceLogFields) => void;

export interface Operation {
  readonly component: ServiceLogFields['component'];
  readonly name: string;
  readonly doing: Doing;
  /** Of the session that the call is about, when the caller named one. */
  readonly uid?: string;
}

interface Rim {
  readonly log: ServiceLog;
  readonly clock: Clock;
}

/** Tells of the beginning and the end of a call, and answers whatever fails in it. @throws ServiceError */
export async function operation<T>(rim: Rim, about: Operation, work: () => Promise<T>): Promise<T> {
  const finish = begin(rim, about);
  try {
    const result = await work();
    finish();
    return result;
  } catch (error) {
    throw finish(error);
  }
}

/** The same for a call that is answered piece by piece; one that is left early has ended well. */
export async function* streamOperation<T>(
  rim: Rim,
  about: Operation,
  work: () => AsyncIterable<T>,
): AsyncGenerator<T> {
  const finish = begin(rim, about);
  let failed: Error | undefined;
  try {
    yield* work();
  } catch (error) {
    failed = finish(error);
    throw failed;
  } finally {
    if (failed === undefined) finish();
  }
}

function begin({ log, clock }: Rim, { component, name, doing, uid }: Operation): (error?: unknown) => Error {
  const about = { component, operation: name, ...(uid ? { session_uid: uid } : {}) };
  const started = clock.monotonic();
  log({ ...about, phase: 'start' });
  return (error) => {
    const done = { ...about, phase: 'finish', duration_ms: Math.round(clock.monotonic() - started) } as const;
    if (error === undefined) {
      log({ ...done, outcome: 'ok' });
      return new Error('nothing failed');
    }
    const answer = serviceErrorOf(error, doing);
    log({ ...done, outcome: 'error', error_kind: errorKindOf(answer) });
    return answer;
  };
}
