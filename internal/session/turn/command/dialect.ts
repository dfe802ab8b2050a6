import type { Ids } from '../../../platform/ids.ts';
import type { Environment } from '../../../platform/paths.ts';
import type { Part } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { JsonObject } from '../../../protocol/protobuf.ts';
import type { CommandKind } from './command-spec.ts';
import type { Recorded } from './recorded.ts';

/** A tool call as the program tells it. `at`: the message of the conversation that it stands in, '' where the program names none. */
export interface CallEffect {
  readonly kind: 'call';
  readonly at: string;
  readonly id: string;
  readonly tool: string;
  readonly args: JsonObject;
}

export interface ResultEffect {
  readonly kind: 'result';
  readonly at: string;
  readonly id: string;
  readonly content: readonly Part[];
  readonly output?: JsonObject;
  readonly isError: boolean;
}

/** Something the program said, whole. */
export interface TextEffect {
  readonly kind: 'text';
  readonly at: string;
  readonly text: string;
}

export interface UsageEffect {
  readonly kind: 'usage';
  readonly model: string;
  readonly input: number;
  readonly output: number;
  readonly reasoning: number;
  /** The numbers are those of the whole conversation so far, not of this turn. */
  readonly cumulative: boolean;
}

/** What one line of a program's output means. */
export type ProgramEffect =
  | CallEffect
  | ResultEffect
  | TextEffect
  | UsageEffect
  | { readonly kind: 'conversation'; readonly conversation: string }
  | { readonly kind: 'delta'; readonly text: string }
  /** Calls that the program was not allowed to make. */
  | { readonly kind: 'denied'; readonly calls: readonly { readonly id: string; readonly tool: string }[] }
  /** The program says that its turn is over. `failure`: what it says went wrong. */
  | { readonly kind: 'end'; readonly failure?: string; readonly lost?: boolean }
  /** A line that should have been JSON. */
  | { readonly kind: 'broken' };

export interface OutputParser {
  line(text: string): readonly ProgramEffect[];
  /** The program ended with this code. */
  exit(code: number | undefined): readonly ProgramEffect[];
}

/** Which conversation of the program a turn goes on in. */
export type RunMode =
  /** `conversation`: chosen by us; absent where the program chooses. */
  | { readonly kind: 'new'; readonly conversation?: string }
  | { readonly kind: 'resume'; readonly conversation: string }
  /** The program itself branches off. */
  | {
      readonly kind: 'branch';
      readonly conversation: string;
      readonly parent: string;
      readonly message: string;
    };

/** Where a program's conversations are found. */
export interface Place {
  readonly workDir: string;
  readonly env: Environment;
}

/** What happened in a conversation after a message, as its transcript tells, in the order it was written. */
export interface Tail {
  readonly happened: readonly Happened[];
  /** The last thing that happened ends a turn. */
  readonly complete: boolean;
  /** The last message of the conversation, '' when it has none. */
  readonly last: string;
  /** The message to begin after was there; else `happened` is empty. */
  readonly found: boolean;
}

export type Happened =
  | { readonly kind: 'prompt'; readonly at: string; readonly text: string }
  | CallEffect
  | ResultEffect
  | TextEffect;

/** Reads, and never changes, what a program keeps of its conversations; only a new one is ever written. */
export interface Conversations {
  /** An id for a new conversation, chosen before the program runs; `undefined` where only the program can choose. */
  choose(ids: Ids): string | undefined;
  /** `undefined`: there is no such conversation. `after` '' : from its beginning. */
  tail(place: Place, conversation: string, after: string): Promise<Tail | undefined>;
  /** Gives calls of the transcript the ids under which they were told live, where the program has two for each. */
  align?(happened: readonly Happened[], recorded: Recorded): readonly Happened[];
  /**
   * Makes ready a conversation that knows the parent's up to `message` and nothing later, and answers how it is gone on with.
   * @throws CommandError `command-conversation-lost`
   */
  branch(place: Place, parent: string, message: string, ids: Ids): Promise<RunMode>;
}

export interface Dialect {
  readonly kind: CommandKind;
  /** Of our reading of the program, not of the program: turns resume across its updates. */
  readonly version: string;
  readonly forkSafe: boolean;
  /** Absent: the program remembers nothing between turns. */
  readonly conversations?: Conversations;
  /** Of one turn's standard output, unless told; absent where what is printed becomes many records. */
  readonly maxOutputBytes?: number;
  /** May be run without anything to say. */
  readonly acceptsEmptyPrompt: boolean;
  argv(args: readonly string[], mode: RunMode): readonly string[];
  /** Whether a program that ended with these lines does not know its conversation any more; absent where it says so in its output. */
  lost?(lines: readonly string[]): boolean;
  /** @param run differs for each run of one execution: ids that the program gives anew in each run are told apart by it */
  parser(run: number): OutputParser;
}
