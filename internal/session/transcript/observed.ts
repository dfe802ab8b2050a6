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
      /** What the agent itself calls it, for people. */
      readonly title?: string;
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
  /** How many tokens the model takes at most, where the program says it. */
  | { readonly kind: 'window'; readonly id: string; readonly tokens: number }
  /** From here on this model answers. */
  | { readonly kind: 'model'; readonly id: string; readonly model: string }
  /** The turn is over, as far as it was not already. `unknown`: nothing more comes of it, and nobody says why. */
  | { readonly kind: 'turn-end'; readonly id: string; readonly how: 'completed' | 'interrupted' | 'unknown' }
  /** The program gave up on the turn. */
  | { readonly kind: 'failure'; readonly id: string; readonly text: string }
  | {
      readonly kind: 'compacted';
      readonly id: string;
      readonly trigger: string;
      readonly tokensBefore: number | undefined;
    }
  | AskedEntry
  | AnsweredEntry
  /** So many entries were gone before anybody could read them. */
  | { readonly kind: 'missed'; readonly id: string; readonly count: number };

/** The agent asks whether it may do something. */
export interface AskedEntry {
  readonly kind: 'asked';
  readonly id: string;
  readonly at: number;
  /** Its answer carries the same. */
  readonly question: string;
  /** The call that it is about. */
  readonly callId: string;
  readonly title: string;
  readonly detail: string;
  readonly options: readonly QuestionOption[];
}

export interface QuestionOption {
  readonly id: string;
  readonly name: string;
  readonly kind: string;
}

/** What the agent was answered. */
export interface AnsweredEntry {
  readonly kind: 'answered';
  readonly id: string;
  readonly at: number;
  readonly question: string;
  /** `client`: somebody answered; else what made the question void. */
  readonly by: string;
  /** The id of the option; `undefined`: none was taken. */
  readonly option: string | undefined;
}

/** An entry with its place in the file. */
export interface PlacedEntry {
  readonly entry: ObservedEntry;
  /** When it was said, milliseconds since the epoch; 0 when the file does not tell. */
  readonly at: number;
  /** Where its line begins; the number of the line where the file has numbered ones. */
  readonly offset: number;
}

/** How far a file was read, as `PlacedEntry.offset` counts. Everything before it is whole lines. */
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
  /** Lines of this piece that are no entries: damaged, or longer than a line may be. */
  readonly badLines?: number;
}
