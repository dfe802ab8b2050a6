import type { TerminalSize } from '../provider.ts';

/** What drawing needs of a terminal emulator's buffer. */
export interface DrawnBuffer {
  readonly baseY: number;
  readonly cursorX: number;
  readonly cursorY: number;
  getLine(y: number): { readonly length: number; getCell(x: number): DrawnCell | undefined } | undefined;
}

interface DrawnCell {
  getChars(): string;
  getWidth(): number;
  getFgColor(): number;
  getBgColor(): number;
  isFgRGB(): boolean;
  isBgRGB(): boolean;
  isFgPalette(): boolean;
  isBgPalette(): boolean;
  isBold(): number;
  isDim(): number;
  isItalic(): number;
  isUnderline(): number;
  isBlink(): number;
  isInverse(): number;
  isInvisible(): number;
  isStrikethrough(): number;
}

/** The visible screen drawn row by row on a terminal of any size. It relies on no wrapping, so sizes may differ. */
export function renderRows(buffer: DrawnBuffer, rows: number, size: TerminalSize): string {
  let text = '';
  for (let y = 0; y < Math.min(rows, size.rows); y += 1) {
    text += `\x1b[${y + 1};1H\x1b[m${renderRow(buffer, buffer.baseY + y, size.columns)}\x1b[m\x1b[K`;
  }
  const row = Math.min(buffer.cursorY, size.rows - 1) + 1;
  const column = Math.min(buffer.cursorX, size.columns - 1) + 1;
  return `${text}\x1b[${row};${column}H`;
}

function renderRow(buffer: DrawnBuffer, y: number, columns: number): string {
  const line = buffer.getLine(y);
  if (!line) return '';
  let text = '';
  let style = '';
  let blanks = 0;
  for (let x = 0; x < Math.min(line.length, columns); x += 1) {
    const cell = line.getCell(x);
    if (!cell || cell.getWidth() === 0) continue;
    if (x + cell.getWidth() > columns) break;
    const wanted = styleOf(cell);
    if (cell.getChars() === '' && wanted === '') {
      blanks += 1;
      continue;
    }
    if (blanks > 0) {
      if (style !== '') text += '\x1b[m';
      text += ' '.repeat(blanks);
      style = '';
      blanks = 0;
    }
    if (wanted !== style) text += `\x1b[m${wanted}`;
    style = wanted;
    text += cell.getChars() || ' ';
  }
  return text;
}

function styleOf(cell: DrawnCell): string {
  const codes: number[] = [];
  if (cell.isBold()) codes.push(1);
  if (cell.isDim()) codes.push(2);
  if (cell.isItalic()) codes.push(3);
  if (cell.isUnderline()) codes.push(4);
  if (cell.isBlink()) codes.push(5);
  if (cell.isInverse()) codes.push(7);
  if (cell.isInvisible()) codes.push(8);
  if (cell.isStrikethrough()) codes.push(9);
  if (cell.isFgRGB()) codes.push(38, 2, ...channels(cell.getFgColor()));
  else if (cell.isFgPalette()) codes.push(38, 5, cell.getFgColor());
  if (cell.isBgRGB()) codes.push(48, 2, ...channels(cell.getBgColor()));
  else if (cell.isBgPalette()) codes.push(48, 5, cell.getBgColor());
  return codes.length > 0 ? `\x1b[${codes.join(';')}m` : '';
}

const channels = (rgb: number): readonly number[] => [(rgb >>> 16) & 255, (rgb >>> 8) & 255, rgb & 255];
