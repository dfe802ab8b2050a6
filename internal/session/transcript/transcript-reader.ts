import type { ObservedChunk, PlacedEntry, TranscriptCursor } from './observed.ts';

/** One entry of a conversation, as far as it is shown. */
export interface TranscriptEntry {
  readonly id: string;
  readonly type: 'user' | 'assistant' | 'system' | 'result';
  /** RFC 3339, `''` when the file does not say. */
  readonly at: string;
  /** The conversation was shortened here. */
  readonly compactBoundary: boolean;
  readonly parts: readonly TranscriptPart[];
}

export type TranscriptPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'thinking'; readonly text: string }
  | { readonly kind: 'tool-use'; readonly id: string; readonly name: string; readonly input: unknown }
  | { readonly kind: 'tool-result'; readonly id: string; readonly error: boolean; readonly text: string }
  /** A picture or a document. */
  | { readonly kind: 'attachment'; readonly what: string };

export interface Transcript {
  readonly file: string;
  /** Oldest first. */
  readonly entries: readonly TranscriptEntry[];
  /** Entries of the conversation before those returned. */
  readonly hasOlder: boolean;
  readonly totalEntries: number;
  readonly compactions: number;
  /** The conversation was rewound somewhere: only the branch that is talked in is returned. */
  readonly hasBranches: boolean;
  /** Lines that are no entries: damaged, or longer than a line may be. */
  readonly badLines: number;
}

export interface TranscriptPlace {
  /** The session's name in the runtime; only what the session host writes is found by it. */
  readonly session?: string;
  /** Absolute work dir of the session. */
  readonly workDir: string;
  /** Conversation keys, the current one first; empty when the session has none. */
  readonly keys: readonly string[];
  /** No other session of the same agent program has this work dir: its newest transcript is this session's. */
  readonly aloneInWorkDir: boolean;
  /** Without a key, only what was written since counts; milliseconds since the epoch. */
  readonly since?: number;
  /** How the first prompt of this session begins: tells its conversation from others in the same folder. */
  readonly beacon?: string;
}

export interface TranscriptReadOptions {
  /** Segments between compactions, counted from the end; 0: everything. */
  readonly tail: number;
}

/** Reads what an agent program writes about its conversations. One implementation per program. */
export interface TranscriptReader {
  /** Kinds of agent preset it reads for. */
  readonly family: string;
  /** What it reads was noted by whoever speaks the agent's protocol: entries in the order in which they happened. */
  readonly evidence?: 'protocol';
  /** Its entries come in the order in which they happened, and their offsets are no bytes. */
  readonly ordered?: true;
  /** The session's transcript file, `undefined` when there is none yet. */
  locate(place: TranscriptPlace): Promise<string | undefined>;
  /** @throws GcError `transcript-unreadable` */
  read(file: string, options: TranscriptReadOptions): Promise<Transcript>;
  /** The id of the conversation that a file holds. */
  conversationOf(file: string): string;
  /**
   * What was written since the cursor, a bounded piece of it. `undefined`: the file is not there.
   * @throws GcError `transcript-unreadable`
   */
  observe(file: string, since: TranscriptCursor | undefined): Promise<ObservedChunk | undefined>;
  /**
   * What was written last: a piece of bounded size, whatever the length of the conversation. `undefined`: not there.
   * @throws GcError `transcript-unreadable`
   */
  tail(file: string): Promise<TranscriptTail | undefined>;
}

export interface TranscriptTail {
  /** Oldest first. */
  readonly entries: readonly PlacedEntry[];
  /** The program does not say when a turn is over: an answer that nothing follows is taken as its end. */
  readonly answersEnd?: true;
}
