import type { Clock } from '../../../platform/clock.ts';
import { GcError, messageOf } from '../../../platform/errors.ts';
import {
  MessageSchema,
  type ModelCall,
  type Part,
  type Usage,
  UsageSchema,
} from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  type ModelResult,
  ModelResultSchema,
} from '../../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { create, type MessageInitShape } from '../../../protocol/protobuf.ts';
import type { ModelProvider } from '../harness.ts';
import { ECHO_MODEL } from './echo-harness.ts';
import {
  type Completion,
  type CompletionUsage,
  readCompletion,
  readStream,
  textUpTo,
} from './openai-response.ts';

/** Milliseconds for one answer, to its last byte. Source: agentsessions.v1. */
export const MODEL_TIMEOUT_MS = 120_000;

/** Bytes of a refusal that are shown. */
const MAX_REFUSAL_BYTES = 2_048;

/** What a request is made of besides its parameters. */
const OWN_MEMBERS: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'stream',
  'stream_options',
  'n',
  'tools',
]);

export interface OpenAiModelOptions {
  /** What is asked where a call names no model, or `echo`. */
  readonly model: string;
  /** Defaults to `https://api.openai.com/v1`. */
  readonly baseUrl?: string;
  /** Defaults to `/chat/completions`; may carry a query. */
  readonly path?: string;
  /** '' sends none. */
  readonly apiKey: string;
  /** Defaults to `Authorization`, which carries the key as a bearer token; another header carries the key alone. */
  readonly authHeader?: string;
  /** Whether answers come in pieces. */
  readonly stream: boolean;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly clock: Clock;
}

/**
 * A model behind the OpenAI chat completions protocol, texts only. The key is in no error.
 * Source: agentsessions.v1 model provider; the public chat completions API.
 * @throws GcError `model-failed`, `model-unsupported` from `complete`
 */
export function openAiModel(options: OpenAiModelOptions): ModelProvider {
  return {
    streams: options.stream,
    complete: async (call, { signal, delta }) => {
      const body = requestBody(call, options);
      const over = new AbortController();
      const limit = options.clock.sleep(MODEL_TIMEOUT_MS, over.signal).then(
        () => over.abort(failed(`no whole answer within ${MODEL_TIMEOUT_MS / 1_000} s`)),
        () => undefined,
      );
      try {
        const either = AbortSignal.any([signal, over.signal]);
        return await ask(options, body, either, delta);
      } catch (error) {
        if (signal.aborted) throw signal.reason;
        if (over.signal.aborted) throw over.signal.reason;
        if (error instanceof GcError) throw error;
        throw failed(redacted(describeFailure(error), options.apiKey));
      } finally {
        over.abort();
        await limit;
      }
    },
  };
}

async function ask(
  options: OpenAiModelOptions,
  body: object,
  signal: AbortSignal,
  delta: ((chunk: string) => void) | undefined,
): Promise<ModelResult> {
  const { baseUrl = 'https://api.openai.com/v1', path = '/chat/completions' } = options;
  const response = await options.fetch(`${baseUrl.replace(/\/+$/, '')}${path}`, {
    method: 'POST',
    headers: headersFor(options),
    body: JSON.stringify(body),
    signal,
    // A redirect would carry the key to somebody else.
    redirect: 'error',
  });
  if (!response.ok) {
    const text = await textUpTo(response, MAX_REFUSAL_BYTES);
    throw failed(redacted(`the model's server answered ${response.status}: ${text}`, options.apiKey));
  }
  const completion = options.stream
    ? await readStream(response, delta ?? (() => undefined))
    : await readCompletion(response);
  return modelResult(completion, options.model);
}

function headersFor({ apiKey, authHeader = 'Authorization' }: OpenAiModelOptions): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (apiKey === '') return headers;
  headers[authHeader] = authHeader.toLowerCase() === 'authorization' ? `Bearer ${apiKey}` : apiKey;
  return headers;
}

function requestBody(call: ModelCall, { model, stream }: OpenAiModelOptions): object {
  if (call.tools.length > 0) throw unsupported('tools');
  const members: Record<string, unknown> = {
    model: call.model === '' || call.model === ECHO_MODEL ? model : call.model,
    messages: call.messages.map(({ role, parts }) => ({ role, content: parts.map(contentOf).join('') })),
    stream,
    ...(stream ? { stream_options: { include_usage: true } } : {}),
  };
  for (const [name, value] of Object.entries(call.params)) {
    if (OWN_MEMBERS.has(name)) throw unsupported(`the parameter ${JSON.stringify(name)}`);
    members[name] = parameter(value);
  }
  return members;
}

/** Parameters are texts in the protocol, and mostly numbers in the request. */
function parameter(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

function contentOf({ part }: Part): string {
  switch (part.case) {
    case 'text':
      return part.value.text;
    case 'reasoning':
    case undefined:
      return '';
    default:
      throw unsupported(`${part.case} parts`);
  }
}

function modelResult({ text, reasoning, model, usage }: Completion, configured: string): ModelResult {
  const modelId = model === '' ? configured : model;
  const parts: NonNullable<MessageInitShape<typeof MessageSchema>['parts']> = [
    { part: { case: 'text', value: { text } } },
  ];
  if (reasoning !== '') {
    const opaque = { case: 'opaqueBytes' as const, value: Buffer.from(reasoning, 'utf8') };
    parts.unshift({ part: { case: 'reasoning', value: { provider: 'openai', modelId, opaque } } });
  }
  return create(ModelResultSchema, {
    message: create(MessageSchema, { role: 'assistant', parts }),
    ...(usage === undefined ? {} : { usage: usageOf(usage, modelId) }),
  });
}

function usageOf({ input, output, reasoning }: CompletionUsage, model: string): Usage {
  return create(UsageSchema, {
    model,
    inputTokens: BigInt(input),
    outputTokens: BigInt(output),
    reasoningTokens: BigInt(reasoning),
  });
}

function describeFailure(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? `: ${messageOf(error.cause)}` : '';
  return `the model's server cannot be asked: ${messageOf(error)}${cause}`;
}

function redacted(text: string, key: string): string {
  return key === '' ? text : text.replaceAll(key, '[key]');
}

function failed(what: string): GcError {
  return new GcError('model-failed', what, { next: 'resume the session to ask again' });
}

function unsupported(what: string): GcError {
  return new GcError('model-unsupported', `this model takes texts only: ${what} cannot be sent to it`);
}
