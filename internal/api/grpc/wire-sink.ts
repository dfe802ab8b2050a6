import {
  executionEnd,
  event as makeEvent,
  output as outputEvent,
  toolCall as toolCallEvent,
  toolResult as toolResultEvent,
} from '../../protocol/events.ts';
import {
  type ApprovalResult,
  type Event,
  EventKind,
  Mediation,
  type Message,
  type ModelCall,
  type ToolCall,
  type ToolResult,
  ToolResult_Code,
  type Usage,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ControllerFrame, ModelResult } from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import type { HarnessSink } from '../../session/turn/harness.ts';
import { HarnessProtocolError } from '../../session/turn/harness-errors.ts';
import { ParkedError } from '../../session/turn/turn.ts';

/** A host answers one event at a time: an approval and its receipt are the most that can wait here. */
const MAX_UNREAD_FRAMES = 4;

export interface WireSinkOptions {
  readonly session: string;
  readonly executionId: string;
  readonly mintId: () => string;
  /** Resolves when the host has taken the event. */
  readonly emit: (event: Event) => Promise<void>;
  /** Sends the last event of a turn that the host has put off until a person has decided, and ends the stream. */
  readonly park: (event: Event) => void;
}

/**
 * What a harness in this process does, as events for a host elsewhere, and that host's answers.
 *
 * Pieces of text, facts of ours and calls that the harness carries out itself do not exist for other hosts: they are not
 * sent. The first failure stays: every later call gets it again.
 * Source: agentsessions.v1 Harness.Connect, the harness's checks.
 */
export class WireSink implements HarnessSink {
  readonly #options: WireSinkOptions;
  readonly #frames: ControllerFrame[] = [];
  readonly #observedCalls = new Set<string>();
  #wake: () => void = () => undefined;
  #last: Promise<unknown> = Promise.resolve();
  #failure: Error | undefined;

  constructor(options: WireSinkOptions) {
    this.#options = options;
  }

  /** Why the sink takes nothing any more. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** A frame of the host, as it comes in. */
  receive(frame: ControllerFrame): void {
    this.#frames.push(frame);
    if (this.#frames.length > MAX_UNREAD_FRAMES) {
      this.fail(new HarnessProtocolError('the host sends frames that nobody asked for'));
    }
    this.#wake();
  }

  fail(error: Error): void {
    this.#failure ??= error;
    this.#wake();
  }

  model(call: ModelCall): Promise<ModelResult> {
    return this.#inTurn(async () => {
      const id = call.id || this.#options.mintId();
      await this.#emit(EventKind.EVENT_MODEL_CALL, { case: 'model', value: { ...call, id } });
      const { frame } = await this.#reply();
      if (frame.case !== 'model') throw unexpected('model', frame.case);
      if (frame.value.modelCallId !== id)
        throw new HarnessProtocolError('the answer is to another model call');
      return frame.value;
    });
  }

  output(message: Message): Promise<void> {
    return this.#inTurn(() => this.#options.emit(outputEvent(this.#options.executionId, message)));
  }

  toolCall(call: ToolCall, decided?: (decision: ApprovalResult) => void): Promise<ToolResult> {
    return this.#inTurn(async () => {
      await this.#options.emit(toolCallEvent(this.#options.executionId, call));
      const decision =
        call.mediation === Mediation.REQUIRES_APPROVAL ? await this.#decision(call) : undefined;
      if (decision) decided?.(decision);
      const reply = await this.#reply();
      const { frame } = reply;
      if (frame.case !== 'tool') throw unexpected('tool', frame.case);
      if (reply.session !== this.#options.session) {
        throw new HarnessProtocolError('the result is of another session');
      }
      if (frame.value.id !== call.id) throw new HarnessProtocolError('the result is of another call');
      if (decision) checkReceipt(frame.value, decision);
      return frame.value;
    });
  }

  report(result: ToolResult): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#observedCalls.delete(result.id)) return;
      await this.#options.emit(toolResultEvent(this.#options.executionId, result));
    });
  }

  usage(usage: Usage): Promise<void> {
    return this.#inTurn(() => this.#emit(EventKind.EVENT_USAGE, { case: 'usage', value: usage }));
  }

  observed(call: ToolCall): Promise<void> {
    return this.#inTurn(async () => {
      this.#observedCalls.add(call.id);
    });
  }

  fact(_event: Event): Promise<void> {
    return this.#inTurn(async () => undefined);
  }

  delta(_chunk: string): void {
    // The protocol has no place for pieces; the whole text follows as output.
  }

  /** The last event of a turn that was not put off. */
  end(state: 'COMPLETED' | 'FAILED' | 'CANCELED', description?: string): Event {
    const { executionId } = this.#options;
    if (description === undefined) return executionEnd(executionId, state);
    return makeEvent(executionId, EventKind.EVENT_END, {
      case: 'end',
      value: { state, error: { description } },
    });
  }

  async #decision(call: ToolCall): Promise<ApprovalResult> {
    const { frame } = await this.#reply();
    if (frame.case === 'park') {
      const ref = frame.value;
      const { executionId } = this.#options;
      if (ref.executionId !== executionId || ref.toolCallId !== call.id || ref.requestSeq <= 0n) {
        throw new HarnessProtocolError('the host parks another call than the one that was made');
      }
      this.#options.park(makeEvent(executionId, EventKind.EVENT_PARKED, { case: 'parked', value: ref }));
      throw new ParkedError(ref);
    }
    if (frame.case !== 'approval') throw unexpected('approval', frame.case);
    const { toolCallId, requestSeq } = frame.value;
    if (toolCallId !== call.id || requestSeq <= 0n) {
      throw new HarnessProtocolError('the decision is about another call than the one that was made');
    }
    return frame.value;
  }

  #emit(kind: EventKind, body: Parameters<typeof makeEvent>[2]): Promise<void> {
    return this.#options.emit(makeEvent(this.#options.executionId, kind, body));
  }

  async #reply(): Promise<ControllerFrame> {
    for (;;) {
      if (this.#failure) throw this.#failure;
      const frame = this.#frames.shift();
      if (frame === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      } else if (frame.executionId !== this.#options.executionId) {
        throw new HarnessProtocolError('a frame of another execution came');
      } else return frame;
    }
  }

  /** One after the other, and none after one has failed. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const run = this.#last.then(async () => {
      if (this.#failure) throw this.#failure;
      try {
        return await work();
      } catch (error) {
        this.fail(error instanceof Error ? error : new HarnessProtocolError(String(error)));
        throw error;
      }
    });
    this.#last = run.catch(() => undefined);
    return run;
  }
}

function checkReceipt(result: ToolResult, decided: ApprovalResult): void {
  const denied = result.code === ToolResult_Code.APPROVAL_DENIED;
  const matches =
    result.approvalRequestSeq === decided.requestSeq &&
    result.approvalDecisionSeq > decided.requestSeq &&
    denied === !decided.approved &&
    (result.code === ToolResult_Code.CODE_UNSPECIFIED) === !result.isError;
  if (!matches) throw new HarnessProtocolError('the result does not fit the decision before it');
}

function unexpected(wanted: string, got: string | undefined): HarnessProtocolError {
  return new HarnessProtocolError(`the host sent ${got ?? 'an empty frame'} where ${wanted} was due`);
}
