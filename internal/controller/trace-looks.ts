import type { SessionRecord } from '../session/record.ts';
import type { AwakeDecision } from './awake-set.ts';
import type { Desired } from './model.ts';
import type { PlanInput } from './plan.ts';
import { awakeOf, neededIn } from './reconciler.ts';
import { drainOf, isAttached, type Sight, sightOf, WAITS_FOR_KEY } from './session-facts.ts';

/** Why nothing is done about one session, with all that was looked at. */
export interface SessionLook {
  readonly template: string;
  readonly session: string;
  readonly reason: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}

/** The sessions of these templates: those with a record, and those that the city would have. */
export function sessionLooks(input: PlanInput, templates: ReadonlySet<string>): readonly SessionLook[] {
  const needed = neededIn(input);
  const recorded = new Set(input.records.map((record) => record.sessionName));
  const withRecord = input.records
    .filter((record) => record.sessionName !== '' && templates.has(record.template))
    .map((record) => lookAt(input, record, needed));
  const without = [...input.desired.values()]
    .filter((desired) => templates.has(desired.template) && !recorded.has(desired.sessionName))
    .map((desired) => lookAtWish(input, desired));
  return [...withRecord, ...without];
}

function lookAtWish(input: PlanInput, desired: Desired): SessionLook {
  const demand = input.demand.wanted.get(desired.sessionName);
  return {
    template: desired.template,
    session: desired.sessionName,
    reason: desired.suspended ? 'no record: suspended' : 'no record: nothing asks for it',
    inputs: { kind: desired.kind, mode: desired.mode || undefined, suspended: desired.suspended, demand },
  };
}

function lookAt(input: PlanInput, record: SessionRecord, needed: ReadonlySet<string>): SessionLook {
  const desired = input.desired.get(record.sessionName);
  const sight = sightOf(input, record.sessionName);
  const awake = awakeOf(input, record, desired, sight, needed);
  return {
    template: record.template,
    session: record.sessionName,
    reason: whyNothing(input, record, sight, awake),
    inputs: {
      awake: awake.wake,
      because: awake.reason,
      sight: sight.kind,
      ...sightFacts(input, sight),
      ...wishFacts(input, record, desired, needed),
      ...recordFacts(record),
      operation: input.operations.get(record.sessionName)?.kind,
      retry_in_ms: remaining(input.retryAt.get(record.sessionName), input.lived),
      standing: standing(input, record),
    },
  };
}

/** In the order in which the plan asks. */
function whyNothing(input: PlanInput, record: SessionRecord, sight: Sight, awake: AwakeDecision): string {
  const operation = input.operations.get(record.sessionName);
  if (operation) return `busy: ${operation.kind} is under way`;
  if (remaining(input.retryAt.get(record.sessionName), input.lived) !== undefined)
    return 'waits: its last operation failed';
  switch (sight.kind) {
    case 'unknown':
      return 'could not tell whether it runs';
    case 'running': {
      const drain = drainOf(record);
      if (drain) return `draining: ${drain.reason}`;
      return awake.wake ? `up: ${awake.reason}` : `still up: ${awake.reason}`;
    }
    case 'exited':
    case 'absent':
      if (!awake.wake) return `down: ${awake.reason}`;
      return input.stopping ? 'waits: the city is going down' : `waits: ${waitOf(input, record)}`;
  }
}

/** What a start waits for was noted once, when it began to wait. */
function waitOf(input: PlanInput, record: SessionRecord): string {
  const noted = standing(input, record);
  const why = noted?.match(/^(?:wait|refused): (.*)/s)?.[1];
  return why ?? 'no free slot for a start';
}

function standing(input: PlanInput, record: SessionRecord): string | undefined {
  return input.lastDecisions.get(record.sessionName)?.replace('|', ': ');
}

function sightFacts(input: PlanInput, sight: Sight) {
  if (sight.kind === 'unknown') return { unknown_because: sight.reason };
  if (sight.kind === 'exited') return { exit: sight.exit };
  if (sight.kind === 'absent') return {};
  const { observation } = sight;
  const { lastActivity, processNames } = observation;
  return {
    attached: isAttached(observation),
    silent_for_ms: lastActivity === undefined ? undefined : Math.max(0, input.now - lastActivity),
    processes: processNames,
  };
}

function wishFacts(
  input: PlanInput,
  record: SessionRecord,
  desired: Desired | undefined,
  needed: ReadonlySet<string>,
) {
  const { demand, pending, readyWaits } = input;
  return {
    in_config: desired !== undefined,
    kind: desired?.kind,
    mode: desired?.mode || undefined,
    suspended: desired?.suspended,
    depends_on: desired && desired.dependsOn.length > 0 ? desired.dependsOn : undefined,
    problem: desired?.resolution === 'unresolvable' ? desired.problem.code : undefined,
    demand: demand.wanted.get(record.sessionName),
    busy: demand.busy.has(record.sessionName),
    needed: needed.has(record.template),
    asks_a_person: pending.has(record.sessionName),
    wait_ready: readyWaits.has(record.id),
  };
}

function recordFacts(record: SessionRecord) {
  return {
    state: record.state,
    sleep_reason: record.sleepReason || undefined,
    generation: record.generation,
    held_until: timeText(record.heldUntil),
    quarantined_until: timeText(record.quarantinedUntil),
    pinned: record.pinAwake || undefined,
    wait_hold: record.waitHold || undefined,
    waits_for: record.metadata[WAITS_FOR_KEY] || undefined,
    drain: drainOf(record)?.reason,
  };
}

function timeText(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}

function remaining(at: number | undefined, now: number): number | undefined {
  return at === undefined || at <= now ? undefined : at - now;
}
