import { messageOf } from '../../platform/errors.ts';
import {
  type ToolCall,
  type ToolResult,
  ToolResult_Code,
  ToolResultSchema,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create } from '../../protocol/protobuf.ts';

/** What a harness is told, always the same, so that a turn goes on the same way each time it is run again. */
export const DENIED_TEXT = 'The call was denied.';

/** Which request and which decision a result follows from. */
export interface ReceiptOf {
  readonly requestSeq: number;
  readonly decisionSeq: number;
}

const NO_RECEIPT: ReceiptOf = { requestSeq: 0, decisionSeq: 0 };

/** What an executor gave, under the call that it belongs to: it can claim neither another call nor a decision. */
export function resultOf(call: ToolCall, given: ToolResult, receipt?: ReceiptOf): ToolResult {
  const { requestSeq, decisionSeq } = receipt ?? NO_RECEIPT;
  return create(ToolResultSchema, {
    ...given,
    id: call.id,
    code: codeFor(given, receipt !== undefined),
    approvalRequestSeq: BigInt(requestSeq),
    approvalDecisionSeq: BigInt(decisionSeq),
  });
}

function codeFor(given: ToolResult, isReceipt: boolean): ToolResult_Code {
  if (isReceipt) return given.isError ? ToolResult_Code.EXECUTOR_ERROR : ToolResult_Code.CODE_UNSPECIFIED;
  return given.code === ToolResult_Code.APPROVAL_DENIED ? ToolResult_Code.CODE_UNSPECIFIED : given.code;
}

/** The call was tried, and failed: for good, it is not tried again. */
export function failedResult(call: ToolCall, error: unknown, receipt: ReceiptOf = NO_RECEIPT): ToolResult {
  return create(ToolResultSchema, {
    id: call.id,
    isError: true,
    error: messageOf(error),
    code: ToolResult_Code.EXECUTOR_ERROR,
    approvalRequestSeq: BigInt(receipt.requestSeq),
    approvalDecisionSeq: BigInt(receipt.decisionSeq),
  });
}

export function deniedResult(callId: string, receipt: ReceiptOf): ToolResult {
  return create(ToolResultSchema, {
    id: callId,
    isError: true,
    error: DENIED_TEXT,
    content: [{ part: { case: 'text', value: { text: DENIED_TEXT } } }],
    code: ToolResult_Code.APPROVAL_DENIED,
    approvalRequestSeq: BigInt(receipt.requestSeq),
    approvalDecisionSeq: BigInt(receipt.decisionSeq),
  });
}
