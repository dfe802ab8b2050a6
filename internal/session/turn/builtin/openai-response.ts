import { GcError, messageOf } from '../../../platform/errors.ts';

/** Source: agentsessions.v1. */
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;
const MAX_LINE_BYTES = 8 * 1024 * 1024;

export interface CompletionUsage {
  readonly input: number;
  readonly output: number;
  readonly reasoning: number;
}

export interface Completion {
  readonly text: string;
  /** '' without. */
  readonly reasoning: string;
  /** As the server names it; '' when it does not. */
  readonly model: string;
  readonly usage: CompletionUsage | undefined;
}

/** An answer in one piece. @throws GcError `model-failed` */
export async function readCompletion(response: Response): Promise<Completion> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bytesOf(response)) chunks.push(chunk);
  const answer = parsed(Buffer.concat(chunks).toString('utf8'));
  const message = member(firstChoice(answer), 'message');
  if (!isObject(message)) throw failed('the answer has no message');
  refuseToolCalls(message);
  return {
    text: text(message, 'content'),
    reasoning: text(message, 'reasoning_content'),
    model: text(answer, 'model'),
    usage: usageIn(answer),
  };
}

/** An answer in pieces; each piece of its text goes to `delta`. @throws GcError `model-failed`, also when it is cut off */
export async function readStream(response: Response, delta: (chunk: string) => void): Promise<Completion> {
  const answer = { text: '', reasoning: '', model: '', usage: undefined as CompletionUsage | undefined };
  let isWhole = false;
  for await (const line of linesOf(response)) {
    if (!line.startsWith('data:')) continue;
    const data = line.slice('data:'.length).trim();
    if (data === '[DONE]') return answer;
    const event = parsed(data);
    const error = member(event, 'error');
    if (error !== undefined) throw failed(`the model failed: ${text(error, 'message') || 'no reason given'}`);
    answer.model = text(event, 'model') || answer.model;
    answer.usage = usageIn(event) ?? answer.usage;
    const choice = firstChoice(event);
    const piece = member(choice, 'delta');
    refuseToolCalls(piece);
    const chunk = text(piece, 'content');
    answer.text += chunk;
    answer.reasoning += text(piece, 'reasoning_content');
    if (chunk !== '') delta(chunk);
    if (text(choice, 'finish_reason') !== '') isWhole = true;
  }
  if (!isWhole) throw failed('the answer was cut off');
  return answer;
}

/** The beginning of a response's text. */
export async function textUpTo(response: Response, limit: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytesOf(response)) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= limit) break;
  }
  return Buffer.concat(chunks).subarray(0, limit).toString('utf8').trim();
}

async function* linesOf(response: Response): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of bytesOf(response)) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > MAX_LINE_BYTES) throw failed(`a line of the answer is over ${MAX_LINE_BYTES} bytes`);
    yield* lines;
  }
  if (rest !== '') yield rest;
}

async function* bytesOf(response: Response): AsyncIterable<Uint8Array> {
  if (!response.body) return;
  const reader = response.body.getReader();
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      size += value.length;
      if (size > MAX_RESPONSE_BYTES) throw failed(`the answer is over ${MAX_RESPONSE_BYTES} bytes`);
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function firstChoice(answer: unknown): unknown {
  const choices = member(answer, 'choices');
  return Array.isArray(choices) ? choices[0] : undefined;
}

function usageIn(answer: unknown): CompletionUsage | undefined {
  const usage = member(answer, 'usage');
  if (!isObject(usage)) return undefined;
  return {
    input: count(usage, 'prompt_tokens'),
    output: count(usage, 'completion_tokens'),
    reasoning: count(member(usage, 'completion_tokens_details'), 'reasoning_tokens'),
  };
}

/** Such an answer was not asked for, and would be lost. */
function refuseToolCalls(message: unknown): void {
  const calls = member(message, 'tool_calls');
  if (Array.isArray(calls) && calls.length > 0)
    throw failed('the model calls tools, which it was not offered');
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch (error) {
    throw failed(`the answer is not JSON: ${messageOf(error)}`);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

const member = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);

function text(value: unknown, name: string): string {
  const found = member(value, name);
  return typeof found === 'string' ? found : '';
}

function count(value: unknown, name: string): number {
  const found = member(value, name);
  return typeof found === 'number' && Number.isSafeInteger(found) && found > 0 ? found : 0;
}

function failed(what: string): GcError {
  return new GcError('model-failed', what, { next: 'resume the session to ask again' });
}
