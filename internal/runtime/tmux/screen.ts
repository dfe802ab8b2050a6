import type { ScreenText } from '../terminal/backend.ts';
import type { Command } from './quote.ts';

/** What tmux writes into a dead pane of ours, for a person who looks at it. */
export const DEAD_PANE_FORMAT =
  '[agent ended: #{?pane_dead_signal,signal #{pane_dead_signal},status #{pane_dead_status}}]';
const DEAD_PANE_LINE = /^(\[agent ended: (signal|status) \S*\]|Pane is dead\b.*)$/;

const SCREEN_FORMAT = '#{cursor_x}\t#{cursor_y}\t#{pane_dead}\t#{bracket_paste_flag}';

/**
 * The commands of one look at a pane: its state, history and screen with wrapped lines joined, and the screen's rows
 * as they are. They run as one group, so they show the same moment. `lines` as in `TerminalBackend.capture`.
 */
export function captureGroup(paneId: string, lines: number): readonly Command[] {
  const start = lines < 0 ? '-' : lines === 0 ? '0' : `-${lines}`;
  return [
    ['display-message', '-p', '-t', paneId, SCREEN_FORMAT],
    ['capture-pane', '-p', '-J', '-t', paneId, '-S', start],
    ['capture-pane', '-p', '-N', '-t', paneId, '-S', '0'],
  ];
}

/** The outputs of `captureGroup` as text. Blank rows below the last text are dropped, and so is tmux's own note in a dead pane. */
export function readScreen(outputs: readonly string[], lines: number): ScreenText {
  const [cursorX, cursorY, dead, bracket] = (outputs[0] ?? '').split('\t');
  const joined = (outputs[1] ?? '').split('\n');
  const rows = (outputs[2] ?? '').split('\n');
  const starts = visibleStarts(joined, rows);
  const cursor = dead === '1' ? undefined : locate(starts, rows, Number(cursorX), Number(cursorY));

  const text = joined.map((line) => line.trimEnd());
  if (dead === '1') dropDeadNote(text);
  const firstVisible = Math.max(0, joined.length - starts.length);
  dropTrailingBlanks(text);
  const from = lines > 0 ? Math.max(0, text.length - lines) : 0;
  const firstShown = Math.max(from, firstVisible);
  return {
    lines: text.slice(from),
    visibleRows: Math.max(0, text.length - firstShown),
    cursor: cursor && { row: cursor.line + firstVisible - firstShown, column: cursor.column },
    bracketedPaste: bracket === '1' ? true : bracket === '0' ? false : undefined,
  };
}

/**
 * At which row of the screen each joined line starts that is at least partly visible. Walks up from the bottom,
 * because the first visible line may have begun in the history.
 */
function visibleStarts(joined: readonly string[], rows: readonly string[]): readonly number[] {
  const starts: number[] = [];
  let row = rows.length;
  for (let i = joined.length - 1; i >= 0 && row > 0; i -= 1) {
    const line = joined[i] ?? '';
    let taken = '';
    do {
      row -= 1;
      taken = (rows[row] ?? '') + taken;
    } while (row > 0 && taken.length < line.length);
    starts.unshift(row);
  }
  return starts;
}

function locate(
  starts: readonly number[],
  rows: readonly string[],
  x: number,
  y: number,
): { line: number; column: number } | undefined {
  if (!Number.isInteger(x) || !Number.isInteger(y)) return undefined;
  const line = starts.findLastIndex((start) => start <= y);
  if (line < 0) return undefined;
  const before = rows.slice(starts[line], y).join('');
  return { line, column: before.length + x };
}

function dropDeadNote(lines: string[]): void {
  const last = lines.findLastIndex((line) => line !== '');
  if (last >= 0 && DEAD_PANE_LINE.test(lines[last] ?? '')) lines.length = last;
}

function dropTrailingBlanks(lines: string[]): void {
  while (lines.length > 0 && lines.at(-1) === '') lines.pop();
}
