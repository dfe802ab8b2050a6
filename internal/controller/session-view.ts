import { parseRfc3339, rfc3339 } from '../platform/clock.ts';
import type { SleepCapability, StartProgress } from '../runtime/provider.ts';
import { type AccountLimit, overAt } from '../session/account-limit.ts';
import { readCrashState, type StartGate, startGate } from '../session/crash-policy.ts';
import { displayName } from '../session/display.ts';
import type { SessionRecord } from '../session/record.ts';
import type { ConversationGlance } from '../session/transcript/conversation-glance.ts';
import { type AwakeDecision, decideAwake, type WakeReason } from './awake-set.ts';
import type { SessionCondition, SessionView } from './city-api.ts';
import { conversationOf, limitText, saidLast } from './conversation-view.ts';
import { LAST_EXIT_KEY, withLastLine } from './endings.ts';
import { parseObject, parseStrings } from './json-text.ts';
import { type AgentProblem, type Desired, drainWords } from './model.ts';
import type { Operation } from './operation.ts';
import type { OpenQuestionSeen } from './question-text.ts';
import type { Glimpse } from './screens.ts';
import {
  drainOf,
  isAttached,
  type Sight,
  startIncomplete,
  stopIntent,
  WAITS_FOR_KEY,
} from './session-facts.ts';
import { notedCapability, sleepPolicy } from './sleep-policy.ts';
import { ANSWERED_KEY, STARTED_MS_KEY } from './start-operation.ts';

/** Everything a line of the board is made of. */
export interface ViewFacts {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly record: SessionRecord;
  readonly desired: Desired | undefined;
  readonly sight: Sight;
  readonly operation: Pick<Operation, 'kind' | 'progress'> | undefined;
  readonly glimpse: Glimpse | undefined;
  /** Templates with a session that is up: the others' dependents wait. */
  readonly up: ReadonlySet<string>;
  readonly templates: ReadonlySet<string>;
  /** What its start waits for that could begin but for the machine. */
  readonly roomWait?: string | undefined;
  /** Why its last start came to nothing. */
  readonly setback?: string | undefined;
  /** What it asks people. */
  readonly question?: OpenQuestionSeen | undefined;
  /** What the end of its transcript tells. */
  readonly conversation?: ConversationGlance | undefined;
  /** The usage limit that its account waits for. */
  readonly accountLimit?: AccountLimit | undefined;
  /** A session that is to be up depends on this one. */
  readonly needed: boolean;
  /** To be up because of work, or as one of the floor of its pool. */
  readonly demanded: boolean;
  /** Work itself asks for it. */
  readonly called?: boolean;
  /** How well its back end tells silence; absent: not at all. */
  readonly sleepCapability?: SleepCapability | undefined;
  /** What it sleeps for, for people. */
  readonly waitsOn?: string | undefined;
  /** One of its waits is over, and it was not told yet. */
  readonly waitReady?: boolean;
  /** A controller acts on what is wanted. */
  readonly controlled: boolean;
}

/** Output younger than this means that the agent works, where its screen does not say. */
const ACTIVE_MS = 3_000;

export const AGENT_SUSPENDED = 'its agent is suspended';
/** Why a session that is wanted is not up when nobody brings it up. */
export const NO_CONTROLLER = 'no controller runs';

