import { unreachable } from '../platform/errors.ts';
import type { SessionRecord } from '../session/record.ts';
import type { Desired } from './model.ts';
import type { Action, Change, Decision, Plan, PlanInput } from './plan.ts';
import { type SessionLook, sessionLooks } from './trace-looks.ts';

export type TraceLevels = ReadonlyMap<string, 'baseline' | 'detail'>;

/** One record, without its number and the pass it belongs to. */
export interface TraceDraft {
  readonly template: string;
  readonly session: string;
  readonly type: 'cycle' | 'decision' | 'change' | 'action' | 'session';
  readonly what: string;
  readonly reason: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}

const LAST_LINES_KEPT = 3;

/**
 * What one plan means for the templates that are watched. Pure. One pass makes a plan for each round of changes, and a last
 * one of which the actions count.
 */
export function traceRecords(
  input: PlanInput,
  plan: Plan,
  round: number,
  levels: TraceLevels,
): readonly TraceDraft[] {
  const templateOf = templatesByName(input, plan);
  const watched = (name: string): string | undefined => {
    const template = templateOf.get(name);
    return template !== undefined && levels.has(template) ? template : undefined;
  };
  const drafts = [
    ...plan.changes.flatMap(changeLines),
    ...plan.decisions.map(decisionLine),
    ...plan.actions.map(actionLine),
  ].flatMap((line): readonly TraceDraft[] => {
    const template = watched(line.session);
    return template === undefined ? [] : [{ ...line, template }];
  });
  const done = new Set(drafts.map((draft) => draft.session));
  const detailed = new Set([...levels].filter(([, level]) => level === 'detail').map(([name]) => name));
  const idle = detailed.size === 0 ? [] : sessionLooks(input, detailed);
  return [...levels.keys()].flatMap((template) => [
    cycleDraft(template, input, round, drafts),
    ...drafts.filter((draft) => draft.template === template),
    ...idle.filter((look) => look.template === template && !done.has(look.session)).map(idleDraft),
  ]);
}

type Line = Omit<TraceDraft, 'template'>;

function idleDraft({ template, session, reason, inputs }: SessionLook): TraceDraft {
  return { template, session, type: 'session', what: 'nothing', reason, inputs };
}

function cycleDraft(
  template: string,
  input: PlanInput,
  round: number,
  drafts: readonly TraceDraft[],
): TraceDraft {
  const own = (type: TraceDraft['type']): number =>
    drafts.filter((draft) => draft.template === template && draft.type === type).length;
  const counts = { changes: own('change'), actions: own('action'), decisions: own('decision') };
  const survey = input.survey?.survey;
  const running =
    survey?.kind === 'seen'
      ? input.records.filter(
          (record) =>
            record.template === template &&
            survey.sessions.get(record.sessionName)?.liveness.kind === 'running',
        ).length
      : undefined;
  const wanted = [...input.desired.values()].filter((desired) => desired.template === template);
  return {
    template,
    session: '',
    type: 'cycle',
    what: 'cycle',
    reason: cycleReason(counts),
    inputs: {
      round,
      ...counts,
      observed: survey?.kind ?? 'nothing yet',
      in_config: input.templates.has(template),
      desired: wanted.length,
      records: input.records.filter((record) => record.template === template).length,
      running,
      demanded: wanted.filter((desired) => input.demand.wanted.has(desired.sessionName)).length,
      operations: input.operations.size,
      start_slots: input.startSlots,
    },
  };
}

function cycleReason(counts: { readonly changes: number; readonly actions: number; decisions: number }) {
  if (counts.changes > 0) return 'records change';
  if (counts.actions > 0) return 'acts';
  return counts.decisions > 0 ? 'waits' : 'nothing to do';
}

/** Every session that a plan can speak of, by its runtime name. */
function templatesByName(input: PlanInput, plan: Plan): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const desired of input.desired.values()) found.set(desired.sessionName, desired.template);
  for (const record of input.records) found.set(record.sessionName, record.template);
  for (const change of plan.changes)
    if (change.kind === 'adopt' && !found.has(change.sessionName))
      found.set(change.sessionName, change.meta['GC_TEMPLATE'] ?? '');
  return found;
}

