import { rfc3339 } from '../platform/clock.ts';
import { unreachable } from '../platform/errors.ts';

/**
 * When a session that ended by itself is started again. Pure: the state is a persisted value, time and chance are
 * given. Two measures stand side by side. The *level* sets the delay (0, 1, 2, 4 ... 300 s); it falls only by lives
 * longer than the last delay. The *strikes* are the times of deaths within the restart window; `max_restarts` of them
 * is quarantine. No provider is exempt.
 */
export interface CrashState {
  /** How far up the delays it is: deaths that no life has made up for. */
  readonly level: number;
  /** Times of the deaths that still count, oldest first, milliseconds since the epoch. */
  readonly strikes: readonly number[];
  readonly lastDelayMs: number;
  /** No start before this time. */
  readonly nextTryAt: number | undefined;
  /** What it waits for, for people; `''` when it does not wait. */
  readonly reason: string;
  readonly kind: 'clear' | 'backing-off' | 'quarantined' | 'usage-limit';
  /** How often it was quarantined since it last was healthy. */
  readonly cycle: number;
}

export interface CrashPolicy {
  /** 0: never quarantine; it still backs off. */
  readonly maxRestarts: number;
  readonly restartWindowMs: number;
}

export type Death =
  /** Ended by itself, or was killed by somebody who is not us. */
  | { readonly kind: 'own'; readonly uptimeMs: number; readonly how: string }
  /** We or a person ended it. */
  | { readonly kind: 'intended' }
  /** It went together with others: a reboot, a tmux server, a session host. */
  | { readonly kind: 'shared'; readonly what: string }
  /** The agent program may not work before some time. */
  | { readonly kind: 'usage-limit'; readonly until: number | undefined };

/** Chance in [0, 1). */
export type Random = () => number;

export const CLEAR: CrashState = Object.freeze({
  level: 0,
  strikes: [],
  lastDelayMs: 0,
  nextTryAt: undefined,
  reason: '',
  kind: 'clear',
  cycle: 0,
});

const FIRST_DELAY_MS = 1_000;
export const MAX_DELAY_MS = 300_000;
/** Plus and minus; small enough that a longer delay stays longer. */
const JITTER = 0.1;
/** A shorter life proves nothing, even where the last delay was shorter still. */
export const STABLE_UPTIME_MS = 30_000;
/** Longer than every delay: such a life makes up for everything before it. */
export const HEALTHY_UPTIME_MS = 300_000;
export const FIRST_QUARANTINE_MS = 300_000;
export const MAX_QUARANTINE_MS = 3_600_000;
/** How long a usage limit is waited for when the program does not say until when. */
export const USAGE_LIMIT_WAIT_MS = 1_800_000;
const MAX_USAGE_LIMIT_WAIT_MS = 86_400_000;
/** Programs round the end of a limit down to the minute. */
export const USAGE_LIMIT_MARGIN_MS = 60_000;
/** Kept for people to see where no limit needs them. */
const STRIKES_KEPT_WITHOUT_LIMIT = 20;
const MAX_LEVEL = 64;

/** What a death does to the state. */
export function afterDeath(
  state: CrashState,
  death: Death,
  policy: CrashPolicy,
  now: number,
  random: Random,
): CrashState {
  switch (death.kind) {
    case 'intended':
    case 'shared':
      return state;
    case 'usage-limit':
      return waitForLimit(state, death.until, now, random);
    case 'own':
      return afterOwnDeath(afterLife(state, death.uptimeMs), death, policy, now, random);
    default:
      return unreachable(death);
  }
}

function afterOwnDeath(
  state: CrashState,
  { how, uptimeMs }: Extract<Death, { kind: 'own' }>,
  policy: CrashPolicy,
  now: number,
  random: Random,
): CrashState {
  const level = Math.min(state.level + 1, MAX_LEVEL);
  const strikes = [...state.strikes, now]
    .filter((at) => Math.abs(now - at) < policy.restartWindowMs)
    .slice(-(policy.maxRestarts || STRIKES_KEPT_WITHOUT_LIMIT));
  const failedTry = state.kind === 'quarantined' && uptimeMs < STABLE_UPTIME_MS;
  if (policy.maxRestarts > 0 && (failedTry || strikes.length >= policy.maxRestarts)) {
    const cycle = state.cycle + 1;
    const wait = quarantineMs(cycle);
    return {
      level,
      strikes,
      lastDelayMs: wait,
      nextTryAt: now + wait,
      kind: 'quarantined',
      cycle,
      reason: failedTry
        ? `${how}; the try after the quarantine failed`
        : `${how}; ended ${times(strikes.length)} within ${minutes(policy.restartWindowMs)}`,
    };
  }
  const wait = delayMs(level, random);
  return {
    level,
    strikes,
    lastDelayMs: wait,
    nextTryAt: wait > 0 ? now + wait : undefined,
    kind: wait > 0 ? 'backing-off' : 'clear',
    cycle: state.cycle,
    reason: wait > 0 ? how : '',
  };
}

/**
 * What a life of this length makes up for, whether it ended or still goes on. A life that was longer than the last
 * delay takes one level off, a healthy one everything.
 */
