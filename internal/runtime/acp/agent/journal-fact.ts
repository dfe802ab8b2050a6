/** Of the form of the lines. Readers refuse others. */
export const JOURNAL_VERSION = 1;

/**
 * One line of a session's conversation journal: JSON with `v` (its form), `seq` (rising by one, also over lives that go on with one
 * conversation; a gap says that older lines were set aside), `at` (milliseconds since the epoch), `conversation` (the
 * agent's id of it), `cwd`, `turn` (prompts handed over in this life) and one fact. Texts are whole: a long one comes in
 * parts with one `message`, all but the last marked `continues`. Blank and cut lines mean that a writer was killed.
 */
export interface JournalLine {
  readonly v: typeof JOURNAL_VERSION;
  readonly seq: number;
  readonly at: number;
  readonly conversation: string;
  readonly cwd: string;
  readonly turn: number;
  readonly fact: JournalFact;
}

export type JournalFact =
  | { readonly kind: 'opened'; readonly how: 'new' | 'loaded' | 'resumed'; readonly agent: string }
  | { readonly kind: 'prompt'; readonly message: string; readonly text: string; readonly continues?: true }
  | {
      readonly kind: 'message' | 'thought';
      readonly message: string;
      readonly text: string;
      readonly continues?: true;
    }
  | {
      readonly kind: 'tool-started';
      readonly call: string;
      readonly title: string;
      readonly tool?: string;
      /** JSON, cut. */
      readonly input?: string;
    }
  | {
      readonly kind: 'tool-finished';
      readonly call: string;
      readonly title: string;
      readonly failed: boolean;
      /** Cut. */
      readonly output?: string;
    }
  | {
      readonly kind: 'asked';
      readonly question: string;
      readonly call: string;
      readonly title: string;
      readonly detail: string;
      readonly options: readonly { readonly id: string; readonly name: string; readonly kind: string }[];
    }
  | {
      readonly kind: 'answered';
      readonly question: string;
      readonly by: AnsweredBy;
      readonly option?: string;
    }
  /** A stop reason of the protocol, or `error: ...`. */
  | { readonly kind: 'turn-ended'; readonly stop: string }
  /** Nothing more comes from this life of the agent. */
  | { readonly kind: 'closed'; readonly why: string };

/** `client`: an answer came, with an option or without; `cancel`: its turn was cancelled; the rest: it was never answered. */
export type AnsweredBy = 'client' | 'cancel' | 'turn-ended' | 'agent-gone' | 'removed';
