import { canonicalJson } from '../../protocol/canonical-json.ts';
import { textOf } from '../../protocol/events.ts';
import {
  EventKind,
  type Message,
  type ToolCall,
  type ToolResult,
  type Usage,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import type { ApprovalDecision } from './gate-grammar.ts';
import { TurnError } from './turn.ts';

/** What the log has of a model call that a harness makes again. */
export type RecordedModel =
  | { readonly kind: 'answered'; readonly message: Message }
  /** The record ends with the call. */
  | { readonly kind: 'cut' }
  /** It was never answered, and the turn went on. */
  | { readonly kind: 'lost' };

export type RecordedTool =
  | { readonly kind: 'answered'; readonly result: ToolResult }
  | { readonly kind: 'cut'; readonly call: ToolCall; readonly seq: number }
  | { readonly kind: 'lost' };

export interface RecordedGate {
  readonly call: ToolCall;
  readonly decision: ApprovalDecision;
  readonly receipt: ToolResult | undefined;
}

/**
 * The effects that a turn recorded, served in order to the harness that makes them again. What it does must be what it did.
 * Source: agentsessions.v1 controller, reconstruction.
 * @throws TurnError `diverged` from everything but `done`
 */
export class RecordedEffects {
  readonly #effects: readonly ChainedRecord[];
  #next = 0;

  constructor(effects: readonly ChainedRecord[]) {
    this.#effects = effects;
  }

  get done(): boolean {
    return this.#next >= this.#effects.length;
  }

  /** What was left over, for a message. */
  leftOver(): string {
    const record = this.#effects[this.#next];
    return record ? `record ${record.seq} (${nameOf(record)})` : 'nothing';
  }

  model(inputHash: string): RecordedModel {
    const record = this.#take('a model call');
    const { body, kind } = record.event;
    if (body.case !== 'model' || kind !== EventKind.EVENT_MODEL_CALL) diverged(record, 'a model call');
    if (body.value.inputHash !== inputHash)
      diverged(record, `a model call with other input (${inputHash.slice(0, 12)})`);
    const answer = this.#effects[this.#next];
    if (!answer) return { kind: 'cut' };
    if (answer.event.kind !== EventKind.EVENT_OUTPUT || answer.event.body.case !== 'message')
      return { kind: 'lost' };
    this.#next += 1;
    return { kind: 'answered', message: answer.event.body.value };
  }

  output(text: string): void {
    const record = this.#take('an output');
    const { body, kind } = record.event;
    if (body.case !== 'message' || kind !== EventKind.EVENT_OUTPUT) diverged(record, 'an output');
    if (textOf(body.value) !== text) diverged(record, 'another output');
  }

  usage(usage: Usage): void {
    const record = this.#take('usage');
    const { body } = record.event;
    if (body.case !== 'usage') diverged(record, 'usage');
    const was = body.value;
    const isSame =
      was.model === usage.model &&
      was.inputTokens === usage.inputTokens &&
      was.outputTokens === usage.outputTokens &&
      was.reasoningTokens === usage.reasoningTokens;
    if (!isSame) diverged(record, 'other usage');
  }

  report(result: ToolResult): void {
    const record = this.#take('a result');
    const { body } = record.event;
    if (body.case !== 'result') diverged(record, 'a result');
    if (body.value.id !== result.id) diverged(record, `a result of ${JSON.stringify(result.id)}`);
  }

  tool(call: ToolCall): RecordedTool {
    const { seq, recorded } = this.#call(call);
    const answer = this.#effects[this.#next];
    if (!answer) return { kind: 'cut', call: recorded, seq };
    const { body } = answer.event;
    if (body.case !== 'result' || body.value.id !== call.id) return { kind: 'lost' };
    this.#next += 1;
    return { kind: 'answered', result: body.value };
  }

  /** A gated call is served once a person has decided. */
  gate(call: ToolCall): RecordedGate {
    const { recorded } = this.#call(call);
    this.#take('a request');
    const decided = this.#take('a decision');
    const { body } = decided.event;
    if (body.case !== 'approvalResult') diverged(decided, 'a gated call');
    const receipt = this.#effects[this.#next];
    if (receipt) this.#next += 1;
    return {
      call: recorded,
      decision: { seq: decided.seq, result: body.value, record: decided },
      receipt: receipt?.event.body.case === 'result' ? receipt.event.body.value : undefined,
    };
  }

  #call(call: ToolCall): { readonly seq: number; readonly recorded: ToolCall } {
    const record = this.#take('a tool call');
    const { body } = record.event;
    const wanted = `tool call ${JSON.stringify(call.id)} of ${JSON.stringify(call.tool)}`;
    if (body.case !== 'tool') diverged(record, wanted);
    if (!isSameCall(body.value, call)) diverged(record, `${wanted} with another identity`);
    return { seq: record.seq, recorded: body.value };
  }

  #take(what: string): ChainedRecord {
    const record = this.#effects[this.#next];
    if (!record) throw new TurnError('diverged', `the harness makes ${what} that was not recorded`);
    this.#next += 1;
    return record;
  }
}

function isSameCall(a: ToolCall, b: ToolCall): boolean {
  return (
    a.id === b.id &&
    a.tool === b.tool &&
    a.mediation === b.mediation &&
    a.idempotencyKey === b.idempotencyKey &&
    canonicalJson(a.args ?? {}) === canonicalJson(b.args ?? {})
  );
}

function diverged(record: ChainedRecord, wanted: string): never {
  throw new TurnError(
    'diverged',
    `record ${record.seq} is ${nameOf(record)}; the harness now makes ${wanted}`,
    {
      next: 'run the turn with the version of the harness that recorded it, or begin a new turn',
    },
  );
}

function nameOf({ event }: ChainedRecord): string {
  return EventKind[event.kind] ?? `kind ${event.kind}`;
}
