import { createHash } from 'node:crypto';
import { rfc3339 } from '../../platform/clock.ts';
import {
  cityFact,
  errorEvent,
  event,
  executionEnd,
  executionStart,
  input,
  output,
  textMessage,
  toolCall,
  toolResult,
} from '../../protocol/events.ts';
import {
  type Event,
  EventKind,
  Mediation,
  ToolCallSchema,
  ToolResultSchema,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create, type JsonObject, type JsonValue } from '../../protocol/protobuf.ts';
import { CITY_HARNESS } from '../log/city-origin.ts';
import { answerWords } from '../transcript/acp/acp-shown.ts';
import type { ObservedEntry } from '../transcript/observed.ts';
import type { ConversationFacts, Evidence } from './facts.ts';
import { keptText } from './kept-text.ts';

/** Texts of people and models are kept whole up to this; what is longer is cut, and says so. */
const MESSAGE_BYTES = 1_000_000;
const ARGUMENT_BYTES = 65_536;

type Entry<Kind extends ObservedEntry['kind']> = Extract<ObservedEntry, { kind: Kind }>;

/** Where a conversation was seen. */
export interface Observed {
  /** The agent program, as its transcript reader is called. */
  readonly program: string;
  readonly conversation: string;
  readonly evidence: Extract<Evidence, 'protocol' | 'transcript'>;
  /** Its entries come in the order in which they happened. */
  readonly ordered?: boolean;
}

/** The execution that an entry begins: the same whenever and wherever the entry is read. */
export function executionIdOf(program: string, entryId: string): string {
  return createHash('sha256').update(`${program}:${entryId}`).digest('hex').slice(0, 16);
}

export function startEvent(
  executionId: string,
  inputCount: 0 | 1,
  { program, conversation, evidence }: Observed,
): Event {
  const config = { gascity: { evidence, program, conversation } };
  return executionStart(executionId, {
    inputCount,
    harness: CITY_HARNESS,
    config: Buffer.from(JSON.stringify(config)),
  });
}

export function inputEvent(executionId: string, { text }: Entry<'prompt'>): Event {
  return input(executionId, textMessage('user', messageText(text)));
}

export function answerEvent(executionId: string, { text }: Entry<'answer'>): Event {
  return output(executionId, textMessage('assistant', messageText(text)));
}

/** Called inside the agent program: nobody else could have refused it. */
export function callEvent(executionId: string, { callId, name, input: args }: Entry<'tool-call'>): Event {
  return toolCall(
    executionId,
    create(ToolCallSchema, {
      id: wellFormed(callId),
      tool: wellFormed(name),
      args: argumentsOf(args),
      mediation: Mediation.IN_HARNESS_REPORTED,
    }),
  );
}

export function resultEvent(executionId: string, { callId, error, text }: Entry<'tool-result'>): Event {
  return toolResult(
    executionId,
    create(ToolResultSchema, {
      id: wellFormed(callId),
      isError: error,
      content: textMessage('tool', wellFormed(text)).parts,
    }),
  );
}

export function usageEvent(executionId: string, usage: Entry<'usage'>): Event {
  return event(executionId, EventKind.EVENT_USAGE, {
    case: 'usage',
    value: {
      model: usage.model,
      inputTokens: BigInt(usage.input),
      outputTokens: BigInt(usage.output),
      reasoningTokens: BigInt(usage.reasoning),
    },
  });
}

export function failureEvent(executionId: string, { text }: Entry<'failure'>): Event {
  return errorEvent(executionId, messageText(text));
}

export const endEvent = executionEnd;

export function compactedFact({ conversation, evidence }: Observed, entry: Entry<'compacted'>): Event {
  const { trigger, tokensBefore } = entry;
  const fact: Pick<ConversationFacts, 'compacted'> = {
    compacted: {
      conversation,
      ...(trigger === '' ? {} : { trigger }),
      ...(tokensBefore === undefined ? {} : { tokens_before: tokensBefore }),
      evidence,
    },
  };
  return cityFact(cleanObject(fact));
}

export function changedFact({ conversation, evidence }: Observed, entry: string): Event {
  const fact: Pick<ConversationFacts, 'transcript_changed'> = {
    transcript_changed: { conversation, entry, evidence },
  };
  return cityFact(cleanObject(fact));
}

export function askedFact({ conversation, evidence }: Observed, entry: Entry<'asked'>): Event {
  const { question, callId, title, detail, options, at } = entry;
  const fact: Pick<ConversationFacts, 'asked'> = {
    asked: {
      conversation,
      id: question,
      ...(callId === '' ? {} : { call: callId }),
      title,
      ...(detail === '' ? {} : { detail: keptText(detail).text }),
      options,
      at: rfc3339(at),
      evidence,
    },
  };
  return cityFact(cleanObject(fact));
}

export function answeredFact({ conversation, evidence }: Observed, entry: Entry<'answered'>): Event {
  const { question, by, option, at } = entry;
  const fact: Pick<ConversationFacts, 'answered'> = {
    answered: {
      conversation,
      id: question,
      by,
      ...(option === undefined ? {} : { option }),
      reason: answerWords(entry),
      at: rfc3339(at),
      evidence,
    },
  };
  return cityFact(cleanObject(fact));
}

export function missedFact({ conversation, evidence }: Observed, { count }: Entry<'missed'>): Event {
  const fact: Pick<ConversationFacts, 'missed'> = { missed: { conversation, entries: count, evidence } };
  return cityFact(cleanObject(fact));
}

function messageText(text: string): string {
  const kept = keptText(text, MESSAGE_BYTES);
  if (kept.sha256 === undefined) return kept.text;
  return `${kept.text}\n[cut: ${kept.bytes} bytes in all, sha256 ${kept.sha256}]`;
}

function argumentsOf(args: unknown): JsonObject {
  const whole = JSON.stringify(args) ?? '';
  const { text, bytes, sha256 } = keptText(whole, ARGUMENT_BYTES);
  if (sha256 !== undefined) return { gascity: { cut: { bytes, sha256, beginning: text } } };
  return cleanObject(args);
}

/** JSON as a log can hold it: no half surrogate pairs. What is no object is wrapped. */
export function cleanObject(value: unknown): JsonObject {
  const clean = cleanJson(value);
  return isObject(clean) ? clean : { value: clean };
}

function cleanJson(value: unknown): JsonValue {
  if (typeof value === 'string') return wellFormed(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'boolean' || value === null) return value;
  if (Array.isArray(value)) return value.map(cleanJson);
  if (typeof value !== 'object') return null;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [wellFormed(key), cleanJson(inner)]));
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const wellFormed = (text: string): string => Buffer.from(text, 'utf8').toString('utf8');
