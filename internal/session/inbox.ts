import { stripVTControlCharacters } from 'node:util';
import type { NewNudgeRow, NudgeDelivery, NudgePatch, NudgeRow } from '../beads/sqlite/inbox-table.ts';
import { unreachable } from '../platform/errors.ts';
import type { NudgeOutcome } from '../runtime/provider.ts';
import type { NudgeEvidence } from './inbox-evidence.ts';
import { staleWaitNudge } from './waits.ts';

/** A message that nobody could be given within this is given up. Source: Gas City. */
export const NUDGE_TTL_MS = 24 * 3_600_000;
/** Whoever has a message in hand longer than this has lost it. Source: Gas City. */
export const LEASE_MS = 120_000;
/** After a try that went wrong. Source: Gas City. */
const RETRY_MS = 15_000;
/** So many tries that went wrong, and it is given up. Source: Gas City. */
export const MAX_FAILURES = 5;
/** Between tries on an agent that is at work: 5, 10, 20, 40, 60 s. Quiet of the agent ends the pause early. */
const FIRST_BUSY_PAUSE_MS = 5_000;
const MAX_BUSY_PAUSE_MS = 60_000;
/** The same while the sender stands by. */
const ATTENDED_PAUSE_MS = 500;

/** How the reason of a message begins that may have arrived. */
export const UNCERTAIN = 'uncertain: ';
/** The note on a message that was sent and not seen taken. */
export const UNCONFIRMED = 'nothing on its screen confirms it';
/** How it is noted where the proof was found; the log names the kind of proof by it. */
export const PROVEN_BY_TRANSCRIPT = 'its conversation holds it';
export const PROVEN_BY_SCREEN = 'its screen shows it, and its input box is empty';
export const PROVEN_BY_HOOK = 'told by its hook';

export interface NewNudge {
  /** Unique: a request that is repeated with the same one is the same message. */
  readonly id: string;
  readonly agent: string;
  readonly sessionName: string;
  /** Only the session with this record id may get it. */
  readonly boundSessionId?: string;
  readonly template: string;
  readonly sender: string;
  readonly source?: string;
  readonly delivery: NudgeDelivery;
  readonly message: string;
  readonly ttlMs?: number;
}

/**
 * What can be typed to an agent: to a program in a terminal a control character is a key, Ctrl-C and Escape among them.
 * Tabs and line ends stay; of a log's colours nothing is left.
 */
export function typeableText(text: string): string {
  return stripVTControlCharacters(text)
    .replace(/\r\n?/g, '\n')
    .replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '');
}

/** Whatever its text, it is kept as it will be typed, so that what is seen of it later can be compared with it. */
export function newNudge(request: NewNudge, now: number): NewNudgeRow {
  return {
    id: request.id,
    agent: request.agent,
    sessionName: request.sessionName,
    boundSessionId: request.boundSessionId ?? '',
    template: request.template,
    sender: request.sender,
    source: request.source ?? 'session',
    delivery: request.delivery,
    message: typeableText(request.message),
    state: 'queued',
    attempts: 0,
    failures: 0,
    fence: 0,
    owner: '',
    leaseUntilMs: 0,
    deliverAfterMs: 0,
    createdMs: now,
    expiresMs: now + (request.ttlMs ?? NUDGE_TTL_MS),
    lastAttemptMs: 0,
    lastError: '',
    evidence: '',
    endedMs: undefined,
  };
}

/** Who asks for the next message of a session, and what it knows. */
export interface Asking {
  readonly now: number;
  /** Unique per process life. */
  readonly owner: string;
  /** The record that has the name now. */
  readonly sessionId: string;
  /** The conversation that it has now. */
  readonly epoch?: number;
  /** Whether an owner is proven dead. */
  readonly isGone: (owner: string) => boolean;
  /** The agent has just fallen silent: a pause for being busy is over. */
  readonly isQuiet?: boolean;
}

/** What waits for one session. */
export interface Waiting {
  /** Leased or typed, oldest first. */
  readonly inHand: readonly NudgeRow[];
  /** The oldest queued one that does not wait its turn. */
  readonly urgent: NudgeRow | undefined;
  /** The oldest queued one. */
  readonly head: NudgeRow | undefined;
}

/** What to do next for a session. `again`: ask anew once the patch is written. */
export type Turn =
  | { readonly kind: 'none' }
  /** Nothing before that time, unless something happens. */
  | { readonly kind: 'wait'; readonly until: number }
  | { readonly kind: 'again'; readonly row: NudgeRow; readonly patch: NudgePatch }
  | { readonly kind: 'deliver'; readonly row: NudgeRow; readonly patch: NudgePatch }
  /** It was typed, and its outcome was never written: only evidence tells. */
  | { readonly kind: 'resolve'; readonly row: NudgeRow; readonly patch: NudgePatch };

/** One message at a time per session, the oldest first; what went wrong with it holds up those behind it. Pure. */
export function nextTurn(waiting: Waiting, asking: Asking): Turn {
  const { now } = asking;
  for (const row of waiting.inHand) {
    if (row.leaseUntilMs > now && !(row.owner !== '' && asking.isGone(row.owner))) {
      return { kind: 'wait', until: row.leaseUntilMs };
    }
    if (row.state === 'typed') return { kind: 'resolve', row, patch: leased(row, asking) };
    const lastError = row.lastError || 'its delivery ended before anything was typed';
    return { kind: 'again', row, patch: { state: 'queued', owner: '', leaseUntilMs: 0, lastError } };
  }
  const row = waiting.urgent ?? waiting.head;
  if (!row) return { kind: 'none' };
  if (row.boundSessionId !== '' && row.boundSessionId !== asking.sessionId) {
    return {
      kind: 'again',
      row,
      patch: buried(now, `it was for session ${row.boundSessionId}, which is gone`),
    };
  }
  const stale = staleWaitNudge(row, asking.epoch);
  if (stale !== undefined) return { kind: 'again', row, patch: buried(now, stale) };
  if (row.expiresMs <= now) return { kind: 'again', row, patch: expiry(row, now) };
  // No pause is longer: one that ends later was written before the clock was set back.
  const isPause = row.deliverAfterMs > now && row.deliverAfterMs - now <= MAX_BUSY_PAUSE_MS;
  const isPaused = isPause && !(asking.isQuiet && row.failures === 0);
  if (isPaused) return { kind: 'wait', until: row.deliverAfterMs };
  const counted = { attempts: row.attempts + 1, lastAttemptMs: now };
  return { kind: 'deliver', row, patch: { ...leased(row, asking), ...counted, state: 'leased' } };
}

