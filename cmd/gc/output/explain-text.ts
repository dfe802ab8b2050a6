import type {
  ConversationView,
  ExplainedDecision,
  Explanation,
} from '../../../internal/controller/city-api.ts';
import { typed } from '../city/invocation.ts';
import { detailOf } from './board.ts';
import { onePlainLine } from './plain.ts';
import type { Style } from './style.ts';
import { clockTime, until } from './times.ts';
import { cutTo, padTo, widthOf, wrapText } from './width.ts';
import { conditionWord, isUp } from './words.ts';

export interface ExplainOptions {
  readonly now: number;
  readonly columns: number;
  readonly style: Style;
  readonly gc: string;
}

const LEAST_WHAT_COLUMNS = 14;
const LEAST_TEXT_COLUMNS = 20;
const LAST_LINES_SHOWN = 5;

/** `gc explain`: each decision with what it saw, oldest first, then what helps. */
export function renderExplanation(explanation: Explanation, options: ExplainOptions): string {
  const { session, decisions, helps } = explanation;
  const next = until(session.next_try_at, options.now);
  const when = next ? `, next try ${next === 'now' ? 'now' : `in ${next}`}` : '';
  const state = `   ${conditionWord(session.condition)}${when}`;
  const room = options.columns - widthOf(session.display_name) - widthOf(state) - 3;
  const detail = isUp(session.condition) ? '' : cutTo(detailOf(session), Math.max(LEAST_TEXT_COLUMNS, room));
  const head = `${options.style.bold(session.display_name)}${state}${detail ? ` (${detail})` : ''}`;
  const whatColumns = Math.max(LEAST_WHAT_COLUMNS, ...decisions.map((decision) => widthOf(decision.what)));
  const lines = [
    head,
    ...conversationLine(session.conversation),
    ...decisions.flatMap((decision) => decisionLines(decision, whatColumns, options)),
    ...(decisions.length === 0 ? ['  nothing was decided about it yet'] : []),
  ];
  if (helps.length > 0) {
    const commands = helps.map((help) => `${typed(help.command, options.gc)} (${help.why})`);
    lines.push(wrapParts('what helps: ', commands, options.columns));
  }
  return `${lines.join('\n')}\n`;
}

/** `  claude-opus-4-6 · 42k of 200k tokens (21%) · in a turn`: what its transcript tells. */
function conversationLine(conversation: ConversationView | undefined): readonly string[] {
  if (!conversation) return [];
  const {
    model,
    context_tokens: used,
    context_window: window,
    context_percent: percent,
    turn,
  } = conversation;
  const full = window === undefined || percent === undefined ? '' : ` of ${thousands(window)} (${percent}%)`;
  const parts = [
    model ?? '',
    used === undefined ? '' : `${thousands(used)} tokens${full}`,
    turn === 'unknown' ? '' : turn === 'idle' ? 'its turn is over' : 'in a turn',
  ].filter((part) => part !== '');
  return parts.length === 0 ? [] : [`  conversation: ${onePlainLine(parts.join(' · '))}`];
}

const thousands = (tokens: number): string =>
  tokens < 1_000 ? String(tokens) : `${Math.round(tokens / 1_000)}k`;

function decisionLines(
  decision: ExplainedDecision,
  whatColumns: number,
  { columns, style }: ExplainOptions,
): readonly string[] {
  const time = clockTime(decision.at);
  const indent = 2 + widthOf(time) + 2 + whatColumns + 2;
  const room = Math.max(LEAST_TEXT_COLUMNS, columns - indent);
  const blank = ' '.repeat(indent);
  const why = wrapText(onePlainLine(decision.why), room).split('\n');
  const inputs = Object.entries(decision.inputs).map(([key, value]) => `${key}=${inputText(value)}`);
  const saw = inputs.length > 0 ? wrapText(`saw ${inputs.join(' ')}`, room).split('\n') : [];
  // What it said last may be the reason itself.
  const said = (decision.lines ?? [])
    .map(onePlainLine)
    .filter((line) => line !== '' && !decision.why.includes(line));
  return [
    `  ${time}  ${padTo(decision.what, whatColumns)}  ${why[0] ?? ''}`.trimEnd(),
    ...why.slice(1).map((line) => blank + line),
    ...saw.map((line) => blank + style.dim(line)),
    ...said.slice(-LAST_LINES_SHOWN).map((line) => `${blank}| ${line}`),
  ];
}

function inputText(value: unknown): string {
  if (typeof value === 'string') return /^\S+$/.test(value) ? onePlainLine(value) : JSON.stringify(value);
  return JSON.stringify(value) ?? 'unset';
}

/** Parts separated by ` · `, a new line where the next one would not fit; a part is never broken. */
function wrapParts(start: string, parts: readonly string[], columns: number): string {
  const lines: string[] = [];
  let line = start;
  for (const [index, part] of parts.entries()) {
    const joined = index === 0 ? line + part : `${line} · ${part}`;
    if (index > 0 && widthOf(joined) > columns) {
      lines.push(line);
      line = ' '.repeat(widthOf(start)) + part;
    } else line = joined;
  }
  return [...lines, line].join('\n');
}
