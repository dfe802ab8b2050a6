import type { OpenQuestion } from '../../../internal/controller/question-api.ts';
import type { PermissionRule } from '../../../internal/controller/rule-api.ts';
import { parseRfc3339 } from '../../../internal/platform/clock.ts';
import { visibleText } from '../../../internal/platform/visible-text.ts';
import { typed } from '../city/invocation.ts';
import { onePlainLine } from './plain.ts';
import { age, until } from './times.ts';
import { cutTo, padTo, widthOf } from './width.ts';
import { shellWord } from './words.ts';

export interface QuestionsOptions {
  readonly now: number;
  readonly gc: string;
  readonly columns: number;
  /** Somebody asked about one session: nothing is left out. */
  readonly isWhole: boolean;
}

/** Lines of a question under its first one, in a list of all; how many are left out is told. */
const MORE_LINES = 6;
const INDENT = '      ';

/** What agents ask, each with its id, its choices and the command that answers. */
export function questionsText(questions: readonly OpenQuestion[], options: QuestionsOptions): string {
  if (questions.length === 0) return 'No agent asks anything.\n';
  const widths = {
    id: Math.max(...questions.map(({ id }) => widthOf(id))),
    name: Math.max(...questions.map(({ session }) => widthOf(session))),
  };
  return questions.map((question) => `${linesOf(question, widths, options).join('\n')}\n`).join('');
}

function linesOf(
  question: OpenQuestion,
  widths: { readonly id: number; readonly name: number },
  { now, gc, columns, isWhole }: QuestionsOptions,
): readonly string[] {
  const asked = parseRfc3339(question.asked_at);
  const since = (asked === undefined ? '' : age(now - asked)).padStart(4);
  const head = `${padTo(question.id, widths.id)}  ${padTo(question.session, widths.name)}  ${since}   `;
  const choices = question.options.map((option, index) => `${index + 1} ${onePlainLine(option)}`);
  const answer = typed(`gc session respond ${shellWord(question.id)}`, gc);
  const left = until(question.expires_at, now);
  const room = columns - INDENT.length;
  const [asking = question.kind, ...rest] = askedText(question)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const [first = '', ...over] = broken(asking.trim(), Math.max(20, columns - widthOf(head)), room);
  const more = [...over, ...rest.flatMap((line) => broken(line.trimEnd(), room, room))];
  const shown = isWhole ? more : more.slice(0, MORE_LINES);
  const all = typed(`gc session pending ${shellWord(question.session)}`, gc);
  return [
    head + first,
    ...shown.map((line) => INDENT + line),
    ...(more.length > shown.length ? [`${INDENT}... ${more.length - shown.length} more lines: ${all}`] : []),
    ...wrapped(choices, columns - INDENT.length).map((line) => INDENT + line),
    `${INDENT}${answer} ${choices.length > 0 ? '<number>' : '<answer>'}${left ? `   answered by itself ${left}` : ''}`,
  ];
}

/** A protocol's title may leave out which tool it is. */
function askedText({ prompt, tool }: OpenQuestion): string {
  const text = visibleText(prompt);
  return tool === '' || text.includes(tool) ? text : `${tool}: ${text}`;
}

/** A line that is too long goes on in further ones: whoever answers sees all of a command. */
function broken(text: string, firstColumns: number, columns: number): readonly string[] {
  const lines: string[] = [];
  let [line, used] = ['', 0];
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const width = widthOf(segment);
    if (used + width > Math.max(2, lines.length === 0 ? firstColumns : columns)) {
      lines.push(line);
      [line, used] = ['', 0];
    }
    line += segment;
    used += width;
  }
  return [...lines, line];
}

const GAP = '   ';

/** As many on a line as there is room for. */
function wrapped(choices: readonly string[], columns: number): readonly string[] {
  const lines: string[] = [];
  for (const choice of choices) {
    const last = lines.at(-1);
    const joined = last === undefined ? choice : last + GAP + choice;
    if (last === undefined || widthOf(joined) > columns) lines.push(cutTo(choice, columns));
    else lines[lines.length - 1] = joined;
  }
  return lines;
}

/** Where a rule holds. */
export function scopeText(rule: Pick<PermissionRule, 'scope' | 'session' | 'project'>): string {
  switch (rule.scope) {
    case 'session':
      return `in this conversation of ${rule.session ?? 'the session'}`;
    case 'project':
      return `in ${rule.project ?? 'the project'}`;
    case 'city':
      return 'in this city';
    case 'always':
      return 'always, for you';
  }
}
