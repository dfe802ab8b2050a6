import type { RuleScope } from '../session/permission-rules.ts';
import type { PermissionRule } from './rule-api.ts';

export interface OpenQuestion {
  /** `q7`: what it is answered by, unique in the city for ever. */
  readonly id: string;
  /** What people call the session. */
  readonly session: string;
  readonly session_id: string;
  readonly session_name: string;
  readonly request_id: string;
  /** `approval`, `question` ... */
  readonly kind: string;
  readonly prompt: string;
  readonly options: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  /** `screen`, `hook`, `protocol`. */
  readonly source: string;
  /** What rules look at; `''` where it is about no tool. */
  readonly tool: string;
  readonly input: string;
  /** RFC 3339. */
  readonly asked_at: string;
  /** RFC 3339: answered by itself then. */
  readonly expires_at?: string;
}

export interface OpenQuestions {
  readonly items: readonly OpenQuestion[];
  /** Sessions that could not be looked at. */
  readonly unknown: readonly { readonly session: string; readonly reason: string }[];
}

export interface AnswerRequest {
  /** The question that is meant, `q7` or the provider's own id; absent: whichever is open. */
  readonly request_id?: string;
  /** A number, an option or its beginning, or `approve`, `approve_always`, `deny`. */
  readonly action: string;
  /** What the agent is told besides, as a message. */
  readonly text?: string;
  /** For longer than this once: the same is answered so without a person. Default: once. */
  readonly scope?: 'once' | RuleScope;
  /** Where it was said: `cli` ...; default `http`. */
  readonly channel?: string;
}

export interface AnswerReply {
  readonly session: string;
  readonly request_id: string;
  /** As it was given to the agent. */
  readonly choice: string;
  readonly id: string;
  /** The standing answer that was made with it. */
  readonly rule?: PermissionRule;
  /** Decided, and something about it is not done yet, or could not be. */
  readonly notice?: string;
}
