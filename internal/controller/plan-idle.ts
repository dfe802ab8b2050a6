import type { PlanInput } from './plan.ts';
import type { PlanDraft } from './plan-draft.ts';

/** So many sessions are asked at once whether they are idle. Source: Gas City. */
const MAX_IDLE_PROBES = 3;
/** Between two such questions to one session. */
const IDLE_PROBE_REST_MS = 15_000;

/** Asks those that were not asked for the longest time, a few at once: whoever is at work is asked again later. */
export function planProbes(input: PlanInput, draft: PlanDraft): void {
  if (draft.probes.length === 0) return;
  const askedAt = (name: string) => input.probedAt.get(name) ?? Number.NEGATIVE_INFINITY;
  const due = draft.probes.filter(({ sessionName }) => {
    const next = askedAt(sessionName) + IDLE_PROBE_REST_MS;
    if (input.lived < next) draft.wakeAtLived(next);
    return input.lived >= next;
  });
  let free = MAX_IDLE_PROBES - underWay(input);
  for (const record of due.toSorted((a, b) => askedAt(a.sessionName) - askedAt(b.sessionName))) {
    if (free <= 0) return;
    free -= 1;
    draft.act({ kind: 'probe-idle', sessionName: record.sessionName, record });
  }
}

function underWay(input: PlanInput): number {
  let count = 0;
  for (const operation of input.operations.values()) if (operation.kind === 'probe-idle') count += 1;
  return count;
}
