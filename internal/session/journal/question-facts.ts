import type { NewDecision } from '../../beads/sqlite/decision-table.ts';
import { ANSWER_ENDED, ANSWERED, ASKED } from '../interaction-events.ts';
import type { AnswerFact, CityFact, Evidence } from './facts.ts';

const OF_QUESTIONS: ReadonlySet<string> = new Set([ASKED, ANSWERED, ANSWER_ENDED]);

/** Whether a decision is about a question of an agent. */
export function isOfQuestion({ what, inputs }: NewDecision): boolean {
  return OF_QUESTIONS.has(what) && typeof inputs['interaction'] === 'string';
}

/** What a decision about a question tells the log of its session. Pure. */
export function questionFact(
  { what, inputs }: NewDecision,
  { at, actor, said }: { readonly at: string; readonly actor: string; readonly said: string },
): CityFact {
  const text = (key: string): string => String(inputs[key] ?? '');
  const ids = { id: text('request_id'), interaction: text('interaction') };
  const evidence: Evidence = what === ASKED ? evidenceOf(text('source')) : 'record';
  return { ...factOf(what, ids, text, said), at, actor, evidence };
}

function factOf(
  what: string,
  ids: { readonly id: string; readonly interaction: string },
  text: (key: string) => string,
  said: string,
): AnswerFact {
  const error = text('error');
  if (what === ASKED) {
    const tool = text('tool');
    return { kind: 'asked', ...ids, ...(tool === '' ? {} : { tool }), reason: said };
  }
  if (what === ANSWERED) {
    const [verdict, cause, by] = [text('verdict'), text('cause'), text('by')];
    const decider = cause === 'rule' ? { by } : {};
    return { kind: 'answered', ...ids, verdict, cause, ...decider, reason: said.replace(/^answered /, '') };
  }
  if (text('state') === 'withdrawn') return { kind: 'withdrawn', ...ids, reason: said };
  const ok = text('state') === 'applied';
  return { kind: 'applied', ...ids, ok, ...(error === '' ? {} : { error }), reason: said };
}

function evidenceOf(source: string): Evidence {
  return source === 'protocol' || source === 'hook' ? source : 'screen';
}
