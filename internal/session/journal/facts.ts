/**
 * What is known of a fact and by whom, strongest first: the agent's own protocol, a hook of its program, its transcript,
 * its screen. `runtime`: the provider saw its process; `record`: the city itself did or decided it; `none`: nothing proves it.
 */
export type Evidence = 'protocol' | 'hook' | 'transcript' | 'screen' | 'runtime' | 'record' | 'none';

/** In every fact of a city. */
export interface Told {
  /** When it happened, RFC 3339. When it was written down stands beside the log. */
  readonly at: string;
  /** Who did it: a person or an agent by name, `gc` for what the city does by itself. */
  readonly actor: string;
  readonly evidence: Evidence;
}

/** A text as a log keeps it: whole up to `INLINE_TEXT_BYTES`, else its beginning, its size and its SHA-256 (hex). */
export interface KeptText {
  readonly text: string;
  /** UTF-8 bytes of the whole text. */
  readonly bytes: number;
  /** Present when `text` is only the beginning. */
  readonly sha256?: string;
}

export interface Exit {
  readonly code?: number;
  readonly signal?: string;
}

/**
 * What a city tells the log of one of its sessions, as `{"gascity": fact}` in the detail of a lifecycle record without a
 * kind. `kind` names the shape; `reason` is for people, `cause` one of a few words of ours. Times are RFC 3339, digests
 * hex. Fields that say nothing are absent.
 */
export type CityFact = Told & (LifeFact | NudgeFact | AnswerFact);

export type LifeFact =
  /** The session has a record, and with it this log. */
  | {
      readonly kind: 'created';
      readonly record: string;
      readonly session_name: string;
      readonly agent: string;
      readonly template: string;
      readonly origin: string;
      readonly work_dir: string;
    }
  /** A new incarnation: its process is about to be started. Never the token itself. */
  | {
      readonly kind: 'starting';
      readonly generation: number;
      /** First 16 hex digits of the SHA-256 of the instance token. */
      readonly instance: string;
      readonly provider: string;
      /** First 16 hex digits of the SHA-256 of the command. */
      readonly command_sha256: string;
      readonly work_dir: string;
      /** The key of the conversation that it is given; absent where the program takes none. */
      readonly conversation?: string;
      /** Grows when a conversation begins anew. The log goes on. */
      readonly continuation_epoch: number;
      /** Why that is a new conversation although nobody asked for one. */
      readonly new_conversation?: string;
      readonly reason: string;
    }
  /** Ready. */
  | { readonly kind: 'started'; readonly generation: number; readonly reason: string }
  /** Its start waits for a person's answer. */
  | { readonly kind: 'asks'; readonly question: string }
  /** It lived without a record of this life, and is taken over as it is: a new incarnation. */
  | {
      readonly kind: 'adopted';
      readonly generation: number;
      readonly instance: string;
      readonly reason: string;
    }
  /** A start was asked for, or what held it down was taken away. */
  | { readonly kind: 'woken'; readonly from: string; readonly reason: string }
  /** A person's hold was lifted. */
  | { readonly kind: 'resumed'; readonly reason: string }
  /** Held down until a person wakes it. */
  | { readonly kind: 'suspended'; readonly reason: string }
  | { readonly kind: 'draining'; readonly cause: string; readonly reason: string }
  | { readonly kind: 'undrained'; readonly reason: string }
  /** What it runs is no longer what the config says. */
  | { readonly kind: 'drifted'; readonly reason: string }
  /** Its end is meant; it follows. */
  | { readonly kind: 'stopping'; readonly cause: string }
  /** The life ended because it was meant to. `cause` is that of `stopping` or `draining`. */
  | {
      readonly kind: 'stopped' | 'killed' | 'drained';
      readonly generation: number;
      readonly cause: string;
      readonly reason: string;
    }
  /** The life ended by itself, or never became ready. */
  | {
      readonly kind: 'crashed';
      readonly generation: number;
      readonly reason: string;
      readonly exit?: Exit;
      readonly last_lines?: string;
      readonly next_try_at?: string;
      /** The conversation that the program said it does not know. */
      readonly conversation_dropped?: string;
    }
  /** The life went together with all others of its provider: nobody's fault. */
  | { readonly kind: 'lost'; readonly generation: number; readonly reason: string }
  | { readonly kind: 'quarantined'; readonly until: string; readonly reason: string }
  | { readonly kind: 'renamed'; readonly title?: string; readonly name?: string }
  /** The record is closed; the log stays readable. */
  | { readonly kind: 'closed'; readonly reason: string }
  | { readonly kind: 'reopened'; readonly reason: string };

