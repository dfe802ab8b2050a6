import { unseenAnswer } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import type { PlanInput } from './plan.ts';
import { isFinished } from './plan-dead.ts';
import type { PlanDraft } from './plan-draft.ts';

/**
 * Sessions that are gone without a trace of how they ended. Alone, while we watched: it ended by itself. Together, with
 * the server or host that held them, or while nobody watched: one shared cause, and nobody's strike.
 */
export function planVanished(input: PlanInput, draft: PlanDraft): void {
  const withTheirHost = new Map<string, SessionRecord[]>();
  const others: SessionRecord[] = [];
  for (const record of draft.vanished) {
    const what = hostGone(input, record.sessionName);
    if (what === undefined) others.push(record);
    else withTheirHost.set(what, [...(withTheirHost.get(what) ?? []), record]);
  }
  for (const [what, records] of withTheirHost) planLost(draft, what, records);
  planUnexplained(input, draft, others);
}

function planUnexplained(input: PlanInput, draft: PlanDraft, records: readonly SessionRecord[]): void {
  const [first] = records;
  if (!first) return;
  const what = sharedCause(input, records);
  if (what !== undefined) {
    planLost(draft, what, records);
    return;
  }
  draft.change({
    kind: 'ended',
    record: first,
    death: {
      cause: isFinished(input, first, undefined) ? 'finished' : 'by-itself',
      exit: undefined,
      lastLines: '',
    },
  });
}

function planLost(draft: PlanDraft, what: string, records: readonly SessionRecord[]): void {
  draft.change({ kind: 'lost', what, records });
  for (const record of records) draft.changeBecause(record, 'ended', what, { shared_by: records.length });
}

/** What held it is proven gone, where that was not so from the beginning. */
function hostGone({ survey, watched }: PlanInput, name: string): string | undefined {
  if (!survey || !watched) return undefined;
  const answer = survey.survey.kind === 'seen' ? unseenAnswer(survey.survey, name) : survey.survey;
  return answer?.kind === 'infrastructure-gone' ? answer.what : undefined;
}

function sharedCause(input: PlanInput, records: readonly SessionRecord[]): string | undefined {
  if (!input.watched) return 'gone while no controller watched';
  if (input.infrastructureLost) return input.infrastructureLost;
  return records.length > 1 ? 'they went together, without an exit' : undefined;
}
