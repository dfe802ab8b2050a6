/** What reading text needs of a terminal emulator's buffer. */
export interface TextBuffer {
  readonly baseY: number;
  readonly cursorX: number;
  readonly cursorY: number;
  readonly type: 'normal' | 'alternate';
  getLine(y: number): TextLine | undefined;
}

interface TextLine {
  readonly isWrapped: boolean;
  readonly length: number;
  getCell(x: number): { getChars(): string; getWidth(): number } | undefined;
  translateToString(trimRight?: boolean, from?: number, to?: number): string;
}

export interface CapturedRows {
  readonly lines: readonly string[];
  readonly cursor: { readonly row: number; readonly column: number };
  readonly visibleRows: number;
  /** The first line goes on with one before it. */
  readonly continued: boolean;
}

/** One row's text: whole when it goes on in the next row, else without the padding at its end. */
export function rowText(buffer: TextBuffer, y: number): string {
  const line = buffer.getLine(y);
  if (!line) return '';
  const next = buffer.getLine(y + 1);
  if (!next?.isWrapped) return line.translateToString(true);
  // A wide character that did not fit leaves the last cell empty: it is no part of the text.
  const last = line.getCell(line.length - 1);
  const unfilled = next.getCell(0)?.getWidth() === 2 && last?.getChars() === '' && last.getWidth() === 1;
  return line.translateToString(false, 0, unfilled ? line.length - 1 : line.length);
}

/** The rows from `from` of the main screen's scrollback, then the present screen, wrapped rows joined. */
export function joinRows(view: {
  readonly normal: TextBuffer;
  readonly active: TextBuffer;
  readonly from: number;
  readonly rows: number;
}): CapturedRows {
  const { normal, active, rows } = view;
  const lines: string[] = [];
  let continued = false;
  const add = (buffer: TextBuffer, y: number, joinable: boolean) => {
    const wrapped = buffer.getLine(y)?.isWrapped ?? false;
    const last = lines.length - 1;
    if (wrapped && joinable && last >= 0) lines[last] += rowText(buffer, y);
    else {
      if (last < 0) continued = wrapped && joinable;
      lines.push(rowText(buffer, y));
    }
  };
  for (let y = Math.max(0, view.from); y < normal.baseY; y += 1) add(normal, y, true);
  const joinsAbove = active.type === 'normal';
  let firstVisible = lines.length;
  let cursor = { row: 0, column: active.cursorX };
  const start = joinsAbove ? Math.max(active.baseY, view.from) : active.baseY;
  for (let y = start; y < active.baseY + rows; y += 1) {
    const before = lines.length;
    add(active, y, joinsAbove || y > start);
    if (y === start && lines.length === before) firstVisible = before - 1;
    if (y === active.baseY + active.cursorY) {
      const row = lines.length - 1;
      const lead = (lines[row] ?? '').length - rowText(active, y).length;
      cursor = { row: row - firstVisible, column: lead + active.cursorX };
    }
  }
  while (lines.length - 1 > firstVisible + cursor.row && lines[lines.length - 1] === '') lines.pop();
  return {
    lines: lines.map((line) => line.trimEnd()),
    cursor,
    visibleRows: lines.length - firstVisible,
    continued,
  };
}
