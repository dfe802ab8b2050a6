import type { NewEvent } from '../events/event.ts';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { rfc3339 } from '../platform/clock.ts';
import { shortDuration } from '../platform/duration.ts';
import { describeExit } from '../runtime/errors.ts';
import type { ExitInfo } from '../runtime/provider.ts';
import {
  afterDeath,
  type CrashPolicy,
  type CrashState,
  cleared,
  crashPatch,
  type Random,
  readCrashState,
} from '../session/crash-policy.ts';
import { displayName } from '../session/display.ts';
import { marksOver } from '../session/drain-marks.ts';
import { NEW_CONVERSATION_KEY, STOP_BY_KEY } from '../session/journal/facts.ts';
import type { SessionRecord } from '../session/record.ts';
import { withHistory } from '../session/record-codec.ts';
import {
  forgetStaleKey,
  holdForUser,
  releaseHolds,
  releaseNamedIdentifiers,
} from '../session/start-transitions.ts';
import {
  acknowledgeDrain,
  close,
  completeDrain,
  type MetadataPatch,
  quarantine,
  restartRequest,
  sleep,
} from '../session/transitions.ts';
import { limitOnScreen } from '../session/usage-limit.ts';
import { type AccountLimits, deathLimit } from './account-limits.ts';
import type { DrainReason, StopReason } from './model.ts';
import type { Death, Decision } from './plan.ts';
import { isPoolManaged } from './pool-record.ts';
import { believedRunning, drainOf, STOP_INTENT_KEY, startIncomplete } from './session-facts.ts';
import { provesStaleKey } from './stale-key.ts';

export interface EndingContext {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly policy: CrashPolicy;
  readonly random: Random;
  /** Usage limits that are known. */
  readonly limits?: AccountLimits;
}

/** What the end of one life writes. */
export interface Ending {
  readonly metadata: MetadataPatch;
  /** The record is closed with it. */
  readonly close: boolean;
  readonly events: readonly NewEvent[];
  readonly decisions: readonly Decision[];
  /** Of the city: its account has reached a limit. */
  readonly state?: Readonly<Record<string, string>>;
}

/** How the last life ended, as the record keeps it: JSON of `LastExit`. */
export const LAST_EXIT_KEY = 'last_exit';

export interface LastExit {
  readonly code?: number;
  readonly signal?: string;
  /** Why, where the back end knows: `OOMKilled`. */
  readonly reason?: string;
  /** RFC 3339. */
  readonly at: string;
  readonly last_lines: string;
}

const LAST_LINES_KEPT = 20;
const LAST_LINES_KEPT_BYTES = 2_000;

/** Keys of one life that mean nothing after it. */
const LIFE_OVER: MetadataPatch = {
  last_woke_at: '',
  [STOP_INTENT_KEY]: '',
  [STOP_BY_KEY]: '',
  ...marksOver(),
};

/** What is written when a life ended: where the record stands, what it costs, what people are told. */
export function endingOf(record: SessionRecord, death: Death, context: EndingContext): Ending {
  switch (death.cause) {
    case 'by-itself':
      return ownEnding(
        record,
        { exit: death.exit, lastLines: death.lastLines, how: describeDeath(record, death.exit, context.now) },
        context,
      );
    case 'intended':
      return intendedEnding(record, death, context);
    case 'drained':
      return plainEnding(record, drainedPatch(record, death.reason, context.now), death.reason);
    case 'finished':
      return {
        ...plainEnding(record, { ...releaseHolds(), ...close('finished', context.now) }, 'finished its work'),
        close: true,
      };
    case 'interrupted':
      return plainEnding(record, comeBack('', context.now), 'its start was interrupted');
  }
}

/** Gone together with others, or unseen: nobody's strike, and it comes back if it was to be up. */
export function lostPatch(record: SessionRecord, now: number): MetadataPatch {
  return { ...LIFE_OVER, ...comeBack('', now), pending_create_claim: standsByItself(record) ? '' : 'true' };
}

export interface OwnDeath {
  readonly exit: ExitInfo | undefined;
  readonly lastLines: string;
  /** For people: `exit 1 after 2.1s`. */
  readonly how: string;
}

