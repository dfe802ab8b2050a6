import { VERB_STATES, type VerbState } from '../../../internal/session/verb-state.ts';
import {
  EXITS,
  type Exit,
  VERB_TABLE,
  VERBS,
  type Verb,
  type VerbAction,
} from '../../../internal/session/verb-table.ts';

const BEGIN = '<!-- verbs: made by npm run docs -->';
const END = '<!-- verbs end -->';

/** What is done, as it stands in the table. */
const WORDS: Readonly<Record<VerbAction, string>> = {
  'use-runtime': 'at once',
  'start-then-use': 'starts it first',
  materialize: 'makes its record first',
  'await-start': 'waits until it is up',
  'release-and-start': 'done',
  'reactivate-and-start': 'brings it back from the archive',
  'begin-drain': 'done',
  'cancel-drain': 'ends the drain',
  hold: 'done',
  'write-record': 'done',
  'read-history': 'done',
  'stop-runtime': 'done',
  'restart-fresh': 'done',
  'close-record': 'done',
  nothing: 'changes nothing',
};

/** The table has what happens at once; what can wait in the queue is told elsewhere on the page. */
const LABELS: Partial<Readonly<Record<Verb, string>>> = { nudge: 'nudge --delivery immediate' };

/** The page with its section about states and verbs as the table has it. @throws Error when the page has no such section */
export function withVerbs(page: string): string {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin === -1 || end < begin) throw new Error(`the page lacks "${BEGIN}" and "${END}"`);
  return `${page.slice(0, begin)}${BEGIN}\n\n${renderVerbs()}\n${page.slice(end)}`;
}

/** State x verb, and the ways out of every state that keeps a session down. */
function renderVerbs(): string {
  const exits = Object.entries(EXITS).map(([state, ways]) => [state, ways.map(exitText).join('; ')]);
  return [
    table(['verb', 'done while', 'refused, with the reason and what helps, while'], VERBS.map(verbRow)),
    table(['a session that is', 'runs again'], exits),
  ].join('\n');
}

function verbRow(verb: Verb): readonly string[] {
  const done = new Map<string, VerbState[]>();
  const refused: VerbState[] = [];
  for (const state of VERB_STATES) {
    const rule = VERB_TABLE[state][verb];
    if (rule.kind === 'refuse') refused.push(state);
    else done.set(WORDS[rule.action], [...(done.get(WORDS[rule.action]) ?? []), state]);
  }
  const groups = [...done].map(([word, states]) => `${word}: ${states.join(', ')}`);
  return [`\`${LABELS[verb] ?? verb}\``, groups.join('. '), refused.join(', ')];
}

function exitText(exit: Exit): string {
  switch (exit.by) {
    case 'verb':
      return `by \`${exit.verb}\``;
    case 'time':
      return exit.key === 'next try' ? 'at its next try' : `when its \`${exit.key}\` has come`;
    case 'event':
      return `when ${exit.what}`;
  }
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  return line(head) + line(head.map(() => '---')) + rows.map(line).join('');
}
