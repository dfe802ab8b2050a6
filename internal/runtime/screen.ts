import type { ScreenText } from './terminal/backend.ts';

/** How far back questions are looked for: a late trust question sits above many blank rows. */
export const LOOK_BACK_LINES = 120;

/** One captured screen in the form that all rules read: no-break spaces are spaces, padding and trailing blank rows are gone. */
export interface Look {
  /** At most 120 lines of history and screen, oldest first. */
  readonly lines: readonly string[];
  /** Index of the first visible line: what is above it has scrolled away. */
  readonly visibleFrom: number;
  /** `index` into `lines` (it may lie below the last one); `undefined` when unknown. */
  readonly cursor: { readonly index: number; readonly column: number } | undefined;
}

/** The look at a capture. */
export function lookAt(screen: ScreenText): Look {
  const all = screen.lines.map(normalizeLine);
  const visibleStart = Math.max(0, all.length - screen.visibleRows);
  let end = all.length;
  while (end > 0 && all[end - 1] === '') end -= 1;
  const start = Math.max(0, end - LOOK_BACK_LINES);
  return {
    lines: all.slice(start, end),
    visibleFrom: Math.max(0, visibleStart - start),
    cursor: screen.cursor && {
      index: visibleStart + screen.cursor.row - start,
      column: screen.cursor.column,
    },
  };
}

/** A look at plain text, all of it visible and with no cursor known. */
export function lookAtText(text: string): Look {
  const lines = text.split('\n');
  return lookAt({ lines, visibleRows: lines.length, cursor: undefined, bracketedPaste: undefined });
}

export function normalizeLine(line: string): string {
  return line.replaceAll('\u00a0', ' ').replace(/[ \t\r]+$/, '');
}

/** The last `count` lines as one text, for errors and questions. */
export function tailOf(look: Look, count: number): string {
  return look.lines.slice(-count).join('\n').trim();
}

export interface MenuOption {
  readonly index: number;
  readonly digit: string;
  readonly label: string;
}

/** A numbered list with a mark on one line: what interactive programs draw for a choice. */
export interface Menu {
  readonly options: readonly MenuOption[];
  /** Position in `options` of the marked one. */
  readonly marked: number;
}

const OPTION = /^[\s│]*(?<mark>[❯›●▶➤>*→]\s*)?(?<digit>\d{1,2})[.)]\s+(?<label>\S.*?)[\s│]*$/u;

/** Whether a line is an entry of a numbered choice, with or without the mark. */
export function isMenuLine(line: string): boolean {
  return OPTION.test(line);
}

/**
 * The last menu at or below `from`: options numbered 1, 2, 3 ... of which exactly one is marked. Lines between two
 * options (a wrapped label, a description) are allowed up to three.
 */
export function findMenu(look: Look, from = 0): Menu | undefined {
  let found: Menu | undefined;
  let options: MenuOption[] = [];
  let marks: number[] = [];
  const close = () => {
    const [marked] = marks;
    if (options.length >= 2 && marks.length === 1 && marked !== undefined) found = { options, marked };
    options = [];
    marks = [];
  };
  for (let index = Math.max(0, from); index < look.lines.length; index += 1) {
    const match = OPTION.exec(look.lines[index] ?? '');
    const last = options.at(-1);
    if (!match?.groups) {
      if (last && index - last.index > MAX_LINES_BETWEEN_OPTIONS) close();
      continue;
    }
    if (match.groups['digit'] !== String(options.length + 1)) close();
    if (match.groups['digit'] !== String(options.length + 1)) continue;
    if (match.groups['mark'] !== undefined) marks.push(options.length);
    options.push({ index, digit: match.groups['digit'], label: match.groups['label'] ?? '' });
  }
  close();
  return found;
}

const MAX_LINES_BETWEEN_OPTIONS = 3;