function decisionLine({ sessionName, what, why, inputs, lines = [] }: Decision): Line {
  return {
    session: sessionName,
    type: 'decision',
    what,
    reason: why,
    inputs: lines.length === 0 ? inputs : { ...inputs, lines: lines.slice(-LAST_LINES_KEPT) },
  };
}

function changeLines(change: Change): readonly Line[] {
  if (change.kind === 'lost') return change.records.map((record) => lostLine(record, change));
  return [{ type: 'change', what: change.kind, ...changeFacts(change) }];
}

function lostLine(record: SessionRecord, change: Extract<Change, { kind: 'lost' }>): Line {
  return {
    session: record.sessionName,
    type: 'change',
    what: 'lost',
    reason: change.what,
    inputs: { ...recordFacts(record), shared_by: change.records.length },
  };
}

function changeFacts(change: Exclude<Change, { kind: 'lost' }>): Omit<Line, 'type' | 'what'> {
  switch (change.kind) {
    case 'materialize':
      return {
        session: change.desired.sessionName,
        reason: 'wanted, and has no record',
        inputs: wish(change.desired),
      };
    case 'adopt':
      return {
        session: change.sessionName,
        reason: 'lives without a record',
        inputs: change.desired ? wish(change.desired) : {},
      };
    case 'take-over':
      return about(change.record, 'another life of it is the one that lives');
    case 'ended': {
      const { cause, exit, lastLines } = change.death;
      const reason = 'reason' in change.death ? `${cause}: ${change.death.reason}` : cause;
      return about(change.record, reason, { exit, last_lines: lastOf(lastLines) });
    }
    case 'settle-active':
      return about(change.record, 'runs, and is to run');
    case 'begin-drain':
      return about(change.record, change.reason, { detail: change.detail });
    case 'cancel-drain':
      return about(change.record, change.why);
    case 'retire':
      return about(change.record, change.reason);
    case 'note-sleep':
      return about(change.record, 'what is said of its sleep changed', change.notes);
    case 'note-live':
      return about(change.record, 'live settings are as configured');
    case 'clear-hold':
      return about(change.record, 'the hold is over');
    default:
      return unreachable(change);
  }
}

function about(record: SessionRecord, reason: string, more: Line['inputs'] = {}) {
  return { session: record.sessionName, reason, inputs: { ...recordFacts(record), ...more } };
}

function actionLine(action: Action): Line {
  const line = { session: action.sessionName, type: 'action' as const, what: action.kind };
  switch (action.kind) {
    case 'start':
      return {
        ...line,
        reason: action.why,
        inputs: { ...wish(action.desired), ...recordFacts(action.record) },
      };
    case 'continue-start':
      return { ...line, reason: 'its start is not complete', inputs: recordFacts(action.record) };
    case 'stop':
      return {
        ...line,
        reason: action.reason,
        inputs: { ...(action.record ? recordFacts(action.record) : {}), detail: action.detail },
      };
    case 'drain':
      return {
        ...line,
        reason: action.reason,
        inputs: {
          ...recordFacts(action.record),
          since: new Date(action.since).toISOString(),
          idle_within_ms: action.idleWithinMs,
        },
      };
    case 'probe-idle':
      return { ...line, reason: 'silent for long enough to sleep', inputs: recordFacts(action.record) };
    case 'apply-live':
      return { ...line, reason: 'live settings changed', inputs: recordFacts(action.record) };
    default:
      return unreachable(action);
  }
}

function wish({ kind, mode, dependsOn }: Desired) {
  return { kind, mode: mode === '' ? undefined : mode, depends_on: dependsOn };
}

function recordFacts({ state, generation }: SessionRecord) {
  return { state, generation };
}

function lastOf(text: string): readonly string[] | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.length === 0 ? undefined : lines.slice(-LAST_LINES_KEPT);
}
