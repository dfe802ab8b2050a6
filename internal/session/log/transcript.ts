import { cityFactOf, textOf } from '../../protocol/events.ts';
import {
  type ApprovalResult,
  type Event,
  EventKind,
  type Lifecycle,
  Lifecycle_Kind,
  type Message,
  type ToolCall,
  type ToolResult,
  ToolResult_Code,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import type { JsonObject } from '../../protocol/protobuf.ts';
import { argsText, type FactWords, factsOf } from './transcript-words.ts';

/** One thing that a reader of a log sees. Texts are as they were said: whoever shows them makes them safe. */
export type TranscriptEntry = { readonly seq: number } & (
  | { readonly kind: 'question'; readonly text: string }
  | { readonly kind: 'answer'; readonly text: string }
  | { readonly kind: 'tool'; readonly tool: string; readonly what: string; readonly outcome: ToolOutcome }
  /** A call waits for a person. */
  | { readonly kind: 'asks'; readonly tool: string; readonly what: string }
  | { readonly kind: 'decided'; readonly approved: boolean; readonly by: string; readonly reason: string }
  | ({ readonly kind: 'fact' } & FactWords)
  | { readonly kind: 'trouble'; readonly text: string }
);

export type ToolOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'refused'; readonly why: string }
  /** The log does not say what became of it (yet). */
  | { readonly kind: 'open' };

interface OpenCall {
  readonly seq: number;
  readonly executionId: string;
  readonly call: ToolCall;
}

/**
 * Turns records into what a person reads, one after the other, so that it works on a log of any length, on one that is
 * being written, and on one that was cut anywhere. A call is told with its result.
 */
export class TranscriptFold {
  #open: OpenCall[] = [];

  add({ seq, event }: Pick<ChainedRecord, 'seq' | 'event'>): readonly TranscriptEntry[] {
    const { body, kind } = event;
    switch (body.case) {
      case 'message':
        return kind === EventKind.EVENT_INPUT
          ? [...this.#unanswered(() => true), ...asQuestion(seq, body.value)]
          : asAnswer(seq, body.value);
      case 'tool':
        this.#open.push({ seq, executionId: event.executionId, call: body.value });
        return [];
      case 'result':
        return [this.#result(seq, event.executionId, body.value)];
      case 'approval': {
        const open = this.#find(event.executionId, body.value.toolCallId);
        return [{ seq, kind: 'asks', ...toolWords(open?.call, body.value.toolCallId) }];
      }
      case 'approvalResult':
        return [decision(seq, event, body.value)];
      case 'end':
        return [
          ...this.#unanswered((call) => call.executionId === event.executionId),
          ...asEnd(seq, body.value),
        ];
      case 'error':
        return [{ seq, kind: 'trouble', text: body.value.description }];
      case 'lifecycle':
        return asFacts(seq, event, body.value);
      default:
        return [];
    }
  }

  /** What is left when the log ends here. */
  end(): readonly TranscriptEntry[] {
    return this.#unanswered(() => true);
  }

  #result(seq: number, executionId: string, result: ToolResult): TranscriptEntry {
    const open = this.#find(executionId, result.id);
    this.#open = this.#open.filter((each) => each !== open);
    return { seq, kind: 'tool', ...toolWords(open?.call, result.id), outcome: outcomeOf(result) };
  }

  #find(executionId: string, id: string): OpenCall | undefined {
    return this.#open.findLast((each) => each.executionId === executionId && each.call.id === id);
  }

  #unanswered(which: (call: OpenCall) => boolean): readonly TranscriptEntry[] {
    const left = this.#open.filter(which);
    this.#open = this.#open.filter((each) => !left.includes(each));
    return left.map(({ seq, call }) => ({
      seq,
      kind: 'tool',
      ...toolWords(call, call.id),
      outcome: { kind: 'open' },
    }));
  }
}

function toolWords(call: ToolCall | undefined, id: string): { readonly tool: string; readonly what: string } {
  return call ? { tool: call.tool, what: argsText(call.args) } : { tool: id, what: '' };
}

function outcomeOf({ code, isError, error, content }: ToolResult): ToolOutcome {
  const text = content.map(({ part }) => (part.case === 'text' ? part.value.text : '')).join(' ');
  const why = error === '' ? text : error;
  if (code === ToolResult_Code.APPROVAL_DENIED) return { kind: 'refused', why };
  const failed = isError || code === ToolResult_Code.EXECUTOR_ERROR;
  return failed ? { kind: 'failed', why } : { kind: 'done' };
}

function asQuestion(seq: number, message: Message): readonly TranscriptEntry[] {
  const text = shownText(message);
  return text.trim() === '' ? [] : [{ seq, kind: 'question', text }];
}

function asAnswer(seq: number, message: Message): readonly TranscriptEntry[] {
  const text = shownText(message);
  return text.trim() === '' ? [] : [{ seq, kind: 'answer', text }];
}

/** Text, and a line for each file. Calls have records of their own; reasoning is not part of the conversation. */
function shownText(message: Message): string {
  const files = message.parts.flatMap(({ part }) => {
    if (part.case === 'data') return [JSON.stringify(part.value.data ?? {})];
    if (part.case !== 'file') return [];
    const { name, mime, source } = part.value;
    const where = source.case === 'uri' ? ` ${source.value}` : '';
    return [`[file ${name || 'without a name'}${mime === '' ? '' : ` (${mime})`}${where}]`];
  });
  return [textOf(message), ...files].filter((line) => line !== '').join('\n');
}

function decision(seq: number, { actor }: Event, { approved, reason }: ApprovalResult): TranscriptEntry {
  return { seq, kind: 'decided', approved, by: actor?.principal || actor?.subject || '', reason };
}

function asEnd(
  seq: number,
  end: { readonly state: string; readonly error?: { readonly description: string } | undefined },
): readonly TranscriptEntry[] {
  const why = end.error?.description ?? '';
  if (end.state === 'COMPLETED' && why === '') return [];
  const state = end.state === '' ? 'ended' : end.state.toLowerCase();
  return [{ seq, kind: 'trouble', text: why === '' ? `the turn ${state}` : `the turn ${state}: ${why}` }];
}

function asFacts(seq: number, event: Event, lifecycle: Lifecycle): readonly TranscriptEntry[] {
  const fact: JsonObject | undefined = cityFactOf(event);
  if (fact) return factsOf(fact).map((each) => ({ seq, kind: 'fact', ...each }));
  return [{ seq, kind: 'fact', word: lifecycleWord(lifecycle.kind), text: lifecycle.detail, at: '' }];
}

function lifecycleWord(kind: Lifecycle_Kind): string {
  switch (kind) {
    case Lifecycle_Kind.LIFECYCLE_SUSPEND:
      return 'suspended';
    case Lifecycle_Kind.LIFECYCLE_RESUME:
      return 'resumed';
    case Lifecycle_Kind.LIFECYCLE_FORK:
      return 'forked';
    case Lifecycle_Kind.LIFECYCLE_BASELINE:
      return 'baseline';
    case Lifecycle_Kind.LIFECYCLE_CANCEL:
      return 'canceled';
    default:
      return 'noted';
  }
}
