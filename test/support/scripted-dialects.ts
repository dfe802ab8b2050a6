import type { ServerResponse } from 'node:http';

export type Body = Readonly<Record<string, unknown>>;

/** What a model is asked in one request, whatever its dialect. */
export interface Request {
  /** The newest text of the person. */
  readonly text: string;
  /** The whole conversation as it was sent. */
  readonly whole: string;
  readonly tools: readonly string[];
  /** What the tool that was called last came to, when nothing was said since. */
  readonly toolResult: string | undefined;
}

export type Reply =
  | { readonly kind: 'say'; readonly text: string }
  | {
      readonly kind: 'call';
      readonly tool: string;
      readonly command: string;
      /** To be run outside of the program's sandbox, for which a program asks. */
      readonly outside: boolean;
    };

/** The wire format of one family of models. */
export interface Dialect {
  serves(path: string): boolean;
  read(body: Body): Request;
  reply(response: ServerResponse, path: string, body: Body, reply: Reply): void;
  /** What it answers, with 429, an account that has reached its limit for three hours. */
  readonly refusal: object;
}

const USAGE = 10;
let counter = 0;
const nextId = (prefix: string): string => {
  counter += 1;
  return `${prefix}_scripted_${counter}`;
};

export const listOf = (value: unknown): readonly Body[] => (Array.isArray(value) ? (value as Body[]) : []);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const textOf = (content: unknown): string =>
  typeof content === 'string'
    ? content
    : listOf(content)
        .map((part) => text(part['text']))
        .filter((part) => part !== '')
        .join('\n');

export function sendJson(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

function sendStream(
  response: ServerResponse,
  events: readonly (readonly [string, object])[],
  end = '',
): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const [name, data] of events) {
    response.write(`${name === '' ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`);
  }
  response.end(end);
}

/** What the shell tools of the programs call their arguments. */
function argumentsOf({ tool, command, outside }: Reply & { kind: 'call' }): Body {
  if (tool === 'shell') return { command: ['bash', '-lc', command] };
  if (tool === 'exec_command') {
    return {
      cmd: command,
      ...(outside && { sandbox_permissions: 'require_escalated', justification: 'scripted' }),
    };
  }
  return { command, description: 'scripted' };
}

/** OpenAI Chat Completions, as opencode speaks it. */
const chat: Dialect = {
  refusal: {
    error: { type: 'usage_limit_reached', message: 'Usage limit reached. Please try again in 3 hours.' },
  },
  serves: (path) => path.endsWith('/chat/completions'),
  read: (body) => {
    const messages = listOf(body['messages']);
    const last = messages.at(-1);
    return {
      text: textOf(messages.filter((m) => m['role'] === 'user').at(-1)?.['content']),
      whole: JSON.stringify(messages),
      tools: listOf(body['tools']).map((tool) => text((tool['function'] as Body | undefined)?.['name'])),
      toolResult: last?.['role'] === 'tool' ? textOf(last['content']) : undefined,
    };
  },
  reply: (response, _path, body, reply) => {
    const call = reply.kind === 'call' && {
      id: nextId('call'),
      type: 'function',
      function: { name: reply.tool, arguments: JSON.stringify(argumentsOf(reply)) },
    };
    const message = call
      ? { role: 'assistant', content: null, tool_calls: [{ index: 0, ...call }] }
      : { role: 'assistant', content: reply.kind === 'say' ? reply.text : '' };
    const reason = call ? 'tool_calls' : 'stop';
    const usage = { prompt_tokens: USAGE, completion_tokens: USAGE, total_tokens: 2 * USAGE };
    const base = { id: nextId('chat'), model: body['model'], created: 1 };
    if (body['stream'] !== true) {
      const choices = [{ index: 0, message, finish_reason: reason }];
      return sendJson(response, { ...base, object: 'chat.completion', usage, choices });
    }
    const chunk = (delta: Body, finish: string | null, more: Body = {}): readonly [string, object] => [
      '',
      {
        ...base,
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta, finish_reason: finish }],
        ...more,
      },
    ];
    sendStream(response, [chunk(message, null), chunk({}, reason, { usage })], 'data: [DONE]\n\n');
  },
};

