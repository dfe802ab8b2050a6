import type { ObservedEntry, PlacedEntry } from './observed.ts';
import type {
  Transcript,
  TranscriptEntry,
  TranscriptPart,
  TranscriptReadOptions,
} from './transcript-reader.ts';

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
export function tailOf<T extends { readonly compactBoundary: boolean }>(
  entries: readonly T[],
  tail: number,
): readonly T[] {
  if (tail <= 0) return entries;
  const boundaries = entries.flatMap((entry, index) => (entry.compactBoundary ? [index] : []));
  const from = boundaries.at(-tail);
  return from === undefined ? entries : entries.slice(from);
}

/** The end of a conversation, of which these entries are the whole. */
export function transcriptOf(
  file: string,
  all: readonly TranscriptEntry[],
  { tail, hasBranches = false, badLines }: TranscriptReadOptions & TranscriptFaults,
): Transcript {
  const entries = tailOf(all, tail);
  return {
    file,
    entries,
    hasOlder: entries.length < all.length,
    totalEntries: all.length,
    compactions: all.filter((entry) => entry.compactBoundary).length,
    hasBranches,
    badLines,
  };
}

interface TranscriptFaults {
  readonly hasBranches?: boolean;
  readonly badLines: number;
}
