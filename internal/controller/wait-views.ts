import { parseRfc3339, rfc3339 } from '../platform/clock.ts';
import { displayName } from '../session/display.ts';
import type { SessionRecord } from '../session/record.ts';
import { preciseTime } from '../session/wait-codec.ts';
import { type Wait, type WaitConditions, waitKind, waitText } from '../session/waits.ts';
import type { WaitView } from './wait-api.ts';

/** A wait as people and programs see it. `records`: those that are known now. */
export function waitView(wait: Wait, records: readonly SessionRecord[]): WaitView {
  const nameOf = namesIn(records);
  return {
    id: wait.id,
    session: nameOf(wait.sessionId, wait.sessionName),
    session_id: wait.sessionId,
    session_name: wait.sessionName,
    state: wait.state,
    kind: waitKind(wait),
    dep_ids: wait.beads,
    dep_mode: wait.mode,
    on_sessions: wait.sessions.map((id) => nameOf(id)),
    ...(wait.until === undefined ? {} : { until: preciseTime(wait.until) }),
    note: wait.note,
    sleep: wait.sleeps,
    registered_epoch: wait.epoch,
    delivery_attempt: wait.attempt,
    nudge_id: wait.nudgeId,
    created_at: rfc3339(wait.createdAt),
    created_by_session: wait.createdBy,
    ...(wait.expiresAt === undefined ? {} : { expires_at: preciseTime(wait.expiresAt) }),
    ...(wait.lastError === '' ? {} : { last_error: wait.lastError }),
    ...(wait.retriedFrom === '' ? {} : { retried_from_wait: wait.retriedFrom }),
  };
}

/** `on bead p-19`, `on session mayor and until 2026-01-02T03:04:05Z`. */
export function waitsOn(wait: WaitConditions, records: readonly SessionRecord[]): string {
  return waitText(wait, namesIn(records), rfc3339);
}

function namesIn(records: readonly SessionRecord[]) {
  const byId = new Map(records.map((record) => [record.id, record]));
  return (id: string, otherwise = id): string => {
    const record = byId.get(id);
    return record ? displayName(record) : otherwise;
  };
}

/** What sleeping sessions of a board wait for, by record id, and whose waits are over. */
export interface WaitsSeen {
  readonly texts: ReadonlyMap<string, string>;
  readonly ready: ReadonlySet<string>;
}

export const NO_WAITS: WaitsSeen = { texts: new Map(), ready: new Set() };

export function waitsSeen(live: readonly Wait[], records: readonly SessionRecord[]): WaitsSeen {
  const texts = new Map<string, string>();
  for (const wait of live) {
    if (wait.state !== 'pending' || !wait.sleeps) continue;
    const before = texts.get(wait.sessionId);
    const text = waitsOn(wait, records);
    texts.set(wait.sessionId, before === undefined ? `waits ${text}` : `${before}; ${text}`);
  }
  const ready = live.filter(({ state }) => state === 'ready').map(({ sessionId }) => sessionId);
  return { texts, ready: new Set(ready) };
}

/** Milliseconds since the epoch; `undefined` for what is no time. */
export function timeOf(text: string | undefined): number | undefined {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)[Tt ]/.exec(text ?? '') ?? [];
  if (day === undefined) return undefined;
  // Date.parse takes 31 February for 3 March.
  const daysOfMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return Number(day) > daysOfMonth ? undefined : parseRfc3339(text);
}