/** A record as people and programs see it. */
export function sessionView(facts: ViewFacts): SessionView {
  const { record, sight } = facts;
  const awake = awakeOf(facts);
  const standing = standingOf(facts, awake);
  const observation = sight.kind === 'running' ? sight.observation : undefined;
  const gate = startGate(readCrashState(record.metadata, facts.now), facts.now);
  return {
    id: record.id,
    display_name: displayName(record),
    session_name: record.sessionName,
    alias: record.alias,
    title: record.title,
    template: record.template,
    state: publicState(record, sight),
    ...standing,
    // A rest after crashes is the city's own decision: it still wants the session.
    wanted: awake.wake || awake.reason === 'quarantined',
    wake_reasons: awake.wake ? [PUBLIC_REASON[awake.reason]] : [],
    sleep_reason: record.sleepReason,
    provider: record.provider,
    transport: record.transport,
    command: record.command,
    work_dir: record.workDir,
    session_key: record.sessionKey,
    resume_flag: record.metadata['resume_flag'] ?? '',
    resume_style: record.metadata['resume_style'] ?? '',
    resume_command: record.metadata['resume_command'] ?? '',
    attached: observation !== undefined && isAttached(observation),
    created_at: rfc3339(record.createdAt),
    ...(observation?.lastActivity === undefined ? {} : { last_active: rfc3339(observation.lastActivity) }),
    ...pidOf(sight),
    restarts: Math.max(0, record.generation - 2),
    ...(facts.question && standing.condition === 'waits' ? { question_id: facts.question.id } : {}),
    ...nextTryOf(facts, gate, standing.condition),
    ...conversationOf(facts.conversation),
    ...lifeDetails(record),
    depends_on: facts.desired?.dependsOn ?? [],
    ...(facts.desired?.mode ? { named_mode: facts.desired.mode } : {}),
  };
}

/** The later of what its own deaths and its account make it wait for. */
function nextTryOf(
  { sight, accountLimit }: ViewFacts,
  gate: StartGate,
  condition: SessionCondition,
): Pick<SessionView, 'next_try_at'> {
  if (sight.kind === 'running') return {};
  const ofAccount = accountLimit && condition === 'backing-off' ? overAt(accountLimit) : 0;
  const at = Math.max(gate.kind === 'open' ? 0 : gate.nextTryAt, ofAccount);
  return at === 0 ? {} : { next_try_at: rfc3339(at) };
}

/** Source: the reason words of Gas City's session list. */
const PUBLIC_REASON: Readonly<Record<WakeReason, string>> = {
  'pending-create': 'create',
  'named-always': 'config',
  manual: 'session',
  dependency: 'dependency',
  'scaled:demand': 'work',
  work: 'work',
  attached: 'attached',
  pending: 'pending',
  'on-demand:running': 'config',
  pin: 'pin',
  'wait-ready': 'wait',
};

/** The decision of the controller, by what a board knows. */
export function awakeOf(facts: ViewFacts): AwakeDecision {
  const { sight, desired, record } = facts;
  const told = sight.kind === 'running' ? undefined : notedCapability(record);
  return decideAwake({
    now: facts.now,
    record,
    desired,
    running: sight.kind === 'running',
    attached: sight.kind === 'running' && isAttached(sight.observation),
    pending: facts.question !== undefined || facts.glimpse?.activity.kind === 'asking',
    waitReady: facts.waitReady ?? false,
    needed: facts.needed,
    demanded: facts.demanded,
    called: facts.called ?? false,
    sleep: desired?.sleep && sleepPolicy(desired.sleep, told ?? facts.sleepCapability ?? 'disabled'),
    lastActivity: sight.kind === 'running' ? sight.observation.lastActivity : undefined,
  });
}

type Standing = Pick<SessionView, 'condition' | 'since' | 'detail' | 'problem'>;

const problemText = ({ message, next }: AgentProblem): string =>
  next === undefined ? message : `${message} (${next})`;

function standing(condition: SessionCondition, since: number | undefined, detail: string): Standing {
  return {
    condition,
    ...(since === undefined ? {} : { since: rfc3339(since) }),
    ...(detail === '' ? {} : { detail }),
  };
}

