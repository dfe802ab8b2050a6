import type { PlanInput } from './plan.ts';
import { isFinished } from './plan-dead.ts';
import type { PlanDraft } from './plan-draft.ts';

/**
 * Sessions that are gone without a trace of how they ended. Alone, while we watched: it ended by itself. Together, with
 * the server or host that held them, or while nobody watched: one shared cause, and nobody's strike.
 */
export function planVanished(input: PlanInput, draft: PlanDraft): void {
  const { vanished } = draft;
  const [first] = vanished;
  if (!first) return;
  const what = sharedCause(input, draft);
  if (what === undefined) {
    draft.change({
      kind: 'ended',
      record: first,
      death: {
        cause: isFinished(input, first, undefined) ? 'finished' : 'by-itself',
        exit: undefined,
        lastLines: '',
      },
    });
    return;
  }
  draft.change({ kind: 'lost', what, records: [...vanished] });
  for (const record of vanished) draft.changeBecause(record, 'ended', what, { shared_by: vanished.length });
}

function sharedCause(input: PlanInput, draft: PlanDraft): string | undefined {
  if (!input.watched) return 'gone while no controller watched';
  if (input.survey?.survey.kind === 'infrastructure-gone') return input.survey.survey.what;
  if (input.infrastructureLost) return input.infrastructureLost;
  return draft.vanished.length > 1 ? 'they went together, without an exit' : undefined;
}
