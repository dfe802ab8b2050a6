import type { LogEntry } from '../../../internal/controller/city-api.ts';
import { plainText } from './plain.ts';
import { clockTime } from './times.ts';

/** One entry of a conversation: `HH:MM:SS [TYPE] text`. */
export function logText(entry: LogEntry): string {
  const text = plainText(entry.text).trimEnd();
  if (entry.type === 'compacted') return '── context compacted ──\n';
  return `${clockTime(entry.at)} [${entry.type.toUpperCase()}] ${text}\n`;
}
