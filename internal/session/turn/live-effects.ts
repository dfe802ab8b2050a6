import { codeOf, GcError } from '../../platform/errors.ts';
import { event, output, toolCall, toolResult } from '../../protocol/events.ts';
import {
  ApprovalRefSchema,
  type Event,
  EventKind,
  type Message,
  type ModelCall,
  type ToolCall,
  type ToolResult,
  type Usage,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { type ModelResult, ModelResultSchema } from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { modelInputHash } from '../../protocol/model-input-hash.ts';
import { create } from '../../protocol/protobuf.ts';
import { externalizeEvent } from '../log/blobs/externalize.ts';
import type { EffectLog } from './effect-log.ts';
import type { ApprovalDecision } from './gate-grammar.ts';
import { deniedResult, failedResult, type ReceiptOf, resultOf } from './tool-results.ts';
import { ParkedError, type TurnContext, TurnError } from './turn.ts';
import { untilAborted } from './until-aborted.ts';

/** Bytes of a model call's id. */
const MODEL_CALL_ID_BYTES = 8;

export interface LiveOptions {
  readonly context: Pick<TurnContext, 'uid' | 'model' | 'tools' | 'harness' | 'blobs' | 'observer' | 'ids'>;
  /** '' for a turn that has none in the log. */
  readonly executionId: string;
  readonly log: EffectLog;
  readonly signal: AbortSignal;
  /** Told when the turn can make no further effect. */
  readonly seal: (error: unknown) => void;
}

/**
 * Effects for real: the intent is in the log before the effect, the result before the harness sees it.
 * Source: agentsessions.v1 controller, live execution.
 */
export class LiveEffects {
  readonly #options: LiveOptions;

  constructor(options: LiveOptions) {
    this.#options = options;
  }

  async model(call: ModelCall): Promise<ModelResult> {
    const { context, executionId, log } = this.#options;
    const value = {
      model: call.model,
      inputHash: modelInputHash(call),
      id: context.ids.hex(MODEL_CALL_ID_BYTES),
    };
    await log.appendOne(event(executionId, EventKind.EVENT_MODEL_CALL, { case: 'model', value }));
    return await this.answer(call);
  }

  /**
   * Answers a call that is in the log already. When that fails the turn is over: its next output would be taken for the
   * answer by whoever reads the log.
   */
  async answer(call: ModelCall): Promise<ModelResult> {
    const { context, executionId, log, signal, seal } = this.#options;
    let isAnswered = false;
    const delta = (chunk: string): void => {
      if (!isAnswered) this.speak(chunk);
    };
    try {
      const { message } = await untilAborted(context.model.complete(call, { signal, delta }), signal);
      isAnswered = true;
      if (!message) throw new GcError('model-failed', `the model ${call.model} gave no message`);
      if (context.model.streams) this.spoken();
      const { body } = (await log.appendOne(output(executionId, message))).event;
      const stored = body.case === 'message' ? body.value : message;
      return create(ModelResultSchema, { message: stored, modelCallId: call.id });
    } catch (error) {
      seal(error);
      throw error;
    }
  }

  speak(chunk: string): void {
    const { context, executionId, signal } = this.#options;
    if (chunk !== '' && !signal.aborted) context.observer.delta(executionId, chunk, false);
  }

  /** What was being said is complete. */
  spoken(): void {
    this.#options.context.observer.delta(this.#options.executionId, '', true);
  }

  async output(message: Message): Promise<void> {
    await this.#reported(output(this.#options.executionId, message));
  }

  async usage(value: Usage): Promise<void> {
    const { executionId, log } = this.#options;
    await log.appendOne(event(executionId, EventKind.EVENT_USAGE, { case: 'usage', value }), 'group');
  }

  async report(result: ToolResult): Promise<void> {
    await this.#reported(toolResult(this.#options.executionId, result));
  }

  async observed(call: ToolCall): Promise<void> {
    await this.#options.log.appendOne(toolCall(this.#options.executionId, call));
  }

  async fact(fact: Event): Promise<void> {
    await this.#options.log.appendOne(fact);
  }

  async tool(call: ToolCall): Promise<ToolResult> {
    const { executionId, log } = this.#options;
    const { body } = (await log.appendOne(toolCall(executionId, call))).event;
    return await this.carryOut(body.case === 'tool' ? body.value : call);
  }

  /** Carries out a call that is in the log already; perhaps it was before: the executor knows by its key. */
  async carryOut(call: ToolCall): Promise<ToolResult> {
    return await this.#record(call, resultOf(call, await this.#execute(call)));
  }

  /** Puts a gated call into the log together with its request. @throws ParkedError always, unless the log refuses */
  async openGate(call: ToolCall): Promise<never> {
    const { executionId, log } = this.#options;
    const [, request] = await log.append([
      toolCall(executionId, call),
      approvalRequest(executionId, call.id),
    ]);
    throw parked(executionId, call.id, request?.seq ?? 0);
  }

  /** Does what a person decided, once. */
  async settle(call: ToolCall, requestSeq: number, decision: ApprovalDecision): Promise<ToolResult> {
    const receipt: ReceiptOf = { requestSeq, decisionSeq: decision.seq };
    if (!decision.result.approved) return await this.#record(call, deniedResult(call.id, receipt), receipt);
    const { signal, context } = this.#options;
    if (!context.tools) throw missingExecutor(call);
    const result = await this.#execute(call).then(
      (given) => resultOf(call, given, receipt),
      (error) => {
        if (signal.aborted) throw error;
        return failedResult(call, error, receipt);
      },
    );
    return await this.#record(call, result, receipt);
  }

  /** Of a harness that acts by itself nothing is compared when the turn is run again: it may stand beside the log. */
  async #reported(effect: Event): Promise<void> {
    const { context, log } = this.#options;
    const { harness, blobs } = context;
    await log.appendOne(harness.observes && blobs ? await externalizeEvent(effect, blobs) : effect);
  }

  async #execute(call: ToolCall): Promise<ToolResult> {
    const { context, signal } = this.#options;
    if (!context.tools) throw missingExecutor(call);
    return await untilAborted(context.tools.execute(context.uid, call, signal), signal);
  }

  /** The effect has happened: a result that the log does not take must not bring it about again. */
  async #record(call: ToolCall, result: ToolResult, receipt?: ReceiptOf): Promise<ToolResult> {
    const { executionId, log } = this.#options;
    const record = await log.appendOne(toolResult(executionId, result)).catch((error) => {
      const code = codeOf(error);
      if (code !== 'not-canonical' && code !== 'record-too-large') throw error;
      return log.appendOne(toolResult(executionId, failedResult(call, error, receipt)));
    });
    return record.event.body.case === 'result' ? record.event.body.value : result;
  }
}

export function approvalRequest(executionId: string, toolCallId: string): Event {
  return event(executionId, EventKind.EVENT_APPROVAL_REQUEST, { case: 'approval', value: { toolCallId } });
}

export function parked(executionId: string, toolCallId: string, requestSeq: number): ParkedError {
  return new ParkedError(
    create(ApprovalRefSchema, { executionId, toolCallId, requestSeq: BigInt(requestSeq) }),
  );
}

export function missingExecutor(call: ToolCall): TurnError {
  return new TurnError('missing-executor', `nothing here carries out ${JSON.stringify(call.tool)}`, {
    next: 'resume the session where a tool executor is configured',
  });
}
