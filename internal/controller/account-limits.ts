import type { CityDatabase } from '../beads/sqlite/city-database.ts';
import type { NewEvent } from '../events/event.ts';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Environment } from '../platform/paths.ts';
import { ACCOUNT_KEY, type AccountId, accountOf } from '../session/account.ts';
import {
  type AccountLimit,
  afterSeen,
  isHeld,
  isOver,
  readAccountLimit,
  type SeenLimit,
} from '../session/account-limit.ts';
import { displayName } from '../session/display.ts';
import type { SessionRecord } from '../session/record.ts';
import type { FoundLimit } from '../session/usage-limit.ts';
import type { Desired } from './model.ts';
import { believedRunning } from './session-facts.ts';

/** Limits that hold, by account. */
export type AccountLimits = ReadonlyMap<AccountId, AccountLimit>;

/** The city's own state has one entry per account. */
const STATE_PREFIX = 'usage_limit.';

/** What is committed with whatever showed the limit. */
export interface LimitChange {
  readonly state: Readonly<Record<string, string>>;
  readonly events: readonly NewEvent[];
}

const NOTHING: LimitChange = { state: {}, events: [] };

/** People are told once per limit. Pure. */
export function limitSeen(limits: AccountLimits, seen: SeenLimit, program: string): LimitChange {
  if (seen.account === '') return NOTHING;
  const { limit, isNews } = afterSeen(limits.get(seen.account), seen);
  const until = limit.stated ? `until ${rfc3339(limit.until)}` : 'until nobody knows when';
  const event: NewEvent = {
    type: 'account.limited',
    actor: CONTROLLER_ACTOR,
    subject: seen.session,
    message: `its ${program} account reached a usage limit ${until}`,
    payload: { account: seen.account, until: rfc3339(limit.until), stated: limit.stated, said: seen.text },
  };
  return { state: stateOf(limit), events: isNews ? [event] : [] };
}

/** What its end showed: others of the same account need not find out for themselves. Pure. */
export function deathLimit(
  record: SessionRecord,
  found: FoundLimit | undefined,
  limits: AccountLimits,
  now: number,
): LimitChange {
  if (!found) return NOTHING;
  const account = record.metadata[ACCOUNT_KEY] ?? '';
  const seen = { account, session: displayName(record), text: found.text, until: found.until, at: now };
  return limitSeen(limits, seen, record.providerKind || record.provider);
}

function stateOf(limit: AccountLimit): Readonly<Record<string, string>> {
  return { [STATE_PREFIX + limit.account]: JSON.stringify(limit) };
}

/** The limits as they are kept. */
export async function readLimits(db: CityDatabase): Promise<Map<AccountId, AccountLimit>> {
  const state = await db.allState();
  const limits = Object.entries(state)
    .filter(([key]) => key.startsWith(STATE_PREFIX))
    .flatMap(([, text]) => readAccountLimit(text) ?? []);
  return new Map(limits.map((limit) => [limit.account, limit]));
}

/** Takes over into memory what was committed. */
export function takeLimits(
  limits: Map<AccountId, AccountLimit>,
  state: Readonly<Record<string, string>> | undefined,
): void {
  for (const [key, text] of Object.entries(state ?? {})) {
    if (!key.startsWith(STATE_PREFIX)) continue;
    const account = key.slice(STATE_PREFIX.length);
    const limit = readAccountLimit(text);
    if (limit) limits.set(account, limit);
    else limits.delete(account);
  }
}

/** The account that a session would be started with now; `''`: of this program nothing is known. */
export function desiredAccount(desired: Desired | undefined, cityEnv: Environment): AccountId {
  if (desired?.resolution !== 'resolved') return '';
  return accountOf(desired.providerKind || desired.provider, { ...cityEnv, ...desired.config.env });
}

/** The account of what runs; of what does not, that of its next start. */
export function accountOfSession(
  record: SessionRecord,
  desired: Desired | undefined,
  cityEnv: Environment,
): AccountId {
  const started = record.metadata[ACCOUNT_KEY] ?? '';
  return believedRunning(record) && started !== '' ? started : desiredAccount(desired, cityEnv) || started;
}

export interface HeldInput {
  readonly limits: AccountLimits;
  readonly desired: ReadonlyMap<string, Desired>;
  readonly cityEnv: Environment;
  readonly now: number;
}

/** Sessions that have to wait for their account, by runtime name. Costs nothing while there are no limits. */
export function heldSessions(input: HeldInput): ReadonlyMap<string, AccountLimit> {
  const { limits, desired, cityEnv, now } = input;
  const held = new Map<string, AccountLimit>();
  if (limits.size === 0) return held;
  for (const [name, wanted] of desired) {
    const limit = limits.get(desiredAccount(wanted, cityEnv));
    if (limit && isHeld(limit, name, now)) held.set(name, limit);
  }
  return held;
}

/** What lifts the limits whose time is over, or of which a trial has shown that they are gone. */
export function overState(
  limits: AccountLimits,
  records: readonly SessionRecord[],
  now: number,
): Readonly<Record<string, string>> {
  const upSince = (name: string): number | undefined => {
    const record = records.find((each) => each.sessionName === name);
    return record?.state === 'active' && believedRunning(record) ? record.lastWokeAt : undefined;
  };
  const over = [...limits.values()].filter((limit) => isOver(limit, upSince, now));
  return Object.fromEntries(over.map((limit) => [STATE_PREFIX + limit.account, '']));
}

/** A person wants this session tried before the time. The others of its account wait for what comes of it. */
export function trialState(
  limit: AccountLimit | undefined,
  sessionName: string,
  now: number,
): Readonly<Record<string, string>> {
  return limit ? stateOf({ ...limit, trial: { sessionName, at: now } }) : {};
}

/** The limit that a session's messages have to wait for; `undefined`: none. */
export function limitOfLiving(
  limits: AccountLimits,
  record: Pick<SessionRecord, 'metadata' | 'sessionName'>,
  now: number,
): AccountLimit | undefined {
  const limit = limits.get(record.metadata[ACCOUNT_KEY] ?? '');
  return limit && isHeld(limit, record.sessionName, now) ? limit : undefined;
}
