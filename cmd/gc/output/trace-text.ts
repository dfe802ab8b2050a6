import type { TraceRecord, TraceStatus } from '../../../internal/controller/trace-api.ts';
import { onePlainLine } from './plain.ts';
import { renderTable } from './table.ts';
import { clockTime, until } from './times.ts';
import { cutTo } from './width.ts';

/** `gc trace status` for people. */
export function traceStatusText({ arms, records, oldest }: TraceStatus, now: number): string {
  const since = oldest === undefined ? '' : `, the oldest of ${clockTime(oldest)}`;
  const kept = `${records} ${records === 1 ? 'record' : 'records'}${since}\n`;
  if (arms.length === 0) return `Nothing is watched; gc trace start --template <agent>\n${kept}`;
  const rows = arms.map(({ template, level, source, expires_at }) => [
    template,
    level,
    source,
    until(expires_at, now) ?? '',
  ]);
  return renderTable(['TEMPLATE', 'LEVEL', 'SOURCE', 'LEFT'], rows) + kept;
}

/** One line for each; `columns`: no line is longer. */
export function recordLines(records: readonly TraceRecord[], columns = Number.POSITIVE_INFINITY): string {
  if (records.length === 0) return 'No trace records.\n';
  return records.map((record) => recordLine(record, columns)).join('');
}

/** Time, pass, session, what was done and why, and what was seen for it. */
export function recordLine(record: TraceRecord, columns: number): string {
  const { at, tick, session, template, type, what, reason, inputs } = record;
  const done = type === what ? type : `${type} ${what}`;
  const saw = Object.entries(inputs).map(([key, value]) => `${key}=${valueText(value)}`);
  const text = `${clockTime(at)}  #${tick}  ${session || template}  ${done}: ${onePlainLine(reason)}`;
  const line = saw.length === 0 ? text : `${text}  (${saw.join(' ')})`;
  return `${Number.isFinite(columns) ? cutTo(line, columns) : line}\n`;
}

/** `gc trace reasons` for people. */
export function reasonsText(reasons: Readonly<Record<string, number>>): string {
  const rows = Object.entries(reasons).map(([reason, count]) => [String(count), onePlainLine(reason)]);
  return rows.length === 0 ? 'No trace records.\n' : renderTable(['COUNT', 'REASON'], rows);
}

function valueText(value: unknown): string {
  if (typeof value === 'string' && /^\S+$/.test(value)) return onePlainLine(value);
  return onePlainLine(JSON.stringify(value) ?? 'unset');
}
