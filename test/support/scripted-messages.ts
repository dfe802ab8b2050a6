import { createHash } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type Body,
  DIALECTS,
  listOf as list,
  type Reply,
  type Request,
  sendJson,
  shellAmong,
} from './scripted-dialects.ts';

/** What the agent program sent as the newest user text of one request. */
export interface Asked {
  readonly text: string;
  /** Everything that was said in the conversation so far, reminders of the program included. */
  readonly whole: string;
  readonly hasTools: boolean;
}

export interface ScriptedModel {
  readonly url: string;
  /** Newest user text of every request that carried tools (a real turn), in order of arrival. */
  readonly turns: readonly Asked[];
  /** What the tools that it called came to, as the program told it. */
  readonly toolResults: readonly string[];
  close(): Promise<void>;
}

/** The answer to a text: short, and provably to the whole of it. */
export function answerTo(text: string): string {
  return `heard ${Buffer.byteLength(text)} bytes ${createHash('sha256').update(text).digest('hex').slice(0, 12)}`;
}

/**
 * A model on loopback that speaks the Anthropic Messages API (streaming and not), OpenAI's two and Gemini's, and answers
 * each user text with its size and digest, so that a real agent program can run with no network and every answer is known
 * beforehand. A line `RUN: command` makes it call the shell first; then what came of it is what it answers. `RUN OUTSIDE:`
 * asks for leave to run outside of the program's sandbox, where the program has one. `REFUSE` has the account reach its limit.
 */
export async function startScriptedModel(): Promise<ScriptedModel> {
  const turns: Asked[] = [];
  const toolResults: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const path = (request.url ?? '').replace(/\?.*/, '');
      const body = parse(Buffer.concat(chunks).toString('utf8'));
      const dialect = DIALECTS.find((each) => each.serves(path));
      if (dialect) {
        const asked = dialect.read(body);
        if (asked.toolResult !== undefined) toolResults.push(asked.toolResult);
        else if (asked.tools.length > 0) turns.push({ ...asked, hasTools: true });
        if (asked.tools.length > 0 && asked.text.startsWith('REFUSE'))
          return refuse(response, dialect.refusal);
        return dialect.reply(response, path, body, replyTo(asked));
      }
      if (!path.includes('/messages')) return sendJson(response, { ok: true });
      if (path.includes('count_tokens')) return sendJson(response, { input_tokens: 10 });
      const result = newestToolResult(body);
      if (result !== undefined) {
        toolResults.push(result);
        return reply(response, body, textBlock(answerTo(result)));
      }
      const text = newestUserText(body);
      if (hasTools(body)) turns.push({ text, whole: JSON.stringify(body['messages']), hasTools: true });
      if (hasTools(body) && text.startsWith('REFUSE')) return refuse(response, REFUSAL);
      const command = hasTools(body) ? /^RUN(?: OUTSIDE)?: (.+)$/m.exec(text)?.[1] : undefined;
      return reply(
        response,
        body,
        command === undefined ? textBlock(answerTo(text)) : toolBlock(shellOf(body), command),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    turns,
    toolResults,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** What Anthropic answers an account that has reached its limit. */
const REFUSAL = {
  type: 'error',
  error: { type: 'rate_limit_error', message: "You've hit your session limit. It resets in 3 hours." },
};

function refuse(response: ServerResponse, refusal: object): void {
  response.writeHead(429, { 'content-type': 'application/json', 'x-should-retry': 'false' });
  response.end(JSON.stringify(refusal));
}

function replyTo({ text, tools, toolResult }: Request): Reply {
  if (toolResult !== undefined) return { kind: 'say', text: answerTo(toolResult) };
  const tool = shellAmong(tools);
  const [, how, command] = /^(RUN|RUN OUTSIDE): (.+)$/m.exec(text) ?? [];
  if (tool === undefined || command === undefined) return { kind: 'say', text: answerTo(text) };
  return { kind: 'call', tool, command, outside: how === 'RUN OUTSIDE' };
}

function parse(raw: string): Body {
  const value: unknown = raw === '' ? {} : JSON.parse(raw);
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

const hasTools = (body: Body): boolean => list(body['tools']).length > 0;

/** The last text block of the last user message that the person (not the program's own reminders) wrote. */
function newestUserText(body: Body): string {
  const users = list(body['messages']).filter((m) => m['role'] === 'user');
  const content = users.at(-1)?.['content'];
  if (typeof content === 'string') return content;
  const texts = list(content)
    .filter((block) => block['type'] === 'text')
    .map((block) => String(block['text'] ?? ''))
    .filter((text) => !text.trimStart().startsWith('<system-reminder>'));
  return texts.at(-1) ?? '';
}

/** What the tools said that were called last, when nothing was said since. */
function newestToolResult(body: Body): string | undefined {
  const newest = list(body['messages']).at(-1);
  const result = list(newest?.['content']).find((block) => block['type'] === 'tool_result');
  if (!result) return undefined;
  const content = result['content'];
  return typeof content === 'string'
    ? content
    : list(content)
        .map((block) => String(block['text']))
        .join('');
}

interface Answer {
  readonly block: Body;
  /** The block as it begins, and what is said of it while it streams. */
  readonly empty: Body;
  readonly delta: Body;
  readonly stop: 'end_turn' | 'tool_use';
}

const textBlock = (text: string): Answer => ({
  block: { type: 'text', text },
  empty: { type: 'text', text: '' },
  delta: { type: 'text_delta', text },
  stop: 'end_turn',
});

/** Over ACP the program offers the shell of its client instead of its own. */
const shellOf = (body: Body): string =>
  list(body['tools'])
    .map((tool) => String(tool['name']))
    .find((name) => /(^|__)Bash$/.test(name)) ?? 'Bash';

function toolBlock(name: string, command: string): Answer {
  const tool = { type: 'tool_use', id: `toolu_scripted_${counter}`, name };
  const input = { command, description: 'scripted', timeout: SHELL_TIMEOUT_MS };
  return {
    block: { ...tool, input },
    empty: { ...tool, input: {} },
    delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) },
    stop: 'tool_use',
  };
}

/** The client's shell insists on one. */
const SHELL_TIMEOUT_MS = 60_000;
let counter = 0;

function reply(response: ServerResponse, body: Body, answer: Answer): void {
  counter += 1;
  const usage = { input_tokens: 10, output_tokens: 10 };
  const message = {
    id: `msg_scripted_${counter}`,
    type: 'message',
    role: 'assistant',
    model: body['model'],
    stop_sequence: null,
    usage,
  };
  if (body['stream'] !== true) {
    sendJson(response, { ...message, content: [answer.block], stop_reason: answer.stop });
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (type: string, data: object) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`);
  send('message_start', { message: { ...message, content: [], stop_reason: null } });
  send('content_block_start', { index: 0, content_block: answer.empty });
  send('content_block_delta', { index: 0, delta: answer.delta });
  send('content_block_stop', { index: 0 });
  send('message_delta', { delta: { stop_reason: answer.stop, stop_sequence: null }, usage });
  send('message_stop', {});
  response.end();
}
