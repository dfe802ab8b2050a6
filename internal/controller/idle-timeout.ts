import { parseRfc3339 } from '../platform/clock.ts';
import { shortDuration } from '../platform/duration.ts';
import type { Observation } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import { silentFrom } from './awake-set.ts';
import type { Desired } from './model.ts';
import type { PlanInput } from './plan.ts';
import type { PlanDraft } from './plan-draft.ts';
import { drainOf, isAttached, startIncomplete } from './session-facts.ts';

/** A life that has just begun may be silent for so long, however short its `idle_timeout` is. */
export const IDLE_GRACE_MS = 10_000;

interface WatchedSession {
  readonly record: SessionRecord;
  readonly desired: Desired | undefined;
  readonly observation: Observation;
}

/**
 * Why it is to be ended for its silence; `undefined`: not now. Work in its hands does not protect it: an agent that is
 * stuck has some. A person who is attached, or whom it waits for, does.
 * Source: Gas City's `idle_timeout`, without what was shown before the session's own start.
 */
export function isSilentTooLong(
  input: PlanInput,
  draft: PlanDraft,
  session: WatchedSession,
): string | undefined {
  const { record, desired, observation } = session;
  const limitMs = desired?.idleTimeoutMs;
  if (limitMs === undefined || startIncomplete(record) || drainOf(record)) return undefined;
  if (isAttached(observation) || input.pending.has(record.sessionName)) return undefined;
  const since = silentSince(input, session);
  if (since === undefined) return undefined;
  const endsAt = Math.max(since + limitMs, silentFrom(input, [startedAt(record)]) + IDLE_GRACE_MS);
  if (input.now >= endsAt) {
    return `silent for ${shortDuration(input.now - since)}, its idle_timeout is ${shortDuration(limitMs)}`;
  }
  draft.wakeAtWall(endsAt);
  return undefined;
}

/** Milliseconds since the epoch; `undefined`: it cannot be told. */
function silentSince(input: PlanInput, session: WatchedSession): number | undefined {
  const { lastActivity } = session.observation;
  if (lastActivity === undefined || input.watchingSince === undefined) return undefined;
  const { now, watchingSince } = input;
  return silentFrom({ now, steadySince: watchingSince }, [lastActivity, startedAt(session.record)]);
}

/** The end of its start, where that is known: until then it was waited for. */
function startedAt(record: SessionRecord): number {
  return Math.max(
    record.lastWokeAt ?? record.createdAt,
    parseRfc3339(record.metadata['creation_complete_at']) ?? 0,
  );
}
