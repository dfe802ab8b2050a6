import type { CityEvent } from '../../../internal/events/event.ts';
import { onePlainLine } from './plain.ts';
import { renderTable } from './table.ts';
import { clockTime } from './times.ts';
import { cutTo } from './width.ts';

const MESSAGE_COLUMNS = 40;
const HEADER = ['SEQ', 'TYPE', 'ACTOR', 'SUBJECT', 'MESSAGE', 'TIME'];

/** `gc events`: one row per event. */
export function renderEventTable(events: readonly CityEvent[], maxColumns?: number): string {
  if (events.length === 0) return 'No events.\n';
  const rows = events.map((event) => [
    String(event.seq),
    event.type,
    event.actor,
    event.subject ?? '',
    cutTo(onePlainLine(event.message ?? ''), MESSAGE_COLUMNS, '...'),
    clockTime(event.ts),
  ]);
  return renderTable(HEADER, rows, maxColumns === undefined ? {} : { maxColumns, shrinks: [4, 3] });
}

/** One event as one line of JSON. */
export const eventLine = (event: CityEvent): string => `${JSON.stringify(event)}\n`;
