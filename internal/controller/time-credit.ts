import type { BeadWrite } from '../beads/sqlite/city-database.ts';
import { parseRfc3339, rfc3339 } from '../platform/clock.ts';
import { crashPatch, readCrashState } from '../session/crash-policy.ts';
import { DRAIN_AT_KEY } from '../session/drain-marks.ts';
import type { SessionRecord } from '../session/record.ts';

/**
 * Moves the stored deadlines of drains, back-off and quarantine by a gap in which nobody ran, or by which the wall clock
 * was set. Holds and usage limits name a time of day and stay.
 */
export function creditGap(
  records: readonly SessionRecord[],
  wallShiftMs: number,
  now: number,
): readonly BeadWrite[] {
  const before = now - wallShiftMs;
  return records.flatMap((record) => {
    const metadata = { ...drainCredit(record, wallShiftMs), ...crashCredit(record, wallShiftMs, before) };
    if (Object.keys(metadata).length === 0) return [];
    return [{ kind: 'update' as const, id: record.id, patch: { metadata } }];
  });
}

function drainCredit(record: SessionRecord, shiftMs: number): Readonly<Record<string, string>> {
  const since = record.state === 'draining' ? parseRfc3339(record.metadata[DRAIN_AT_KEY]) : undefined;
  return since === undefined ? {} : { [DRAIN_AT_KEY]: rfc3339(since + shiftMs) };
}

function crashCredit(
  record: SessionRecord,
  shiftMs: number,
  before: number,
): Readonly<Record<string, string>> {
  const state = readCrashState(record.metadata, before);
  if (state.kind !== 'backing-off' && state.kind !== 'quarantined') return {};
  if (state.nextTryAt === undefined || state.nextTryAt <= before) return {};
  return crashPatch({ ...state, nextTryAt: state.nextTryAt + shiftMs });
}
