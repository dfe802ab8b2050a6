import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

type Body = Readonly<Record<string, unknown>>;

export interface ScriptedModel {
  readonly url: string;
  /** The texts that people said in the conversation of each request that carried tools, in order of arrival. */
  readonly asked: readonly (readonly string[])[];
  close(): Promise<void>;
}

/**
 * A model on loopback, so that real agent programs run offline. Answers by the last text of the user: `RUN: <command>` with
 * a call of the program's shell tool and then `done: <first line of the result>`, anything else with `heard: <text>`.
 * Speaks Anthropic Messages and OpenAI Responses, streaming.
 */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const asked: string[][] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const path = request.url ?? '';
      const body = parse(Buffer.concat(chunks).toString('utf8'));
      if (/\/messages(\?|$)/.test(path)) return answerMessages(response, body, asked);
      if (path.endsWith('/responses')) return answerResponses(response, body, asked);
      response.writeHead(200, { 'content-type': 'application/json' });
      return response.end(JSON.stringify({ input_tokens: 10, data: [], models: [] }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function parse(raw: string): Body {
  const value: unknown = raw === '' ? {} : JSON.parse(raw);
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

const list = (value: unknown): readonly Body[] => (Array.isArray(value) ? (value as Body[]) : []);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** What a person said, without the reminders that programs add. */
function said(content: unknown): readonly string[] {
  const blocks = typeof content === 'string' ? [content] : list(content).map((block) => text(block['text']));
  return blocks.filter((block) => block !== '' && !block.trimStart().startsWith('<'));
}

interface Answer {
  readonly run?: string;
  readonly say: string;
}

function answerTo(users: readonly string[], result: string | undefined): Answer {
  if (result !== undefined) return { say: `done: ${result.trim().split('\n').at(-1) ?? ''}` };
  const last = users.at(-1) ?? '';
  const run = /^RUN: *([^\n]+)/.exec(last)?.[1];
  return run === undefined ? { say: `heard: ${last.slice(0, 60)}` } : { run, say: '' };
}

let counter = 0;
function nextId(prefix: string): string {
  counter += 1;
  return `${prefix}_scripted_${counter}`;
}

function sender(response: ServerResponse): (type: string, data: object) => void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  return (type, data) => response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
}

function answerMessages(response: ServerResponse, body: Body, asked: string[][]): void {
  const users = list(body['messages']).filter((message) => message['role'] === 'user');
  const texts = users.flatMap((user) => said(user['content']));
  if (list(body['tools']).length > 0) asked.push(texts);
  const block = list(users.at(-1)?.['content']).find((found) => found['type'] === 'tool_result');
  const isLast = said(users.at(-1)?.['content']).length === 0;
  const content = block?.['content'];
  const result = typeof content === 'string' ? content : said(content).join('\n');
  const answer = answerTo(texts, block && isLast ? result : undefined);
  const usage = { input_tokens: 10, output_tokens: 10 };
  const message = { id: nextId('msg'), type: 'message', role: 'assistant', model: body['model'], usage };
  const send = sender(response);
  send('message_start', { message: { ...message, content: [], stop_reason: null, stop_sequence: null } });
  if (answer.run === undefined) {
    send('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
    send('content_block_delta', { index: 0, delta: { type: 'text_delta', text: answer.say } });
  } else {
    const call = { type: 'tool_use', id: nextId('toolu'), name: 'Bash', input: {} };
    const input = JSON.stringify({ command: answer.run, description: 'scripted' });
    send('content_block_start', { index: 0, content_block: call });
    send('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: input } });
  }
  send('content_block_stop', { index: 0 });
  const stop_reason = answer.run === undefined ? 'end_turn' : 'tool_use';
  send('message_delta', { delta: { stop_reason, stop_sequence: null }, usage });
  send('message_stop', {});
  response.end();
}

function answerResponses(response: ServerResponse, body: Body, asked: string[][]): void {
  const input = list(body['input']);
  const texts = input.filter((item) => item['role'] === 'user').flatMap((item) => said(item['content']));
  asked.push(texts);
  const last = input.at(-1);
  const result = text(last?.['type']).endsWith('_output') ? text(last?.['output']) : undefined;
  const answer = answerTo(texts, result);
  const id = nextId('item');
  const status = 'completed';
  const item =
    answer.run === undefined
      ? {
          type: 'message',
          id,
          role: 'assistant',
          status,
          content: [{ type: 'output_text', text: answer.say, annotations: [] }],
        }
      : {
          type: 'function_call',
          id,
          status,
          call_id: nextId('call'),
          name: 'exec_command',
          arguments: JSON.stringify({ cmd: answer.run, yield_time_ms: 20_000 }),
        };
  const usage = {
    input_tokens: 10,
    output_tokens: 10,
    total_tokens: 20,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  const whole = { id: nextId('resp'), object: 'response', status, model: 'scripted', output: [item], usage };
  const send = sender(response);
  send('response.created', { response: { ...whole, status: 'in_progress', output: [] } });
  send('response.output_item.added', { output_index: 0, item });
  send('response.output_item.done', { output_index: 0, item });
  send('response.completed', { response: whole });
  response.end();
}
