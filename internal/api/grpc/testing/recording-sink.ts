import { textMessage, textOf } from '../../../protocol/events.ts';
import {
  type ApprovalResult,
  ApprovalResultSchema,
  type Message,
  type ModelCall,
  type ToolCall,
  type ToolResult,
  ToolResultSchema,
  type Usage,
} from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  type ModelResult,
  ModelResultSchema,
} from '../../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { create } from '../../../protocol/protobuf.ts';
import type { HarnessSink, HarnessStart } from '../../../session/turn/harness.ts';

/** A host without a log: writes down what the harness does, as one word and what it is about. */
export class RecordingSink implements HarnessSink {
  readonly seen: string[] = [];
  onTool: (call: ToolCall, decided?: (decision: ApprovalResult) => void) => Promise<ToolResult> = async (
    call,
  ) => create(ToolResultSchema, { id: call.id });
  onModel: (call: ModelCall) => Promise<ModelResult> = async (call) =>
    create(ModelResultSchema, {
      message: textMessage('assistant', `echo:${textOf(call.messages.at(-1))}`),
      modelCallId: call.id,
    });

  async model(call: ModelCall): Promise<ModelResult> {
    this.seen.push(`model ${textOf(call.messages.at(-1))}`);
    return this.onModel(call);
  }

  async output(message: Message): Promise<void> {
    this.seen.push(`output ${textOf(message)}`);
  }

  async toolCall(call: ToolCall, decided?: (decision: ApprovalResult) => void): Promise<ToolResult> {
    this.seen.push(`tool ${call.tool}`);
    return this.onTool(call, decided);
  }

  async report(result: ToolResult): Promise<void> {
    this.seen.push(`report ${result.id}`);
  }

  async usage(usage: Usage): Promise<void> {
    this.seen.push(`usage ${usage.inputTokens}`);
  }

  async observed(call: ToolCall): Promise<void> {
    this.seen.push(`observed ${call.id}`);
  }

  async fact(): Promise<void> {
    this.seen.push('fact');
  }

  delta(chunk: string): void {
    this.seen.push(`delta ${chunk}`);
  }
}

export function startOf(change: Partial<HarnessStart> = {}): HarnessStart {
  return {
    session: 'sess-1',
    executionId: 'exec-1',
    inputs: [textMessage('user', 'hi')],
    config: Uint8Array.of(0, 255, 10),
    resumeFromSeq: 7n,
    history: [],
    recorded: [],
    ...change,
  };
}

export function decision(requestSeq: bigint, approved: boolean): ApprovalResult {
  return create(ApprovalResultSchema, { toolCallId: 'call-1', requestSeq, approved, reason: 'because' });
}
