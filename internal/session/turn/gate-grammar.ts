import {
  type ApprovalResult,
  EventKind,
  Mediation,
  type ToolCall,
  type ToolResult,
  ToolResult_Code,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { TurnError } from './turn.ts';

/** How far a gated call has come, by what the log holds. */
export type ApprovalProgress =
  | { readonly state: 'called' }
  | { readonly state: 'undecided'; readonly requestSeq: number }
  | { readonly state: 'decided'; readonly requestSeq: number; readonly decision: ApprovalDecision }
  | {
      readonly state: 'receipt';
      readonly requestSeq: number;
      readonly decision: ApprovalDecision;
      readonly receiptSeq: number;
    };

export interface ApprovalDecision {
  readonly seq: number;
  readonly result: ApprovalResult;
  /** As it was appended: with its time and who decided. */
  readonly record: ChainedRecord;
}

export interface Gate {
  readonly call: ToolCall;
  readonly callSeq: number;
  progress: ApprovalProgress;
}

/** @throws TurnError `invalid-log` */
export function invalidLog(seq: number, what: string): never {
  throw new TurnError('invalid-log', `record ${seq}: ${what}`, {
    next: 'fork the session at a record before it, or go on in a new one',
  });
}

/** Whether a result says that it follows from a person's decision. */
export function claimsApproval(result: ToolResult): boolean {
  return (
    result.approvalRequestSeq !== 0n ||
    result.approvalDecisionSeq !== 0n ||
    result.code === ToolResult_Code.APPROVAL_DENIED
  );
}

/**
 * Follows the gated calls of one execution: call, request, decision, receipt, and between call and receipt nothing of the
 * execution but errors.
 * Source: agentsessions.v1 approval gate.
 */
export class GateScan {
  readonly #used = new Set<string>();
  readonly #gated = new Set<string>();
  #open: Gate | undefined;
  #last: Gate | undefined;

  get last(): Gate | undefined {
    return this.#last;
  }

  /** @returns the gate that the record opens @throws TurnError `invalid-log` */
  add(record: ChainedRecord): Gate | undefined {
    const { seq, event } = record;
    const { kind, body } = event;
    if (kind === EventKind.EVENT_ERROR) return undefined;
    if (body.case === 'tool' && kind === EventKind.EVENT_TOOL_CALL) return this.#call(seq, body.value);
    if (body.case === 'approval' && kind === EventKind.EVENT_APPROVAL_REQUEST)
      this.#request(seq, body.value.toolCallId);
    else if (body.case === 'approvalResult' && kind === EventKind.EVENT_APPROVAL_RESULT)
      this.#decide(record, body.value);
    else if (body.case === 'result' && kind === EventKind.EVENT_TOOL_RESULT) this.#result(seq, body.value);
    else if (kind === EventKind.EVENT_APPROVAL_REQUEST || kind === EventKind.EVENT_APPROVAL_RESULT)
      invalidLog(seq, 'an approval without content');
    else if (this.#open) invalidLog(seq, `call ${quoted(this.#open.call.id)} has no result yet`);
    return undefined;
  }

  /** The execution has ended: which ids it used need not be remembered. */
  close(): void {
    this.#used.clear();
    this.#gated.clear();
  }

  #call(seq: number, call: ToolCall): Gate | undefined {
    if (this.#open) invalidLog(seq, `another call while ${quoted(this.#open.call.id)} has no result yet`);
    if (this.#gated.has(call.id)) invalidLog(seq, `the id of gated call ${quoted(call.id)} again`);
    const wasUsed = this.#used.has(call.id);
    this.#used.add(call.id);
    if (call.mediation !== Mediation.REQUIRES_APPROVAL) return undefined;
    if (call.id === '' || wasUsed)
      invalidLog(seq, `a gated call with the id ${quoted(call.id)}, not its own`);
    this.#gated.add(call.id);
    this.#open = { call, callSeq: seq, progress: { state: 'called' } };
    this.#last = this.#open;
    return this.#open;
  }

  #request(seq: number, callId: string): void {
    const gate = this.#open;
    if (gate?.call.id !== callId || gate.progress.state !== 'called')
      invalidLog(seq, `a request for ${quoted(callId)}, which does not wait for one`);
    gate.progress = { state: 'undecided', requestSeq: seq };
  }

  #decide(record: ChainedRecord, result: ApprovalResult): void {
    const { seq } = record;
    const gate = this.#open;
    if (gate?.call.id !== result.toolCallId || gate.progress.state !== 'undecided')
      invalidLog(seq, `a decision on ${quoted(result.toolCallId)}, which does not wait for one`);
    const { requestSeq } = gate.progress;
    if (result.requestSeq !== BigInt(requestSeq))
      invalidLog(seq, `a decision on request ${result.requestSeq}, not ${requestSeq}`);
    gate.progress = { state: 'decided', requestSeq, decision: { seq, result, record } };
  }

  #result(seq: number, result: ToolResult): void {
    const gate = this.#open;
    if (!gate) {
      if (claimsApproval(result) || this.#gated.has(result.id))
        invalidLog(seq, `a result of ${quoted(result.id)} that no decision stands behind`);
      return;
    }
    if (gate.progress.state !== 'decided')
      invalidLog(seq, `a result while ${quoted(gate.call.id)} is undecided`);
    const { requestSeq, decision } = gate.progress;
    if (!isReceipt(result, gate.call.id, requestSeq, decision))
      invalidLog(seq, `the result of ${quoted(gate.call.id)} does not match its decision`);
    gate.progress = { state: 'receipt', requestSeq, decision, receiptSeq: seq };
    this.#open = undefined;
  }
}

function isReceipt(
  result: ToolResult,
  callId: string,
  requestSeq: number,
  { seq, result: { approved } }: ApprovalDecision,
): boolean {
  if (result.id !== callId) return false;
  if (result.approvalRequestSeq !== BigInt(requestSeq) || result.approvalDecisionSeq !== BigInt(seq))
    return false;
  switch (result.code) {
    case ToolResult_Code.CODE_UNSPECIFIED:
      return approved && !result.isError;
    case ToolResult_Code.EXECUTOR_ERROR:
      return approved && result.isError;
    case ToolResult_Code.APPROVAL_DENIED:
      return !approved && result.isError;
    default:
      return false;
  }
}

const quoted = (text: string): string => JSON.stringify(text);
