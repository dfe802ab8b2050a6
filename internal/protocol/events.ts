import { canonicalJson } from './canonical-json.ts';
import {
  type Event,
  EventKind,
  EventSchema,
  type Lifecycle_Kind,
  type Message,
  MessageSchema,
  type ToolCall,
  type ToolResult,
} from './generated/agentsessions/v1/common_pb.ts';
import { create, type JsonObject, type MessageInitShape } from './protobuf.ts';

/** A message of one text part. */
export function textMessage(role: 'user' | 'assistant' | 'system' | 'tool', text: string): Message {
  return create(MessageSchema, { role, parts: [{ part: { case: 'text', value: { text } } }] });
}

/** Text parts of a message, one after the other. */
export function textOf(message: Message | undefined): string {
  if (!message) return '';
  return message.parts.map(({ part }) => (part.case === 'text' ? part.value.text : '')).join('');
}

export interface ExecutionStartFields {
  readonly inputCount: number;
  readonly harness: string;
  readonly harnessVersion?: string;
  readonly config?: Uint8Array;
  readonly resumeFromSeq?: bigint;
}

export function executionStart(executionId: string, fields: ExecutionStartFields): Event {
  const { inputCount, harness, harnessVersion = '', config, resumeFromSeq = 0n } = fields;
  return event(executionId, EventKind.EVENT_EXECUTION_START, {
    case: 'executionStart',
    value: {
      inputCount: BigInt(inputCount),
      harness,
      harnessVersion,
      resumeFromSeq,
      ...(config === undefined ? {} : { config }),
    },
  });
}

export function input(executionId: string, message: Message): Event {
  return event(executionId, EventKind.EVENT_INPUT, { case: 'message', value: message });
}

export function output(executionId: string, message: Message): Event {
  return event(executionId, EventKind.EVENT_OUTPUT, { case: 'message', value: message });
}

export function toolCall(executionId: string, call: ToolCall): Event {
  return event(executionId, EventKind.EVENT_TOOL_CALL, { case: 'tool', value: call });
}

export function toolResult(executionId: string, result: ToolResult): Event {
  return event(executionId, EventKind.EVENT_TOOL_RESULT, { case: 'result', value: result });
}

export function executionEnd(
  executionId: string,
  state: 'COMPLETED' | 'FAILED' | 'CANCELED' = 'COMPLETED',
): Event {
  return event(executionId, EventKind.EVENT_END, { case: 'end', value: { state } });
}

export function errorEvent(executionId: string, description: string): Event {
  return event(executionId, EventKind.EVENT_ERROR, { case: 'error', value: { description } });
}

export interface LifecycleFields {
  readonly detail?: string;
  readonly snapshotLocal?: string;
  readonly snapshotExternalUri?: string;
  readonly snapshotMemory?: boolean;
  readonly snapshotSealed?: boolean;
}

export function lifecycle(kind: Lifecycle_Kind, fields: LifecycleFields = {}): Event {
  return event('', EventKind.EVENT_LIFECYCLE, { case: 'lifecycle', value: { ...fields, kind } });
}

/** A fact of ours: a lifecycle record without a kind, which grouping skips and which moves no projection. */
export function cityFact(fact: JsonObject): Event {
  return lifecycle(0, { detail: canonicalJson({ gascity: fact }) });
}

/** What a record of ours says; `undefined` for everything that others wrote. */
export function cityFactOf(event: Event): JsonObject | undefined {
  if (event.body.case !== 'lifecycle' || event.body.value.kind !== 0) return undefined;
  let detail: unknown;
  try {
    detail = JSON.parse(event.body.value.detail);
  } catch {
    return undefined;
  }
  if (typeof detail !== 'object' || detail === null || !('gascity' in detail)) return undefined;
  const fact = detail.gascity;
  return typeof fact === 'object' && fact !== null && !Array.isArray(fact) ? (fact as JsonObject) : undefined;
}

export type EventBody = NonNullable<MessageInitShape<typeof EventSchema>['body']>;

export function event(executionId: string, kind: EventKind, body: EventBody): Event {
  return create(EventSchema, { executionId, kind, body });
}
