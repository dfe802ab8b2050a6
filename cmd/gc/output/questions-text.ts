import type { OpenQuestion } from '../../../internal/controller/city-api.ts';
import { parseRfc3339 } from '../../../internal/platform/clock.ts';
import { typed } from '../city/invocation.ts';
import { onePlainLine, plainText } from './plain.ts';
import { age } from './times.ts';
import { cutTo, padTo, widthOf } from './width.ts';
import { shellWord } from './words.ts';

export interface QuestionsOptions {
  readonly now: number;
  readonly gc: string;
  readonly columns: number;
}

/** Lines of a question under its first one; the whole of it is in the JSON and on the agent's screen. */
const MORE_LINES = 6;
const INDENT = '      ';

/** What agents ask, each with its choices and the command that answers. */
export function questionsText(questions: readonly OpenQuestion[], options: QuestionsOptions): string {
  if (questions.length === 0) return 'No agent asks anything.\n';
  const nameColumns = Math.max(...questions.map(({ session }) => widthOf(session)));
  return questions.map((question) => `${linesOf(question, nameColumns, options).join('\n')}\n`).join('');
}

function linesOf(
  question: OpenQuestion,
  nameColumns: number,
  { now, gc, columns }: QuestionsOptions,
): readonly string[] {
  const [first = question.kind, ...more] = plainText(question.prompt)
    .split('\n')
    .filter((line) => line.trim() !== '');
  const asked = parseRfc3339(question.metadata['asked_at']);
  const since = (asked === undefined ? '' : age(now - asked)).padStart(4);
  const head = `${padTo(question.session, nameColumns)}  ${since}   `;
  const choices = question.options.map((option, index) => `${index + 1} ${onePlainLine(option)}`);
  const answer = typed(`gc session respond ${shellWord(question.session)}`, gc);
  return [
    head + cutTo(onePlainLine(first), Math.max(20, columns - widthOf(head))),
    ...more.slice(0, MORE_LINES).map((line) => INDENT + cutTo(line.trimEnd(), columns - INDENT.length)),
    ...(more.length > MORE_LINES ? [`${INDENT}... ${more.length - MORE_LINES} more lines`] : []),
    ...(choices.length > 0 ? [INDENT + choices.join('   ')] : []),
    `${INDENT}${answer} ${choices.length > 0 ? '<number>' : '<answer>'}`,
  ];
}
