import { textMessage } from '../../protocol/events.ts';
import {
  type Event,
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  type ToolCall,
  ToolCallSchema,
  type ToolResult,
  ToolResult_Code,
  ToolResultSchema,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create } from '../../protocol/protobuf.ts';

const INTERRUPTED = 'Interrupted: the call was cut off and no result is known.';
const REFUSED = 'Refused: the call was not approved.';

/** A call and what became of it. Ids are the agent's own: they repeat between executions. */
interface Slot {
  readonly executionId: string;
  readonly call: ToolCall;
  /** A record of its own tells of it, not only the message that asks for it. */
  told: boolean;
  result?: ToolResult;
  refusal?: string;
}

type Block =
  | { readonly kind: 'said'; readonly message: Message }
  | { readonly kind: 'assistant'; readonly parts: readonly Part[]; readonly slots: Slot[] };

/**
 * Folds events into what a model gets to see. Knows nothing of records, so that the same events give the same messages
 * wherever they stand and whatever stands between them.
 */
export class ConversationFold {
  readonly #blocks: Block[] = [];
  /** By the id of the call, in order. */
  readonly #slots = new Map<string, Slot[]>();

  /** What stands for everything before. */
  summary(text: string): void {
    this.#blocks.push({ kind: 'said', message: textMessage('user', text) });
  }

  add({ executionId, body }: Event, kind: 'input' | 'output' | 'other'): void {
    switch (body.case) {
      case 'message':
        if (kind === 'input') this.#input(body.value);
        if (kind === 'output') this.#output(executionId, body.value);
        return;
      case 'tool':
        this.#call(executionId, body.value);
        return;
      case 'result':
        this.#result(body.value, executionId);
        return;
      case 'approvalResult': {
        const slot = this.#unanswered(body.value.toolCallId, executionId);
        if (slot && !body.value.approved) slot.refusal = body.value.reason;
        return;
      }
      default:
        return;
    }
  }

  messages(): Message[] {
    return this.#blocks.flatMap((block, index) => {
      if (block.kind === 'said') return [block.message];
      return assistantMessages(block, index < this.#blocks.length - 1);
    });
  }

  #input(message: Message): void {
    const kept: Part[] = [];
    for (const part of message.parts.flatMap(shown)) {
      if (part.part.case === 'toolResult') this.#result(part.part.value);
      else kept.push(part);
    }
    if (kept.length === 0) return;
    const role = message.role === '' ? 'user' : message.role;
    this.#blocks.push({ kind: 'said', message: create(MessageSchema, { role, parts: kept }) });
  }

  #output(executionId: string, message: Message): void {
    const parts: Part[] = [];
    const slots: Slot[] = [];
    for (const part of message.parts.flatMap(shown)) {
      if (part.part.case === 'toolCall') slots.push({ executionId, call: part.part.value, told: false });
      else parts.push(part);
    }
    if (parts.length === 0 && slots.length === 0) return;
    this.#blocks.push({ kind: 'assistant', parts, slots });
    for (const slot of slots) this.#keep(slot);
  }

  #call(executionId: string, call: ToolCall): void {
    const last = this.#blocks.at(-1);
    const open = last?.kind === 'assistant' ? last : undefined;
    const asked = open?.slots.find(
      (slot) => !slot.told && slot.call.id === call.id && slot.executionId === executionId,
    );
    if (asked) {
      asked.told = true;
      return;
    }
    const slot: Slot = { executionId, call, told: true };
    this.#keep(slot);
    if (open) open.slots.push(slot);
    else this.#blocks.push({ kind: 'assistant', parts: [], slots: [slot] });
  }

  /** A result whose call is not there says nothing that a model could use. */
  #result(result: ToolResult, executionId?: string): void {
    const slot = this.#unanswered(result.id, executionId);
    if (slot) slot.result = result;
  }

  #unanswered(id: string, executionId: string | undefined): Slot | undefined {
    return this.#slots
      .get(id)
      ?.findLast(
        (slot) =>
          slot.result === undefined && (executionId === undefined || slot.executionId === executionId),
      );
  }

  #keep(slot: Slot): void {
    const same = this.#slots.get(slot.call.id);
    if (same) same.push(slot);
    else this.#slots.set(slot.call.id, [slot]);
  }
}

function assistantMessages(
  { parts, slots }: Extract<Block, { kind: 'assistant' }>,
  isFollowed: boolean,
): readonly Message[] {
  const answered = slots.flatMap((slot) => {
    const result = resultOf(slot, isFollowed);
    return result ? [{ call: slot.call, result }] : [];
  });
  const said = [...parts, ...answered.map(({ call }) => callPart(call))];
  if (said.length === 0) return [];
  const message = create(MessageSchema, { role: 'assistant', parts: said });
  if (answered.length === 0) return [message];
  const results = answered.map(({ result }) => resultPart(result));
  return [message, create(MessageSchema, { role: 'tool', parts: results })];
}

function resultOf({ call, result, refusal }: Slot, isFollowed: boolean): ToolResult | undefined {
  if (result) return result;
  if (refusal !== undefined) {
    const text = refusal === '' ? REFUSED : `${REFUSED} ${refusal}`;
    return failure(call.id, text, ToolResult_Code.APPROVAL_DENIED);
  }
  return isFollowed ? failure(call.id, INTERRUPTED, ToolResult_Code.CODE_UNSPECIFIED) : undefined;
}

const failure = (id: string, error: string, code: ToolResult_Code): ToolResult =>
  create(ToolResultSchema, {
    id,
    isError: true,
    error,
    code,
    content: [{ part: { case: 'text', value: { text: error } } }],
  });

/** How a call was carried out is the host's business, not the model's. */
const callPart = ({ id, tool, args }: ToolCall): Part =>
  create(PartSchema, {
    part: { case: 'toolCall', value: create(ToolCallSchema, { id, tool, ...(args ? { args } : {}) }) },
  });

const resultPart = (result: ToolResult): Part =>
  create(PartSchema, {
    part: {
      case: 'toolResult',
      value: {
        ...result,
        content: result.content.flatMap(shown),
        approvalRequestSeq: 0n,
        approvalDecisionSeq: 0n,
      },
    },
  });

/** Reasoning is shown to people and never goes back to a model; an empty part says nothing. */
function shown(part: Part): readonly Part[] {
  switch (part.part.case) {
    case 'reasoning':
    case undefined:
      return [];
    case 'text':
      return part.part.value.text === '' ? [] : [part];
    default:
      return [part];
  }
}
