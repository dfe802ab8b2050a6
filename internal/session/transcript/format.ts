import type { Transcript, TranscriptEntry, TranscriptPart } from './transcript-reader.ts';
import { withoutSequences } from './values.ts';

/** One line of `gc session logs`, before it is laid out. */
export interface TranscriptLine {
  /** RFC 3339, `''` when unknown. */
  readonly at: string;
  /** `user`, `assistant`, `system`, `result`, or `compacted` for the mark between segments. */
  readonly type: string;
  readonly text: string;
}

export const COMPACTED_MARK = '── context compacted ──';

/** What a conversation says, entry by entry. Source: `gc session logs`. */
export function transcriptLines(transcript: Transcript): readonly TranscriptLine[] {
  return transcript.entries.flatMap(linesOf);
}

function linesOf(entry: TranscriptEntry): readonly TranscriptLine[] {
  if (entry.compactBoundary) return [{ at: entry.at, type: 'compacted', text: COMPACTED_MARK }];
  return entry.parts.flatMap((part) => {
    const text = textOf(part);
    return text === '' ? [] : [{ at: entry.at, type: entry.type, text }];
  });
}

function textOf(part: TranscriptPart): string {
  switch (part.kind) {
    case 'text':
      return part.text;
    case 'tool-use':
      return `tool_use: ${part.name}`;
    case 'tool-result':
      return part.error ? 'tool_result: error' : '';
    case 'attachment':
      return `[${part.what}]`;
    case 'thinking':
      return '';
  }
}

/** `HH:MM:SS [TYPE] text`, in the machine's time zone. */
export function formatTranscriptLine(line: TranscriptLine): string {
  if (line.type === 'compacted') return COMPACTED_MARK;
  return `${clockTime(line.at)}[${line.type.toUpperCase()}] ${printable(line.text)}`;
}

function clockTime(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return '';
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())} `;
}

/** What an agent wrote must not move the reader's cursor. */
function printable(text: string): string {
  return withoutSequences(text).replace(/[\x00-\x08\x0b-\x1f\x7f]/g, '');
}
