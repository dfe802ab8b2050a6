import { fileURLToPath } from 'node:url';

/** One thing that the scripted agent does. What a request of its own is answered with it says aloud: `[read] {...}`. */
export type AgentStep =
  /** Text of the answer, repeated, then cut into this many chunks. */
  | { readonly say: string; readonly times?: number; readonly chunks?: number }
  | { readonly think: string }
  /** A `session/update` as it goes over the wire: tool calls, plans, modes. */
  | { readonly update: Readonly<Record<string, unknown>> }
  /** Asks for permission: `[permission] {"outcome":...}`. The options are yes, always, no when not given. */
  | {
      readonly ask: {
        readonly title?: string;
        readonly toolCall?: Readonly<Record<string, unknown>>;
        readonly options?: readonly { optionId: string; name: string; kind: string }[];
      };
    }
  | { readonly readFile: { readonly path: string; readonly line?: number; readonly limit?: number } }
  | { readonly writeFile: { readonly path: string; readonly content: string } }
  /** Makes a terminal and asks in this order; `wait`, `output`, `release` when not given. */
  | {
      readonly terminal: {
        readonly command: string;
        readonly args?: readonly string[];
        readonly cwd?: string;
        readonly env?: readonly { name: string; value: string }[];
        readonly outputByteLimit?: number;
        readonly steps?: readonly ('wait' | 'output' | 'kill' | 'release')[];
      };
    }
  | { readonly request: { readonly method: string; readonly params?: Readonly<Record<string, unknown>> } }
  /** A request whose answer is not waited for. */
  | {
      readonly requestUnanswered: {
        readonly method: string;
        readonly params?: Readonly<Record<string, unknown>>;
      };
    }
  /** A message of any form, `jsonrpc` added. */
  | { readonly notify: Readonly<Record<string, unknown>> }
  | { readonly sleepMs: number }
  | { readonly waitForFile: string }
  | { readonly touch: string }
  /** Goes on when the turn is cancelled. */
  | { readonly untilCancelled: true }
  /** Bytes on standard output, nothing added. */
  | { readonly raw: string }
  | { readonly bigLine: number }
  | { readonly flood: { readonly count: number; readonly line?: string; readonly say?: string } }
  | { readonly stderr: string }
  | { readonly stopReading: true }
  | { readonly closeOutput: true }
  | { readonly exit: number }
  | { readonly signal: string }
  /** The steps after it, and the answer, never come. */
  | { readonly never: true }
  /** Answers the request at hand now; a second one answers it twice. */
  | { readonly reply: unknown }
  | {
      readonly replyError: { readonly code: number; readonly message: string; readonly data?: unknown };
    };

export interface AgentScript {
  /** Done before any request. */
  readonly start?: readonly AgentStep[];
  /** Done when a request of that method comes, before the ordinary answer; a `reply` replaces it. */
  readonly on?: Readonly<Record<string, readonly AgentStep[]>>;
  /** The first entry whose `when` is in the prompt (absent: any) is done. Without one the agent says `you said: ...`. */
  readonly prompts?: readonly {
    readonly when?: string;
    readonly once?: boolean;
    readonly steps: readonly AgentStep[];
  }[];
  readonly protocolVersion?: number;
  readonly capabilities?: Readonly<Record<string, unknown>>;
  readonly authMethods?: readonly unknown[];
  /** The id of a new conversation. */
  readonly conversation?: string;
  /** A folder for conversations, so that another life of the agent can load them (with the right `capabilities`). */
  readonly store?: string;
  /** What `session/list` answers. */
  readonly listed?: readonly unknown[];
  /** Every line that the agent got is appended to this file. */
  readonly record?: string;
  readonly pidFile?: string;
  readonly ignoresCancel?: boolean;
  readonly ignoresTerm?: boolean;
  /** Does not end with its standard input. */
  readonly outlivesInput?: boolean;
}

const PROGRAM = fileURLToPath(new URL('scripted-agent.mjs', import.meta.url));

/** What starts a scripted agent: its command line, and what has to be in its environment. */
export function scriptedAgent(script: AgentScript): { argv: readonly string[]; env: Record<string, string> } {
  return { argv: [process.execPath, PROGRAM], env: { ACP_SCRIPT: JSON.stringify(script) } };
}