function standingOf(facts: ViewFacts, awake: AwakeDecision): Standing {
  const { record, operation, sight } = facts;
  const question = record.metadata[WAITS_FOR_KEY] ?? '';
  if (record.closed)
    return standing(
      'closed',
      parseRfc3339(record.metadata['closed_at']),
      record.metadata['close_reason'] ?? '',
    );
  if (operation?.kind === 'start' || (operation?.kind === 'continue-start' && question === ''))
    return standing('starting', record.lastWokeAt, noteOf(sight) || progressText(operation.progress));
  const leaving = leavingOf(facts);
  if (leaving) return leaving;
  switch (sight.kind) {
    case 'unknown':
      return standing('unknown', undefined, sight.reason);
    case 'running':
      return runningStanding(facts, sight);
    case 'exited':
    case 'absent':
      return downStanding(facts, awake);
  }
}

function leavingOf(facts: ViewFacts): Standing | undefined {
  const { record, sight, operation } = facts;
  if (sight.kind !== 'running') return undefined;
  const intent = stopIntent(record);
  if (intent || operation?.kind === 'stop')
    return standing('draining', undefined, `is being stopped: ${intent ?? 'by the controller'}`);
  const drain = drainOf(record);
  if (!drain) return undefined;
  const until =
    drain.reason === 'drained by a person' ? 'waits until it says that it is done' : 'waits until it is idle';
  const waits = isAttached(sight.observation) ? 'a person is attached' : until;
  return standing('draining', drain.since, `${drainWords(drain.reason)}: ${waits}`);
}

function runningStanding(facts: ViewFacts, sight: Extract<Sight, { kind: 'running' }>): Standing {
  const { record, glimpse, now } = facts;
  const { lastActivity } = sight.observation;
  if (facts.question) return standing('waits', facts.question.askedMs, facts.question.what);
  if (glimpse?.activity.kind === 'asking') return standing('waits', lastActivity, glimpse.activity.what);
  const question = record.metadata[WAITS_FOR_KEY] ?? '';
  if (question !== '') return standing('waits', record.lastWokeAt, question);
  const note = noteOf(sight);
  if (startIncomplete(record))
    return standing('starting', record.lastWokeAt, note || 'goes on with its start');
  const shown = note || (glimpse?.lastLine ?? '');
  const said = note || saidLast(facts.conversation) || shown;
  if (glimpse?.activity.kind === 'busy') return standing('working', lastActivity, shown);
  const turn = facts.conversation?.turn ?? 'unknown';
  // A screen on which no input box can be recognised says nothing: then the transcript does.
  const isBlind = glimpse?.activity.kind !== 'idle' || (!glimpse.isTold && !glimpse.activity.composer);
  if (isBlind && turn === 'in-turn') return standing('working', lastActivity, shown);
  if (isBlind && turn === 'idle') return standing('idle', lastActivity, said);
  if (lastActivity === undefined) return standing('running', record.lastWokeAt, shown);
  // Only an input box that waits, or the agent's own word, proves idleness against fresh output.
  const waitsForInput =
    glimpse?.activity.kind === 'idle' && (glimpse.isTold || glimpse.activity.composer !== undefined);
  const works = now - lastActivity < ACTIVE_MS && !waitsForInput;
  return standing(works ? 'working' : 'idle', lastActivity, works ? shown : said);
}

/** What keeps it from working, as its back end says: nearer to the cause than any step of ours. */
function noteOf(sight: Sight): string {
  return sight.kind === 'running' ? (sight.observation.note ?? '') : '';
}

function downStanding(facts: ViewFacts, awake: AwakeDecision): Standing {
  const { record, desired, now } = facts;
  const since = parseRfc3339(record.metadata['slept_at']) ?? parseRfc3339(record.metadata['suspended_at']);
  if (record.state === 'suspended') return standing('suspended', since, 'until gc session wake');
  if (desired?.suspended) return standing('suspended', since, AGENT_SUSPENDED);
  const gate = startGate(readCrashState(record.metadata, now), now);
  if (gate.kind !== 'open') return gatedStanding(facts, gate, since);
  if (desired?.resolution === 'unresolvable')
    return { ...standing('stopped', since, problemText(desired.problem)), problem: desired.problem.code };
  if (!awake.wake)
    return standing(record.state === 'stopped' ? 'stopped' : 'asleep', since, restText(facts, awake.reason));
  if (facts.accountLimit) {
    const { seenAt, session } = facts.accountLimit;
    const seen = session === displayName(record) ? '' : `, seen in ${session}`;
    return standing('backing-off', seenAt, limitText(facts.accountLimit) + seen);
  }
  if (!facts.controlled) return standing('stopped', since, NO_CONTROLLER);
  return standing('starting', since, waitText(facts));
}