/** It ended, or never came up, by itself: the crash policy says when it is tried again. */
export function ownEnding(record: SessionRecord, death: OwnDeath, context: EndingContext): Ending {
  const { now, random } = context;
  // A pool's session that only comes and goes has no fault that a quarantine could give time to repair.
  const isRestless = isPoolManaged(record) && death.exit?.code === 0;
  const policy = isRestless ? { ...context.policy, maxRestarts: 0 } : context.policy;
  const limit = limitOnScreen(death.lastLines, { now });
  const ofAccount = deathLimit(record, limit, context.limits ?? new Map(), now);
  const uptimeMs = Math.max(0, now - (record.lastWokeAt ?? now));
  const state = afterDeath(
    readCrashState(record.metadata, now),
    limit ? { kind: 'usage-limit', until: limit.until } : { kind: 'own', uptimeMs, how: death.how },
    policy,
    now,
    random,
  );
  const lines = lastLinesOf(death.lastLines);
  const metadata = {
    ...sleep(restReason(state), now),
    ...(state.kind === 'quarantined' ? quarantine(state.nextTryAt ?? now, state.cycle) : {}),
    ...crashPatch(state),
    ...LIFE_OVER,
    pending_create_claim: comesBackByItself(record, death) ? 'true' : '',
    [LAST_EXIT_KEY]: JSON.stringify(lastExit(death, lines, now)),
    ...staleKeyPatch(record, death),
  };
  return {
    metadata,
    close: false,
    state: ofAccount.state,
    events: [...ownEvents(record, death, state, lines), ...ofAccount.events],
    decisions: [
      {
        ...aboutRecord(record),
        what: 'ended',
        why: `${death.how}, by itself`,
        inputs: crashInputs(state),
        lines,
      },
    ],
  };
}

function intendedEnding(
  record: SessionRecord,
  death: Extract<Death, { cause: 'intended' }>,
  context: EndingContext,
): Ending {
  const { now } = context;
  const { reason, detail } = death;
  switch (reason) {
    case 'start timed out':
    case 'no agent in it':
      return ownEnding(
        record,
        { exit: death.exit, lastLines: death.lastLines, how: detailed(reason, detail) },
        context,
      );
    case 'closed by a person':
      return {
        ...plainEnding(
          record,
          { ...releaseHolds(), ...close('closed', now), ...releaseNamed(record) },
          reason,
        ),
        close: true,
      };
    case 'killed by a person':
      return plainEnding(record, { ...sleep('', now), ...crashPatch(cleared()) }, reason);
    case 'suspended by a person':
      return plainEnding(
        record,
        { ...sleep('user-hold', now), ...holdForUser(now), ...crashPatch(cleared()) },
        reason,
      );
    case 'restart requested':
      return plainEnding(
        record,
        {
          ...comeBack('', now),
          ...(startsFresh(record) ? restartRequest('') : {}),
          ...crashPatch(cleared()),
          pending_create_claim: 'true',
        },
        reason,
      );
    case 'drain acknowledged by agent':
      return plainEnding(record, drainedPatch(record, 'drained by a person', now), reason);
    case 'drained by a person':
      return plainEnding(record, drainedPatch(record, reason, now), detailed(reason, detail));
    case 'idle-timeout':
      return plainEnding(
        record,
        completeDrain(reason, record.wakeMode === 'fresh', now),
        detailed(reason, detail),
        'session.idle_killed',
      );
    case 'start interrupted':
      return plainEnding(record, comeBack('', now), reason);
    case 'city stopped':
      // What is cleared away of a session that was down already says nothing about why it is down.
      if (!believedRunning(record) && !startIncomplete(record)) return plainEnding(record, {}, reason);
      // Whom a person was letting go stays down when the city comes back.
      if (drainOf(record)?.reason === 'drained by a person')
        return plainEnding(record, drainedPatch(record, 'drained by a person', now), reason);
      return plainEnding(record, { ...sleep('', now), state: 'stopped' }, reason);
    case 'leftover':
      return plainEnding(record, { ...sleep('', now), state: 'stopped' }, reason);
    case 'config-drift':
    case 'orphaned':
    case 'suspended':
    case 'held':
    case 'wait-hold':
    case 'idle':
    case 'no-wake-reason':
      return plainEnding(record, drainedPatch(record, reason, now), reason);
  }
}

function detailed(reason: StopReason, detail: string | undefined): string {
  return detail === undefined ? reason : `${reason}: ${detail}`;
}

function plainEnding(
  record: SessionRecord,
  metadata: MetadataPatch,
  why: string,
  type = 'session.stopped',
): Ending {
  return {
    metadata: { ...LIFE_OVER, ...metadata },
    close: false,
    events: [{ type, actor: CONTROLLER_ACTOR, subject: displayName(record), message: why }],
    decisions: [{ ...aboutRecord(record), what: 'ended', why, inputs: {} }],
  };
}