export function afterLife(state: CrashState, uptimeMs: number): CrashState {
  if (uptimeMs > HEALTHY_UPTIME_MS) return CLEAR;
  // A quarantine's length is no delay of the ladder: a stable life after it counts like any other.
  const lastDelay = Math.min(state.lastDelayMs, MAX_DELAY_MS);
  if (uptimeMs <= lastDelay || uptimeMs < STABLE_UPTIME_MS) return state;
  return { ...state, level: Math.max(0, state.level - 1) };
}

function waitForLimit(state: CrashState, until: number | undefined, now: number, random: Random): CrashState {
  const stated = until === undefined ? undefined : until - now + USAGE_LIMIT_MARGIN_MS;
  const wait = jittered(
    Math.min(MAX_USAGE_LIMIT_WAIT_MS, Math.max(USAGE_LIMIT_MARGIN_MS, stated ?? USAGE_LIMIT_WAIT_MS)),
    random,
    0,
  );
  return { ...state, nextTryAt: now + wait, lastDelayMs: wait, kind: 'usage-limit', reason: 'usage limit' };
}

/** 0, 1, 2, 4 ... 300 s, each by chance a tenth shorter or longer, never above 300 s. */
export function delayMs(level: number, random: Random): number {
  if (level <= 1) return 0;
  const base = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(level - 2, 30));
  return Math.min(MAX_DELAY_MS, jittered(base, random, JITTER));
}

/** 5, 10, 20, 40, 60 minutes. */
export function quarantineMs(cycle: number): number {
  return Math.min(MAX_QUARANTINE_MS, FIRST_QUARANTINE_MS * 2 ** Math.min(Math.max(cycle, 1) - 1, 30));
}

function jittered(ms: number, random: Random, below: number): number {
  return Math.round(ms * (1 - below + (below + JITTER) * random()));
}

/** Whether a start is allowed now. A wall clock that jumped back makes nobody wait longer than was decided. */
export type StartGate =
  | { readonly kind: 'open' }
  | {
      readonly kind: 'backing-off' | 'quarantined' | 'usage-limit';
      /** Milliseconds since the epoch. */
      readonly nextTryAt: number;
      readonly reason: string;
    };

export function startGate(state: CrashState, now: number): StartGate {
  if (state.kind === 'clear' || state.nextTryAt === undefined) return { kind: 'open' };
  const remaining = Math.min(state.nextTryAt - now, state.lastDelayMs);
  if (remaining <= 0) return { kind: 'open' };
  return { kind: state.kind, nextTryAt: now + remaining, reason: state.reason };
}

/** A person's wake, kill, reset or start, and a changed limit in the configuration: everything is forgotten. */
export function cleared(): CrashState {
  return CLEAR;
}

const minutes = (ms: number): string => (ms % 60_000 === 0 ? `${ms / 60_000}m` : `${ms / 1_000}s`);

export const CRASH_HISTORY_KEY = 'crash_history';

/** The record's keys for this state: the whole value as JSON, and what other tools read of it. */
export function crashPatch(state: CrashState): Readonly<Record<string, string>> {
  const waits = state.kind === 'quarantined' && state.nextTryAt !== undefined;
  const isClear = state.level === 0 && state.strikes.length === 0 && state.kind === 'clear';
  return {
    [CRASH_HISTORY_KEY]: isClear && state.cycle === 0 ? '' : JSON.stringify(state),
    crash_count: state.strikes.length > 0 ? String(state.strikes.length) : '',
    quarantined_until: waits ? rfc3339(Math.ceil((state.nextTryAt ?? 0) / 1_000) * 1_000) : '',
    quarantine_cycle: state.cycle > 0 ? String(state.cycle) : '',
  };
}

/**
 * The state in a record. Somebody who cleared `quarantined_until` before its time lifted the quarantine, whatever the
 * JSON says; an unreadable value reads as clear.
 */
export function readCrashState(metadata: Readonly<Record<string, string>>, now: number): CrashState {
  const state = parse(metadata[CRASH_HISTORY_KEY] ?? '');
  const lifted = state.kind === 'quarantined' && !metadata['quarantined_until'];
  return lifted && now < (state.nextTryAt ?? 0) ? CLEAR : state;
}

const KINDS: readonly string[] = ['clear', 'backing-off', 'quarantined', 'usage-limit'];

function parse(text: string): CrashState {
  if (text === '') return CLEAR;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Somebody edited the record: it counts as a session without a history.
    return CLEAR;
  }
  if (typeof value !== 'object' || value === null) return CLEAR;
  const field = (key: string): unknown => (value as Record<string, unknown>)[key];
  const count = (key: string): number => {
    const number = field(key);
    return typeof number === 'number' && Number.isFinite(number) && number > 0 ? number : 0;
  };
  const strikes = field('strikes');
  const kind = field('kind');
  return {
    level: Math.floor(count('level')),
    strikes: Array.isArray(strikes)
      ? strikes.filter((at): at is number => typeof at === 'number' && Number.isFinite(at))
      : [],
    lastDelayMs: count('lastDelayMs'),
    nextTryAt: count('nextTryAt') || undefined,
    reason: typeof field('reason') === 'string' ? String(field('reason')) : '',
    kind: typeof kind === 'string' && KINDS.includes(kind) ? (kind as CrashState['kind']) : 'clear',
    cycle: Math.floor(count('cycle')),
  };
}

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);