function gatedStanding(
  { record, accountLimit }: ViewFacts,
  gate: Exclude<StartGate, { kind: 'open' }>,
  since: number | undefined,
): Standing {
  const condition = gate.kind === 'quarantined' ? 'quarantined' : 'backing-off';
  const lines = lastExitOf(record)?.last_lines.split('\n') ?? [];
  return standing(
    condition,
    since,
    withLastLine(
      gate.kind === 'usage-limit' ? limitText(accountLimit) : gate.reason,
      lines,
      (line) => `"${line}"`,
    ),
  );
}

function waitText(facts: ViewFacts): string {
  const missing = (facts.desired?.dependsOn ?? []).filter((t) => facts.templates.has(t) && !facts.up.has(t));
  if (missing.length > 0) return `after ${missing.join(', ')}`;
  if (facts.roomWait !== undefined) return `waits for ${facts.roomWait}`;
  return facts.setback === undefined ? 'waits for its turn' : `is tried again soon: ${facts.setback}`;
}

function restText({ record, waitsOn }: ViewFacts, reason: string): string {
  if (reason === 'no-wake-reason' || reason === 'idle-sleep') return record.sleepReason;
  if (reason === 'wait-hold') return waitsOn ?? reason;
  return reason === 'orphaned' ? 'its agent is not in the config any more' : reason;
}

function progressText(progress: StartProgress | undefined): string {
  if (!progress) return '';
  switch (progress.kind) {
    case 'step':
      return progress.step;
    case 'answered':
      return `answered: ${progress.dialog}`;
    case 'waiting':
      return progress.what;
  }
}

/** Source: Gas City's session info: `awake` reads active, `drained` asleep, and active without a runtime is asleep. */
function publicState(record: SessionRecord, sight: Sight): string {
  if (record.closed) return '';
  const state = record.state === 'awake' ? 'active' : record.state === 'drained' ? 'asleep' : record.state;
  const gone = sight.kind === 'absent' || sight.kind === 'exited';
  return state === 'active' && gone ? 'asleep' : state;
}

function pidOf(sight: Sight): { pid?: number } {
  if (sight.kind !== 'running' || sight.observation.liveness.kind !== 'running') return {};
  const { pid } = sight.observation.liveness;
  return pid === undefined ? {} : { pid };
}

function lifeDetails(record: SessionRecord): Pick<SessionView, 'last_exit' | 'answered' | 'started_ms'> {
  const exit = lastExitOf(record);
  const startedMs = Number(record.metadata[STARTED_MS_KEY] || Number.NaN);
  const answered = parseStrings(record.metadata[ANSWERED_KEY]);
  return {
    ...(exit ? { last_exit: exit } : {}),
    ...(answered.length > 0 ? { answered } : {}),
    ...(Number.isFinite(startedMs) ? { started_ms: startedMs } : {}),
  };
}

export function lastExitOf(record: SessionRecord): SessionView['last_exit'] | undefined {
  const { code, signal, reason, at, last_lines: lines } = parseObject(record.metadata[LAST_EXIT_KEY]) ?? {};
  if (typeof at !== 'string') return undefined;
  return {
    ...(typeof code === 'number' ? { code } : {}),
    ...(typeof signal === 'string' ? { signal } : {}),
    ...(typeof reason === 'string' ? { reason } : {}),
    at,
    last_lines: typeof lines === 'string' ? lines : '',
  };
}