/** After drift it starts again with the new config and goes on with its conversation; after the rest it stays down, after a person's drain whatever its mode. */
function drainedPatch(record: SessionRecord, reason: DrainReason, now: number): MetadataPatch {
  if (reason === 'config-drift') return comeBack('config-drift', now);
  if (reason === 'drained by a person') {
    return { ...acknowledgeDrain(record.wakeMode === 'fresh'), slept_at: rfc3339(now) };
  }
  return completeDrain(reason, record.wakeMode === 'fresh', now);
}

/** Asked for with the request, or the rule for every start of the agent. */
function startsFresh(record: SessionRecord): boolean {
  return record.continuationResetPending || record.wakeMode === 'fresh';
}

function comeBack(reason: string, now: number): MetadataPatch {
  return { ...sleep(reason, now), pending_create_claim: 'true' };
}

/** Of the others, the record must say that they are wanted. A pool's session comes back when there is work for it. */
function standsByItself(record: SessionRecord): boolean {
  return record.namedMode === 'always' || record.origin === 'manual' || isPoolManaged(record);
}

/** An agent that was woken on demand and left by itself without a complaint has finished. */
function comesBackByItself(record: SessionRecord, death: OwnDeath): boolean {
  if (standsByItself(record)) return false;
  return record.pendingCreateClaim || death.exit?.code !== 0;
}

function releaseNamed(record: SessionRecord): MetadataPatch {
  return record.namedIdentity === '' ? {} : releaseNamedIdentifiers();
}

/** The conversation is dropped only when the agent program says that it does not know it. */
function staleKeyPatch(record: SessionRecord, death: OwnDeath): MetadataPatch {
  if (record.sessionKey === '' || !provesStaleKey(death.lastLines, record.sessionKey)) return {};
  return {
    ...forgetStaleKey(),
    [NEW_CONVERSATION_KEY]: `its program does not know conversation ${record.sessionKey}`,
    [KEY_HISTORY_KEY]: withHistory(record.metadata[KEY_HISTORY_KEY] ?? '', record.sessionKey, ''),
  };
}

/** Conversations that this session had before, newest first. */
export const KEY_HISTORY_KEY = 'session_key_history';

function restReason(state: CrashState): string {
  if (state.kind === 'quarantined') return 'quarantine';
  return state.kind === 'usage-limit' ? 'usage-limit' : '';
}

function ownEvents(
  record: SessionRecord,
  death: OwnDeath,
  state: CrashState,
  lines: readonly string[],
): NewEvent[] {
  const subject = displayName(record);
  const payload = {
    ...(death.exit ?? {}),
    last_lines: lines.join('\n'),
    ...(state.nextTryAt === undefined ? {} : { next_try_at: new Date(state.nextTryAt).toISOString() }),
  };
  const message = withLastLine(death.how, lines, (line) => line);
  const crashed: NewEvent = { type: 'session.crashed', actor: CONTROLLER_ACTOR, subject, message, payload };
  if (state.kind !== 'quarantined') return [crashed];
  return [
    crashed,
    { type: 'session.quarantined', actor: CONTROLLER_ACTOR, subject, message: state.reason, payload },
  ];
}

function describeDeath(record: SessionRecord, exit: ExitInfo | undefined, now: number): string {
  const how = exit ? describeExit(exit) : 'gone, nobody saw how';
  return record.lastWokeAt === undefined ? how : `${how} after ${shortDuration(now - record.lastWokeAt)}`;
}

function lastLinesOf(text: string): string[] {
  const lines = text.trimEnd().split('\n').slice(-LAST_LINES_KEPT);
  while (lines.length > 1 && Buffer.byteLength(lines.join('\n')) > LAST_LINES_KEPT_BYTES) lines.shift();
  return lines.map((line) => line.slice(0, LAST_LINES_KEPT_BYTES)).filter((line, i) => i > 0 || line !== '');
}

/** A reason with what was said last, unless that is the reason itself. */
export function withLastLine(
  reason: string,
  lines: readonly string[],
  quote: (line: string) => string,
): string {
  const last = lines.findLast((line) => line.trim() !== '')?.trim();
  return last === undefined || reason.includes(last) ? reason : `${reason}: ${quote(last)}`;
}

function lastExit(death: OwnDeath, lines: readonly string[], now: number): LastExit {
  return { ...(death.exit ?? {}), at: rfc3339(now), last_lines: lines.join('\n') };
}

function crashInputs(state: CrashState): Decision['inputs'] {
  return {
    policy: state.kind,
    in_a_row: state.level,
    within_window: state.strikes.length,
    ...(state.nextTryAt === undefined ? {} : { next_try_at: new Date(state.nextTryAt).toISOString() }),
  };
}

export function aboutRecord(record: SessionRecord): Pick<Decision, 'sessionName' | 'recordId'> {
  return { sessionName: record.sessionName, recordId: record.id };
}
