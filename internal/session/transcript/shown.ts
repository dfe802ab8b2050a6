import type { ObservedEntry, PlacedEntry } from './observed.ts';
import type { TranscriptEntry, TranscriptPart } from './transcript-reader.ts';

const TYPES = {
  prompt: 'user',
  'tool-result': 'user',
  answer: 'assistant',
  'tool-call': 'assistant',
  failure: 'system',
  compacted: 'system',
} as const;

type ShownEntry = Extract<ObservedEntry, { kind: keyof typeof TYPES }>;

const isShown = (entry: ObservedEntry): entry is ShownEntry => Object.hasOwn(TYPES, entry.kind);

/** What of a conversation is shown, oldest first. An entry that was written again counts as it was written last. */
export function shownEntries(placed: readonly PlacedEntry[]): readonly TranscriptEntry[] {
  const shown = new Map<string, TranscriptEntry>();
  for (const { entry, at } of placed) {
    if (isShown(entry)) shown.set(markOf(entry), shownEntry(entry, at));
  }
  return [...shown.values()];
}

function markOf(entry: ShownEntry): string {
  const call = entry.kind === 'tool-call' || entry.kind === 'tool-result' ? entry.callId : '';
  return JSON.stringify([entry.kind, entry.id, call]);
}

function shownEntry(entry: ShownEntry, at: number): TranscriptEntry {
  return {
    id: entry.id,
    type: TYPES[entry.kind],
    at: timeText(at),
    compactBoundary: entry.kind === 'compacted',
    parts: entry.kind === 'compacted' ? [] : [shownPart(entry)],
  };
}

/** Files may name times that no date can show. */
function timeText(at: number): string {
  const date = new Date(at);
  return at === 0 || Number.isNaN(date.getTime()) ? '' : date.toISOString();
}

function shownPart(entry: Exclude<ShownEntry, { kind: 'compacted' }>): TranscriptPart {
  switch (entry.kind) {
    case 'tool-call':
      return { kind: 'tool-use', id: entry.callId, name: entry.name, input: entry.input };
    case 'tool-result':
      return { kind: 'tool-result', id: entry.callId, error: entry.error, text: entry.text };
    case 'prompt':
    case 'answer':
    case 'failure':
      return { kind: 'text', text: entry.text };
  }
}

/** From the `tail`-th compaction before the end on; 0: everything. */
export function tailOf(entries: readonly TranscriptEntry[], tail: number): readonly TranscriptEntry[] {
  if (tail <= 0) return entries;
  const boundaries = entries.flatMap((entry, index) => (entry.compactBoundary ? [index] : []));
  const from = boundaries.at(-tail);
  return from === undefined ? entries : entries.slice(from);
}
