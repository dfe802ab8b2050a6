/** One line of the table: a bar from docs/architecture.md, what was measured, and the floor of the same run. */
export interface Row {
  readonly what: string;
  readonly bar: string;
  readonly measured: string;
  /** What the machine itself needs for it in this run: bare node, a raw call, the agent's own time. */
  readonly floor: string;
  readonly met: boolean;
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
};

export const ms = (value: number): string =>
  value < 10 ? `${value.toFixed(2)} ms` : `${Math.round(value)} ms`;
export const mb = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MB`;

export function printRows(rows: readonly Row[]): void {
  const header: Row = {
    what: 'what',
    bar: 'bar',
    measured: 'measured',
    floor: 'floor in this run',
    met: true,
  };
  const width = (pick: (row: Row) => string) => Math.max(...[header, ...rows].map((row) => pick(row).length));
  const widths = [width((r) => r.what), width((r) => r.bar), width((r) => r.measured), width((r) => r.floor)];
  const line = (row: Row, mark: string) =>
    [row.what, row.bar, row.measured, row.floor].map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ') +
    `  ${mark}`;
  console.log(line(header, ''));
  for (const row of rows) console.log(line(row, row.met ? 'met' : 'MISSED'));
}
