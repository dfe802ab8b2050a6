import { unreachable } from '../../platform/errors.ts';
import { textMessage, textOf } from '../../protocol/events.ts';
import {
  type ApprovalRef,
  type Event,
  EventKind,
  type ToolCall,
  type ToolResult,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  type ControllerFrame,
  ControllerFrameSchema,
} from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { create, type MessageInitShape } from '../../protocol/protobuf.ts';
import type { HarnessSink, HarnessStart } from '../../session/turn/harness.ts';
import { HarnessFailedError, HarnessProtocolError } from '../../session/turn/harness-errors.ts';
import { ParkedError } from '../../session/turn/turn.ts';

/** A harness that means nothing by what it sends is cut; one that works never comes near either number. */
const MAX_EVENTS = 100_000;
const MAX_IGNORED_EVENTS = 10_000;

type FrameBody = NonNullable<MessageInitShape<typeof ControllerFrameSchema>['frame']>;

type State =
  | { readonly kind: 'running' }
  /** The host has said that the turn waits for a person. */
  | { readonly kind: 'parked'; readonly error: ParkedError }
  /** The harness has said that it knows; its stream must end now. */
  | { readonly kind: 'acknowledged'; readonly error: ParkedError };

/**
 * The host's side of one execution: each event is checked and carried out before the next one is looked at.
 * Source: agentsessions.v1 Harness.Connect.
 */
export class HostExchange {
  readonly #start: HarnessStart;
  readonly #sink: HarnessSink;
  readonly #send: (frame: ControllerFrame) => void;
  #state: State = { kind: 'running' };
  #events = 0;
  #ignored = 0;

  constructor(start: HarnessStart, sink: HarnessSink, send: (frame: ControllerFrame) => void) {
    this.#start = start;
    this.#sink = sink;
    this.#send = send;
  }

  get waitsForAcknowledgement(): boolean {
    return this.#state.kind !== 'running';
  }

  begin(): void {
    const { config, history, inputs, resumeFromSeq } = this.#start;
    this.#reply({
      case: 'start',
      value: { config, history: [...history], inputs: [...inputs], resumeFromSeq },
    });
  }

  /**
   * True when the turn is over.
   * @throws HarnessProtocolError, HarnessFailedError, and what the sink throws
   */
  async take(event: Event): Promise<boolean> {
    this.#events += 1;
    if (this.#events > MAX_EVENTS)
      throw new HarnessProtocolError(`more than ${MAX_EVENTS} events in one turn`);
    if (event.executionId !== this.#start.executionId) {
      throw new HarnessProtocolError(
        `an event of execution ${quoted(event.executionId)} came in execution ${quoted(this.#start.executionId)}`,
      );
    }
    switch (this.#state.kind) {
      case 'running':
        return this.#carryOut(event);
      case 'parked':
        this.#acknowledge(event, this.#state);
        return false;
      case 'acknowledged':
        throw new HarnessProtocolError(`${EventKind[event.kind]} came after the turn was parked`);
      default:
        return unreachable(this.#state);
    }
  }

  /** The stream has ended cleanly. @throws HarnessProtocolError; what parked the turn */
  end(): never {
    if (this.#state.kind === 'acknowledged') throw this.#state.error;
    throw new HarnessProtocolError(
      this.#state.kind === 'parked'
        ? 'the stream ended before the harness had acknowledged that the turn is parked'
        : 'the stream ended without END',
    );
  }

  async #carryOut(event: Event): Promise<boolean> {
    const { kind, body } = event;
    switch (kind) {
      case EventKind.EVENT_MODEL_CALL: {
        const call = body.case === 'model' ? body.value : missing(kind);
        const { message, usage } = await this.#sink.model(call);
        this.#reply({
          case: 'model',
          value: { modelCallId: call.id, ...(message ? { message } : {}), ...(usage ? { usage } : {}) },
        });
        return false;
      }
      case EventKind.EVENT_OUTPUT:
        // Only its text is a fact of the turn. Source: agentsessions.v1.
        await this.#sink.output(
          textMessage('assistant', textOf(body.case === 'message' ? body.value : missing(kind))),
        );
        return false;
      case EventKind.EVENT_TOOL_CALL:
        await this.#toolCall(body.case === 'tool' ? body.value : missing(kind));
        return false;
      case EventKind.EVENT_TOOL_RESULT:
        await this.#sink.report(body.case === 'result' ? body.value : missing(kind));
        return false;
      case EventKind.EVENT_USAGE:
        await this.#sink.usage(body.case === 'usage' ? body.value : missing(kind));
        return false;
      case EventKind.EVENT_END: {
        const { state, error } = body.case === 'end' ? body.value : missing(kind);
        if (state === 'COMPLETED') return true;
        throw new HarnessFailedError(error?.description || `the harness ended the turn as ${quoted(state)}`);
      }
      case EventKind.EVENT_APPROVAL_REQUEST:
      case EventKind.EVENT_APPROVAL_RESULT:
      case EventKind.EVENT_EXECUTION_START:
      case EventKind.EVENT_PARKED:
        throw new HarnessProtocolError(`${EventKind[kind]} is not for the harness to send`);
      default:
        return this.#ignore();
    }
  }

  /** INPUT, LIFECYCLE, ERROR, and kinds of a later version. */
  #ignore(): false {
    this.#ignored += 1;
    if (this.#ignored > MAX_IGNORED_EVENTS) {
      throw new HarnessProtocolError(`more than ${MAX_IGNORED_EVENTS} events that say nothing`);
    }
    return false;
  }

  async #toolCall(call: ToolCall): Promise<void> {
    let result: ToolResult;
    try {
      result = await this.#sink.toolCall(call, (decision) =>
        this.#reply({ case: 'approval', value: decision }),
      );
    } catch (error) {
      if (!(error instanceof ParkedError)) throw error;
      this.#state = { kind: 'parked', error };
      this.#reply({ case: 'park', value: error.ref });
      return;
    }
    this.#reply({ case: 'tool', value: result });
  }

  #acknowledge(event: Event, { error }: Extract<State, { kind: 'parked' }>): void {
    const echo = event.body.case === 'parked' ? event.body.value : undefined;
    if (event.kind !== EventKind.EVENT_PARKED || !echo || !sameRef(echo, error.ref)) {
      throw new HarnessProtocolError('the harness did not acknowledge that the turn is parked');
    }
    this.#state = { kind: 'acknowledged', error };
  }

  #reply(frame: FrameBody): void {
    const { session, executionId } = this.#start;
    this.#send(create(ControllerFrameSchema, { session, executionId, frame }));
  }
}

function sameRef(a: ApprovalRef, b: ApprovalRef): boolean {
  return a.executionId === b.executionId && a.toolCallId === b.toolCallId && a.requestSeq === b.requestSeq;
}

function missing(kind: EventKind): never {
  throw new HarnessProtocolError(`${EventKind[kind]} without what it is about`);
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}