/** `id` is the message's own; what happened to it carries the same. */
export type NudgeFact =
  /** Somebody told the session something: what, before any of it is typed. */
  | ({
      readonly kind: 'nudged';
      readonly id: string;
      readonly source: string;
      readonly delivery: string;
    } & KeptText)
  /** It is being typed, or handed to the agent's hook. From here on it may have arrived. */
  | {
      readonly kind: 'typed';
      readonly id: string;
      readonly attempt: number;
      readonly way: 'terminal' | 'hook';
    }
  /** It took it; `evidence` says what shows that, `none` when it was sent and nothing shows it. */
  | { readonly kind: 'accepted'; readonly id: string; readonly attempts: number; readonly reason?: string }
  /** It was typed and provably not submitted: it waits again. */
  | { readonly kind: 'returned'; readonly id: string; readonly reason: string }
  | {
      readonly kind: 'refused' | 'expired' | 'dead';
      readonly id: string;
      readonly attempts: number;
      readonly reason: string;
    };

/**
 * What the agent asks people. `id` is the provider's, `interaction` (`q7`) that of the city, which no other occurrence
 * has. What the agent says of it itself, over its protocol, is a fact of its own.
 */
export type AnswerFact =
  | {
      readonly kind: 'asked';
      readonly id: string;
      readonly interaction: string;
      readonly tool?: string;
      readonly reason: string;
    }
  /** Decided, once: by `actor`, or for `cause` by a rule or by time. Whether the agent got it is told by what follows. */
  | {
      readonly kind: 'answered';
      readonly id: string;
      readonly interaction?: string;
      readonly verdict?: string;
      readonly cause?: string;
      /** A rule's id, where one decided. */
      readonly by?: string;
      readonly reason: string;
    }
  | {
      readonly kind: 'applied';
      readonly id: string;
      readonly interaction: string;
      readonly ok: boolean;
      readonly error?: string;
      readonly reason: string;
    }
  /** Nobody decided here: it was answered at the terminal, or the life that asked is over. */
  | {
      readonly kind: 'withdrawn';
      readonly id: string;
      readonly interaction: string;
      readonly reason: string;
    };

/** About the observed conversation, in the form that other writers of logs use for it: the key says what it is. */
export interface ConversationFacts {
  /** The agent program shortened what it remembers. */
  readonly compacted: {
    readonly conversation: string;
    readonly trigger?: string;
    readonly tokens_before?: number;
    readonly evidence: Evidence;
  };
  /** An entry of the transcript says something else than when it was first read. What was read first stands. */
  readonly transcript_changed: {
    readonly conversation: string;
    readonly entry: string;
    readonly evidence: Evidence;
  };
  /** The agent asks whether it may do something, and is not going on. */
  readonly asked: {
    readonly conversation: string;
    readonly id: string;
    /** The call that it is about. */
    readonly call?: string;
    readonly title: string;
    readonly detail?: string;
    readonly options: readonly { readonly id: string; readonly name: string; readonly kind: string }[];
    readonly at: string;
    readonly evidence: Evidence;
  };
  /** What it was answered, or why it was not. Who answered is told by the city, under the same id. */
  readonly answered: {
    readonly conversation: string;
    readonly id: string;
    /** `client`: somebody answered; else what made the question void. */
    readonly by: string;
    /** The id of the option that was taken; absent: none was. */
    readonly option?: string;
    readonly reason: string;
    readonly at: string;
    readonly evidence: Evidence;
  };
  /** So many entries of the conversation were gone before they could be read. */
  readonly missed: {
    readonly conversation: string;
    readonly entries: number;
    readonly evidence: Evidence;
  };
}

/** Texts up to this size stand in the log whole. */
export const INLINE_TEXT_BYTES = 65_536;

/** The key of a session record that names its log. */
export const LOG_UID_KEY = 'log_uid';

/** Why the conversation of a session cannot be gone on with; until its next start is complete. */
export const NEW_CONVERSATION_KEY = 'new_conversation';

/** Who asked for the end that is meant, where somebody did; of one life, beside its `stop_intent`. */
export const STOP_BY_KEY = 'stop_by';
