import type { ConfigProblem } from '../city.ts';
import { shownPosition } from './source-document.ts';

/** How to emphasise; identity functions for plain text. */
export interface Paint {
  readonly place: (text: string) => string;
  readonly error: (text: string) => string;
  readonly warning: (text: string) => string;
  readonly quiet: (text: string) => string;
}

export const PLAIN: Paint = {
  place: (text) => text,
  error: (text) => text,
  warning: (text) => text,
  quiet: (text) => text,
};

export interface FormatOptions {
  /** Paths inside this folder are shown relative to it. */
  readonly baseDir: string;
  /** Text of each file, for the frame. */
  readonly texts: ReadonlyMap<string, string>;
  readonly paint?: Paint;
  /** Source lines are cut to this many columns. */
  readonly columns?: number;
}

/** Problems as the JSON of `--json`. `file` is absolute. */
export interface ProblemJson {
  readonly severity: ConfigProblem['severity'];
  readonly code: string;
  readonly message: string;
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  readonly hint?: string;
}

const DEFAULT_COLUMNS = 80;
/** Columns of a cut line that stay visible before the marked place. */
const LEFT_CONTEXT = 20;

/** `city.yaml:14:5` */
export function placeOf(problem: ConfigProblem, baseDir: string): string {
  const { position } = problem;
  if (!position) return '';
  return printable(shownPosition(baseDir, position));
}

/** One line for pipes: `city.yaml:14:5: error: message [code] (hint)`. */
export function problemLine(problem: ConfigProblem, baseDir: string): string {
  const place = placeOf(problem, baseDir);
  const hint = problem.hint === undefined ? '' : ` (${problem.hint})`;
  return printable(`${place === '' ? '' : `${place}: `}${problem.severity}: ${problem.message}${hint}`);
}

/** The problem with the two lines of the file around it and a caret under the place: for people. */
export function problemFrame(problem: ConfigProblem, options: FormatOptions): string {
  const paint = options.paint ?? PLAIN;
  const place = placeOf(problem, options.baseDir);
  const mark = problem.severity === 'error' ? '' : paint.warning(`${problem.severity}: `);
  const head = `${place === '' ? '' : `${paint.place(place)}  `}${mark}${printable(problem.message)}`;
  const hint = problem.hint === undefined ? [] : [`  ${paint.quiet(printable(problem.hint))}`];
  return [head, ...frameLines(problem, options, paint), ...hint].join('\n');
}

/** All problems for people, then how many there are. */
export function problemReport(problems: readonly ConfigProblem[], options: FormatOptions): string {
  return [...problems.map((problem) => problemFrame(problem, options)), problemCount(problems)].join('\n');
}

/** `2 errors, 1 warning.` */
export function problemCount(problems: readonly ConfigProblem[]): string {
  const count = (severity: ConfigProblem['severity']) => {
    const amount = problems.filter((problem) => problem.severity === severity).length;
    return amount === 0 ? [] : [`${amount} ${severity}${amount === 1 ? '' : 's'}`];
  };
  const parts = [...count('error'), ...count('warning'), ...count('note')];
  return parts.length === 0 ? 'No problems.' : `${parts.join(', ')}.`;
}

export function problemJson(problem: ConfigProblem): ProblemJson {
  const { severity, code, message, position, hint } = problem;
  return {
    severity,
    code,
    message,
    ...(position ? { file: position.file, line: position.line, column: position.column } : {}),
    ...(hint === undefined ? {} : { hint }),
  };
}

function frameLines(problem: ConfigProblem, options: FormatOptions, paint: Paint): readonly string[] {
  const { position } = problem;
  const text = position && options.texts.get(position.file);
  if (!position || !text) return [];
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  const marked = lines[position.line - 1];
  if (marked === undefined || marked.trim() === '') return [];
  const width = String(position.line).length;
  const room = (options.columns ?? DEFAULT_COLUMNS) - width - 6;
  const start = position.column - 1 + 1 > room ? Math.max(0, position.column - 1 - LEFT_CONTEXT) : 0;
  const window = (line: string) => printable(line).slice(start, start + room);
  const numbered = (number: string, line: string) =>
    `  ${paint.quiet(`${number.padStart(width)} |`)} ${line}`.trimEnd();
  const length = Math.max(
    1,
    Math.min(tokenLength(marked, position.column - 1), start + room - (position.column - 1)),
  );
  const caret = `${' '.repeat(position.column - 1 - start)}${paint.error('^'.repeat(length))}`;
  const before = position.line > 1 ? lines[position.line - 2] : undefined;
  return [
    ...(before === undefined || before.trim() === ''
      ? []
      : [numbered(String(position.line - 1), window(before))]),
    numbered(String(position.line), window(marked)),
    numbered('', caret),
  ];
}

/** How far the key or value that starts here reaches. */
function tokenLength(line: string, start: number): number {
  const rest = line.slice(start);
  const token = /^(?:"(?:[^"\\]|\\.)*"|'[^']*'|\{\{.*?\}\}|\[\[?[^\]]*\]\]?|[^\s,:={}[\]#]+)/.exec(rest);
  return token ? token[0].length : 1;
}

/** Control characters must not reach a terminal; a tab counts as one column. */
function printable(text: string): string {
  return text
    .replaceAll('\t', ' ')
    .replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, '\u{fffd}')
    .replaceAll('\n', ' ');
}
