import type { Event } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import type { LogReader } from '../log/browse-pages.ts';
import { continuedOf } from '../log/continue-marker.ts';
import { carriedEvents } from '../log/rebuild.ts';

/**
 * What a harness is told of before its turn: the conversations that the session continues, then its own records up to
 * `to`. The same each time the turn is run.
 * @param records all of the session's own, in order
 */
export async function historyUpTo(
  log: LogReader,
  records: readonly ChainedRecord[],
  to: number,
): Promise<readonly Event[]> {
  const own = records.filter(({ seq }) => seq <= to).map(({ event }) => event);
  for (const event of own) {
    const marker = continuedOf(event);
    if (marker) return [...(await carriedEvents(log, marker)), ...own];
  }
  return own;
}