function leased(row: NudgeRow, { now, owner }: Asking): NudgePatch {
  return { fence: row.fence + 1, owner, leaseUntilMs: now + LEASE_MS };
}

/** Right before the first byte: from here on it is never typed again without evidence. */
export function typing(evidence: string, now: number): NudgePatch {
  return { state: 'typed', evidence, leaseUntilMs: now + LEASE_MS };
}

export interface Settling {
  readonly now: number;
  /** The sender stands by and is told at once. */
  readonly attended: boolean;
  /** The text was, or may have been, typed. */
  readonly typed: boolean;
}

/** What a try came to. Pure. */
export function settled(row: NudgeRow, outcome: NudgeOutcome, how: Settling): NudgePatch {
  const { now, attended, typed } = how;
  switch (outcome.kind) {
    case 'delivered':
      return accepted(now, outcome.verified ? '' : UNCONFIRMED);
    case 'busy':
    case 'no-session': {
      const why = outcome.kind === 'busy' ? outcome.detail : 'it does not run';
      if (typed && outcome.kind === 'no-session') return unresolved(now, 'it ended while the text was typed');
      if (attended && row.delivery === 'immediate') return refused(now, why);
      return {
        ...backInLine(attended ? now + ATTENDED_PAUSE_MS : now + busyPauseMs(row), why),
        delivery: patient(row),
      };
    }
    case 'empty':
      return refused(now, 'the message is empty');
    case 'unsubmitted':
      if (attended) return refused(now, outcome.detail);
      return failed(row, now, outcome.detail, unresolved(now + RETRY_MS, outcome.detail));
    case 'failed':
      if (typed) return unresolved(now, outcome.detail);
      if (attended) return refused(now, outcome.detail);
      return failed(row, now, outcome.detail, backInLine(now + RETRY_MS, outcome.detail));
    default:
      return unreachable(outcome);
  }
}

/** What the evidence says about one that was typed. Pure. */
export function resolved(row: NudgeRow, evidence: NudgeEvidence, now: number): NudgePatch {
  switch (evidence.kind) {
    case 'accepted':
      return accepted(now, evidence.why);
    case 'not-submitted':
      return failed(row, now, evidence.why, backInLine(now, evidence.why));
    case 'unknown':
      return buried(now, `${UNCERTAIN}${evidence.why}`);
    default:
      return unreachable(evidence);
  }
}

/** A try that was given up before anything was typed, for a reason of ours: it does not count. */
export function putBack(row: NudgeRow): NudgePatch {
  return {
    state: 'queued',
    owner: '',
    leaseUntilMs: 0,
    attempts: Math.max(0, row.attempts - 1),
    deliverAfterMs: 0,
  };
}

/** Its time is over. One that was typed by then may have arrived. */
export function expiry(row: NudgeRow, now: number): NudgePatch {
  if (row.state === 'typed')
    return buried(now, `${UNCERTAIN}it was typed, and nothing told until it expired`);
  const tries = row.attempts === 0 ? 'never tried' : `${row.attempts} tries, the last: ${row.lastError}`;
  return { state: 'expired', endedMs: now, owner: '', lastError: tries };
}

export const accepted = (now: number, note: string): NudgePatch => ({
  state: 'accepted',
  endedMs: now,
  owner: '',
  message: '',
  evidence: '',
  lastError: note,
});

export const refused = (now: number, why: string): NudgePatch => ({
  state: 'refused',
  endedMs: now,
  owner: '',
  message: '',
  lastError: why,
});

/** Given up, kept to be read. */
export const buried = (now: number, why: string): NudgePatch => ({
  state: 'dead',
  endedMs: now,
  owner: '',
  lastError: why,
});

const backInLine = (deliverAfterMs: number, lastError: string): NudgePatch => ({
  state: 'queued',
  owner: '',
  leaseUntilMs: 0,
  deliverAfterMs,
  lastError,
});

/** Nobody has it in hand; from `at` on its evidence is looked at. */
const unresolved = (at: number, lastError: string): NudgePatch => ({
  state: 'typed',
  owner: '',
  leaseUntilMs: at,
  lastError,
});

function failed(row: NudgeRow, now: number, why: string, otherwise: NudgePatch): NudgePatch {
  const failures = row.failures + 1;
  return failures >= MAX_FAILURES
    ? { ...buried(now, `${failures} tries went wrong, the last: ${why}`), failures }
    : { ...otherwise, failures };
}

/** Its sender is gone: it waits its turn like any other. */
function patient(row: NudgeRow): NudgeDelivery {
  return row.delivery === 'immediate' ? 'wait-idle' : row.delivery;
}

function busyPauseMs(row: NudgeRow): number {
  const before = Math.max(0, row.attempts - row.failures - 1);
  return Math.min(MAX_BUSY_PAUSE_MS, FIRST_BUSY_PAUSE_MS * 2 ** Math.min(before, 10));
}
