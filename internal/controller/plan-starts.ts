import { admit, START_ANYWAY_KEY } from './admission.ts';
import type { PlanInput } from './plan.ts';
import type { PlanDraft, StartCandidate } from './plan-draft.ts';
import { Places } from './start-limits.ts';
import { startWaves } from './start-waves.ts';

/**
 * Which of the sessions that could start do start now: those whose dependencies are up, in the order of dependencies, as
 * many as there are free slots for creating processes. Waiting for readiness takes no slot.
 */
export function planStarts(input: PlanInput, draft: PlanDraft): void {
  if (draft.candidates.length === 0) return;
  const byName = new Map(draft.candidates.map((c) => [c.record.sessionName, c]));
  const rank = new Map([...input.desired.keys()].map((name, i) => [name, i]));
  const inFileOrder = draft.candidates.toSorted((a, b) => rankOf(rank, a) - rankOf(rank, b));
  const items = inFileOrder.map((c) => ({
    name: c.record.sessionName,
    template: c.desired.template,
    dependsOn: c.desired.dependsOn,
  }));
  const { waves, cyclic } = startWaves(items, draft.up);
  const ring = new Set(cyclic);
  const busyRing = ringIsBusy(input, ring);
  let free = input.startSlots - creating(input);
  let ringStarted = busyRing;
  let begun = startsUnderWay(input);
  const places = new Places(input.limits, input.records, input.desired);
  for (const name of waves.flat()) {
    const candidate = byName.get(name);
    if (!candidate) continue;
    const inRing = ring.has(candidate.desired.template);
    const missing = inRing ? [] : missingDependencies(input, draft, candidate);
    if (missing.length > 0 || (inRing && ringStarted)) {
      draft.note(
        candidate.record,
        'wait',
        `after ${missing.join(', ') || 'the others of its dependency ring'}`,
      );
      continue;
    }
    const place = places.waitsFor(candidate.desired);
    if (place !== undefined) {
      draft.note(candidate.record, 'wait', `for ${place}`);
      continue;
    }
    if (free <= 0) continue;
    if (waitsForRoom(input, draft, candidate, begun)) continue;
    free -= 1;
    begun += 1;
    places.take(candidate.desired);
    ringStarted ||= inRing;
    start(input, draft, candidate, inRing);
  }
}

/** The limits of the machine, unless a person said that it is to start all the same. */
function waitsForRoom(
  input: PlanInput,
  draft: PlanDraft,
  { record, desired }: StartCandidate,
  starting: number,
): boolean {
  if (!input.room || input.elsewhere.has(desired.sessionName) || record.metadata[START_ANYWAY_KEY])
    return false;
  const admission = admit(input.room, starting);
  if (admission.kind === 'admitted') return false;
  const { limits, machine } = input.room;
  draft.waitForRoom(record, admission, {
    free_memory: machine.freeMemory,
    min_free_memory: limits.minFreeMemory,
    memory_per_session: limits.memoryPerSession,
    load: machine.load[0],
    max_load_per_core: limits.maxLoadPerCore,
    already_starting: starting,
  });
  return true;
}

/** Their agents are being brought up: what they will take does not show yet. */
function startsUnderWay(input: PlanInput): number {
  let count = 0;
  for (const [name, operation] of input.operations)
    if (operation.kind === 'start' && !input.elsewhere.has(name)) count += 1;
  return count;
}

function rankOf(rank: ReadonlyMap<string, number>, candidate: StartCandidate): number {
  return rank.get(candidate.record.sessionName) ?? rank.size;
}

function start(input: PlanInput, draft: PlanDraft, candidate: StartCandidate, inRing: boolean): void {
  const { record, desired, why } = candidate;
  const demand = input.demand.wanted.get(record.sessionName);
  draft.act({ kind: 'start', sessionName: record.sessionName, record, desired, why });
  draft.actBecause(record, 'start', why, {
    depends_on: desired.dependsOn,
    ...(inRing ? { dependency_ring: true } : {}),
    ...(demand === undefined ? {} : { demand }),
    generation: record.generation + 1,
  });
}

/** Templates it depends on, that the city has, and that have no session up. */
function missingDependencies(input: PlanInput, draft: PlanDraft, candidate: StartCandidate): string[] {
  const { desired } = candidate;
  return desired.dependsOn.filter(
    (template) => template !== desired.template && input.templates.has(template) && !draft.up.has(template),
  );
}

function creating(input: PlanInput): number {
  let count = 0;
  for (const operation of input.operations.values()) if (operation.creating) count += 1;
  return count;
}

function ringIsBusy(input: PlanInput, ring: ReadonlySet<string>): boolean {
  if (ring.size === 0) return false;
  for (const [name, operation] of input.operations) {
    const template = input.desired.get(name)?.template;
    if (operation.kind === 'start' && template !== undefined && ring.has(template)) return true;
  }
  return false;
}
