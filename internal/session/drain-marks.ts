import type { SessionRecord } from './record.ts';
import type { MetadataPatch } from './transitions.ts';

/**
 * What is asked of, or said by, one life of a session. Each mark names the life it is meant for, so that what an earlier
 * life was asked, or said, means nothing for the one that runs.
 */
export const DRAIN_AT_KEY = 'drain_at';
const DRAIN_FOR_KEY = 'drain_for';
const DRAIN_ACK_KEY = 'drain_ack';
const RESTART_FOR_KEY = 'restart_for';

type Life = Pick<SessionRecord, 'generation' | 'instanceToken'>;
type Marked = Life & Pick<SessionRecord, 'metadata' | 'restartRequested'>;

function lifeOf({ generation, instanceToken }: Life): string {
  return `${generation} ${instanceToken}`;
}

/** Written with the beginning of a drain. */
export function drainMark(record: Life): MetadataPatch {
  return { [DRAIN_FOR_KEY]: lifeOf(record) };
}

/** A drain without a mark is of an older version, and meant for whoever runs. */
export function isDrainOfThisLife(record: Marked): boolean {
  return isOfThisLife(record, DRAIN_FOR_KEY);
}

/** The agent says that it is done. */
export function ackMark(record: Life): MetadataPatch {
  return { [DRAIN_ACK_KEY]: lifeOf(record) };
}

export function isAcknowledged(record: Marked): boolean {
  return record.metadata[DRAIN_ACK_KEY] === lifeOf(record);
}

/** A new life is asked for; `fresh`: without the conversation. */
export function restartMark(record: Life, fresh: boolean): MetadataPatch {
  return {
    restart_requested: 'true',
    [RESTART_FOR_KEY]: lifeOf(record),
    ...(fresh ? { continuation_reset_pending: 'true' } : {}),
  };
}

/** A request without a mark is from a script that writes the published key alone. */
export function isRestartAsked(record: Marked): boolean {
  return record.restartRequested && isOfThisLife(record, RESTART_FOR_KEY);
}

function isOfThisLife(record: Marked, key: string): boolean {
  const mark = record.metadata[key] ?? '';
  return mark === '' || mark === lifeOf(record);
}

/** The drain is over or taken back, and with it what the agent said to it. */
export function drainOver(): MetadataPatch {
  return { [DRAIN_AT_KEY]: '', [DRAIN_FOR_KEY]: '', [DRAIN_ACK_KEY]: '' };
}

/** The life is over, or the next one begins. */
export function marksOver(): MetadataPatch {
  return { ...drainOver(), restart_requested: '', [RESTART_FOR_KEY]: '' };
}
