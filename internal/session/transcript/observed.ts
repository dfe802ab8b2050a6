/**
 * One thing that a transcript tells of a conversation, for whoever follows it. `id` is unique over all conversations of
 * that program and stays with the entry when its conversation is copied into another file.
 */
export type ObservedEntry =
  /** Somebody said something to the agent. */
  | { readonly kind: 'prompt'; readonly id: string; readonly at: number; readonly text: string }
  | {
      readonly kind: 'tool-call';
      readonly id: string;
      readonly callId: string;
      readonly name: string;
      readonly input: unknown;
    }
  | {
      readonly kind: 'tool-result';
      readonly id: string;
      readonly callId: string;
      readonly error: boolean;
      readonly text: string;
    }
  /** The agent said something. `ends`: with it the turn is over. */
  | { readonly kind: 'answer'; readonly id: string; readonly text: string; readonly ends: boolean }
  /** What one request to the model took; a later one with the same id replaces it. */
  | {
      readonly kind: 'usage';
      readonly id: string;
      /** `''`: the one that was named last. */
      readonly model: string;
      readonly input: number;
      readonly output: number;
      readonly reasoning: number;
    }
  /** From here on this model answers. */
  | { readonly kind: 'model'; readonly id: string; readonly model: string }
  /** The turn is over, as far as it was not already. */
  | { readonly kind: 'turn-end'; readonly id: string; readonly how: 'completed' | 'interrupted' }
  /** The program gave up on the turn. */
  | { readonly kind: 'failure'; readonly id: string; readonly text: string }
  | {
      readonly kind: 'compacted';
      readonly id: string;
      readonly trigger: string;
      readonly tokensBefore: number | undefined;
    };

/** An entry with its place in the file, bytes. */
export interface PlacedEntry {
  readonly entry: ObservedEntry;
  /** When it was said, milliseconds since the epoch; 0 when the file does not tell. */
  readonly at: number;
  /** Where its line begins. */
  readonly offset: number;
}

/** How far a file was read. Everything before `offset` is whole lines. */
export interface TranscriptCursor {
  readonly offset: number;
  /** Proves that it is the same file with the same beginning: a digest of what stands right before `offset`. */
  readonly anchor: string;
}

export interface ObservedChunk {
  readonly entries: readonly PlacedEntry[];
  readonly cursor: TranscriptCursor;
  /** The file is not what was read before: it begins from the start again. */
  readonly restarted: boolean;
  /** There is more than one pass may read. */
  readonly more: boolean;
}
