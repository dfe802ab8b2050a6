import type { AccountId } from './account.ts';
import { STABLE_UPTIME_MS, USAGE_LIMIT_MARGIN_MS, USAGE_LIMIT_WAIT_MS } from './crash-policy.ts';

/** An account may not work for a while. A persisted value: JSON under one key per account. */
export interface AccountLimit {
  readonly account: AccountId;
  /** Milliseconds since the epoch, as all times here. */
  readonly seenAt: number;
  /** When work is possible again; as good as is known where the program did not say. */
  readonly until: number;
  /** The program named the time. */
  readonly stated: boolean;
  /** Where it was seen, as people call it, and what was said there. */
  readonly session: string;
  readonly text: string;
  /** A person let this session try before the time: its runtime name, and when. */
  readonly trial?: { readonly sessionName: string; readonly at: number };
}

export interface SeenLimit {
  readonly account: AccountId;
  readonly session: string;
  readonly text: string;
  readonly until: number | undefined;
  /** When it was said. */
  readonly at: number;
}

/** Nothing waits longer for one limit: after that one try shows whether it is still there. */
const LONGEST_WAIT_MS = 86_400_000;
/** Programs name one reset in different words: times this close are the same. */
const SAME_LIMIT_MS = 300_000;

/** What an account's limit is after this was seen. `isNews`: people have not been told of it. */
export function afterSeen(
  before: AccountLimit | undefined,
  seen: SeenLimit,
): { readonly limit: AccountLimit; readonly isNews: boolean } {
  const { account, session, text, at } = seen;
  const stated = seen.until !== undefined;
  const until = Math.min(seen.until ?? at + USAGE_LIMIT_WAIT_MS, at + LONGEST_WAIT_MS);
  const known = before && before.until > at ? before : undefined;
  // One who does not know better does not shorten what another was told.
  const best = known?.stated && !stated ? known : { seenAt: at, until, stated, session, text };
  const limit = { account, ...best, seenAt: Math.max(at, known?.seenAt ?? 0) };
  const isSame = known !== undefined && Math.abs(known.until - limit.until) < SAME_LIMIT_MS;
  const { trial: _over, ...rest } = limit as AccountLimit;
  return { limit: rest, isNews: !(isSame || (known !== undefined && !stated)) };
}

/** When starts of the account's sessions are possible again. Programs round the time down. */
export const overAt = (limit: AccountLimit): number => limit.until + USAGE_LIMIT_MARGIN_MS;

/** Whether the session has to wait for the account's limit. */
export function isHeld(limit: AccountLimit, sessionName: string, now: number): boolean {
  return now < overAt(limit) && limit.trial?.sessionName !== sessionName;
}

/** A session that was let try works since then: the limit is gone. Or its time is over. */
export function isOver(
  limit: AccountLimit,
  upSince: (sessionName: string) => number | undefined,
  now: number,
): boolean {
  if (now >= overAt(limit)) return true;
  const since = limit.trial && upSince(limit.trial.sessionName);
  return since !== undefined && now - Math.max(since, limit.trial?.at ?? 0) >= STABLE_UPTIME_MS;
}

/** As it was kept; `undefined`: not one of ours. */
export function readAccountLimit(stored: string): AccountLimit | undefined {
  let value: unknown;
  try {
    value = JSON.parse(stored);
  } catch {
    return undefined; // somebody edited it: it counts as none
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const limit = value as Partial<AccountLimit>;
  const isWhole =
    typeof limit.account === 'string' && Number.isFinite(limit.until) && Number.isFinite(limit.seenAt);
  if (!isWhole) return undefined;
  const { session = '', text = '', stated = false } = limit;
  return { ...(limit as AccountLimit), session, text, stated };
}
