import { cutTo, padTo, widthOf } from './width.ts';

const GAP = '  ';

/**
 * Columns with two blanks between them, a header row in capitals, no blanks at line ends. Without `maxColumns`
 * nothing is cut; with it the widest column that may shrink gives way until each line fits.
 */
export function renderTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  limits: { readonly maxColumns?: number; readonly shrinks?: readonly number[] } = {},
): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => widthOf(row[column] ?? ''))));
  shrink(widths, limits.shrinks ?? [], limits.maxColumns);
  return all.map((row) => renderRow(row, widths)).join('');
}

function shrink(widths: number[], shrinks: readonly number[], maxColumns: number | undefined): void {
  if (maxColumns === undefined) return;
  const LEAST = 6;
  const total = () => widths.reduce((sum, w) => sum + w, 0) + GAP.length * (widths.length - 1);
  for (const column of shrinks) {
    const excess = total() - maxColumns;
    if (excess <= 0) return;
    const width = widths[column] ?? 0;
    widths[column] = Math.max(Math.min(width, LEAST), width - excess);
  }
}

function renderRow(row: readonly string[], widths: readonly number[]): string {
  const cells = widths.map((width, column) => padTo(cutTo(row[column] ?? '', width), width));
  return `${cells.join(GAP).trimEnd()}\n`;
}