/** OpenAI Responses, as Codex speaks it. */
const responses: Dialect = {
  refusal: { error: { type: 'usage_limit_reached', plan_type: 'plus', resets_in_seconds: 10_800 } },
  serves: (path) => path.endsWith('/responses'),
  read: (body) => {
    const input = listOf(body['input']);
    const last = input.at(-1);
    const output = last?.['output'];
    return {
      text: textOf(input.filter((item) => item['role'] === 'user').at(-1)?.['content']),
      whole: JSON.stringify(input),
      tools: listOf(body['tools']).map((tool) => text(tool['name'])),
      toolResult: text(last?.['type']).endsWith('_output')
        ? text(output) || JSON.stringify(output)
        : undefined,
    };
  },
  reply: (response, _path, body, reply) => {
    const item =
      reply.kind === 'call'
        ? {
            type: 'function_call',
            id: nextId('fc'),
            call_id: nextId('call'),
            name: reply.tool,
            arguments: JSON.stringify(argumentsOf(reply)),
            status: 'completed',
          }
        : {
            type: 'message',
            id: nextId('msg'),
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: reply.text, annotations: [] }],
          };
    const usage = { input_tokens: USAGE, output_tokens: USAGE, total_tokens: 2 * USAGE };
    const whole = {
      id: nextId('resp'),
      object: 'response',
      status: 'completed',
      model: body['model'],
      output: [item],
      usage,
    };
    const events: (readonly [string, Body])[] = [
      ['response.created', { response: { ...whole, status: 'in_progress', output: [] } }],
      ['response.output_item.done', { output_index: 0, item }],
      ['response.completed', { response: whole }],
    ];
    sendStream(
      response,
      events.map(([type, data], index) => [type, { type, sequence_number: index, ...data }] as const),
    );
  },
};

/** Gemini generateContent. */
const gemini: Dialect = {
  refusal: {
    error: {
      code: 429,
      status: 'RESOURCE_EXHAUSTED',
      message: 'You have exhausted your daily quota on this model. Your quota will reset after 3h0m0s.',
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'QUOTA_EXHAUSTED',
          domain: 'cloudcode-pa.googleapis.com',
        },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '10800s' },
      ],
    },
  },
  serves: (path) => /:(stream)?[gG]enerateContent$/.test(path),
  read: (body) => {
    const contents = listOf(body['contents']);
    const parts = (content: Body | undefined) => listOf(content?.['parts']);
    const answer = parts(contents.at(-1)).find((part) => part['functionResponse'] !== undefined);
    const texts = contents
      .filter((content) => content['role'] === 'user')
      .map((content) => textOf(content['parts']))
      .filter((each) => each !== '');
    return {
      text: texts.at(-1) ?? '',
      whole: JSON.stringify(contents),
      tools: listOf(body['tools']).flatMap((tool) =>
        listOf(tool['functionDeclarations']).map((declared) => text(declared['name'])),
      ),
      toolResult: answer && JSON.stringify((answer['functionResponse'] as Body)['response']),
    };
  },
  reply: (response, path, _body, reply) => {
    const part =
      reply.kind === 'call'
        ? { functionCall: { name: reply.tool, args: argumentsOf(reply) } }
        : { text: reply.text };
    const whole = {
      candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }],
      usageMetadata: { promptTokenCount: USAGE, candidatesTokenCount: USAGE, totalTokenCount: 2 * USAGE },
      modelVersion: 'scripted',
    };
    if (path.includes('stream')) sendStream(response, [['', whole]]);
    else sendJson(response, whole);
  },
};

/** Besides the Anthropic Messages API, which scripted-messages.ts speaks itself. */
export const DIALECTS: readonly Dialect[] = [chat, responses, gemini];

/** The shell among the tools that a program offers. */
export const shellAmong = (tools: readonly string[]): string | undefined =>
  tools.find((name) => /^(bash|shell|run_shell_command|exec_command|shell_command)$/i.test(name));
