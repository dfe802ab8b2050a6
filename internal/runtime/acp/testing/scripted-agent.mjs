// An agent of the Agent Client Protocol that does what a script says: a real process for tests, without any library.
// The script is JSON, from the file named in argv or from ACP_SCRIPT; its form is in scripted-agent.ts.
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const script = JSON.parse(
  process.argv[2] ? readFileSync(process.argv[2], 'utf8') : (process.env.ACP_SCRIPT ?? '{}'),
);
const FILE_POLL_MS = 10;
const open = new Map();
const used = new Map();
let nextId = 1;
let cancelled = false;
let wakeCancelled = () => undefined;

const write = (text) => new Promise((done) => process.stdout.write(text, done));
const send = (message) => write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const update = (sessionId, fields) =>
  send({ method: 'session/update', params: { sessionId, update: fields } });
const text = (value) => ({ type: 'text', text: value });

function ask(method, params) {
  const id = `agent-${nextId++}`;
  const answer = new Promise((done) => open.set(id, done));
  send({ id, method, params });
  return answer;
}

/** What a step's request was answered with, said aloud so that a test sees it. */
async function tell(context, label, method, params) {
  const { result, error } = await ask(method, { sessionId: context.sessionId, ...params });
  const answer = error ? `error ${error.code} ${error.message}` : JSON.stringify(result ?? null);
  await update(context.sessionId, {
    sessionUpdate: 'agent_message_chunk',
    content: text(`[${label}] ${answer}\n`),
  });
  return result;
}

async function terminal(context, { steps = ['wait', 'output', 'release'], ...create }) {
  const { sessionId } = context;
  const made = await tell(context, 'create', 'terminal/create', create);
  if (!made) return;
  const { terminalId } = made;
  await update(sessionId, {
    sessionUpdate: 'tool_call',
    toolCallId: `call-${terminalId}`,
    title: create.command,
    kind: 'execute',
    status: 'in_progress',
    content: [{ type: 'terminal', terminalId }],
  });
  const methods = { wait: 'wait_for_exit', output: 'output', kill: 'kill', release: 'release' };
  for (const step of steps) await tell(context, step, `terminal/${methods[step]}`, { terminalId });
}

const STEPS = {
  say: async (context, words, { chunks = 1, times = 1 }) => {
    const value = words.repeat(times);
    const size = Math.max(1, Math.ceil(value.length / chunks));
    for (let from = 0; from < value.length; from += size) {
      const content = text(value.slice(from, from + size));
      await update(context.sessionId, { sessionUpdate: 'agent_message_chunk', content });
    }
  },
  think: (context, value) =>
    update(context.sessionId, { sessionUpdate: 'agent_thought_chunk', content: text(value) }),
  update: (context, value) => update(context.sessionId, value),
  ask: async (context, value) => {
    const options = value.options ?? [
      { optionId: 'yes', name: 'Allow once', kind: 'allow_once' },
      { optionId: 'always', name: 'Always allow', kind: 'allow_always' },
      { optionId: 'no', name: 'Reject', kind: 'reject_once' },
    ];
    const toolCall = { toolCallId: 'call-ask', title: value.title ?? 'Do it', ...value.toolCall };
    await tell(context, 'permission', 'session/request_permission', { toolCall, options });
  },
  readFile: (context, value) => tell(context, 'read', 'fs/read_text_file', value),
  writeFile: (context, value) => tell(context, 'write', 'fs/write_text_file', value),
  terminal,
  request: (context, value) => tell(context, value.method, value.method, value.params),
  requestUnanswered: (context, value) => {
    void ask(value.method, { sessionId: context.sessionId, ...value.params });
  },
  notify: (_context, value) => send(value),
  sleepMs: (_context, value) => sleep(value),
  waitForFile: async (_context, path) => {
    while (!existsSync(path)) await sleep(FILE_POLL_MS);
  },
  touch: (_context, path) => writeFileSync(path, ''),
  untilCancelled: () => (cancelled ? undefined : new Promise((done) => (wakeCancelled = done))),
  raw: (_context, value) => write(value),
  bigLine: (_context, bytes) => write(`{"pad":"${'x'.repeat(bytes)}"}\n`),
  flood: async (context, { count, line, say }) => {
    for (let i = 0; i < count; i += 1) await (line ? write(`${line}\n`) : STEPS.say(context, say, {}));
  },
  stderr: (_context, value) => new Promise((done) => process.stderr.write(value, done)),
  stopReading: () => process.stdin.pause(),
  closeOutput: () => new Promise((done) => process.stdout.end(done)),
  exit: (_context, code) => process.exit(code),
  signal: (_context, name) => process.kill(process.pid, name),
  never: () => new Promise(() => setInterval(() => undefined, 3_600_000)),
  reply: (context, result) => answerOnce(context, { result }),
  replyError: (context, error) => answerOnce(context, { error }),
};

function answerOnce(context, outcome) {
  context.answered = true;
  return send({ id: context.id, ...outcome });
}

async function run(context, steps) {
  for (const step of steps) {
    const [kind] = Object.keys(step);
    if (!STEPS[kind]) throw new Error(`no such step: ${kind}`);
    await STEPS[kind](context, step[kind], step);
  }
}

const conversationFile = (id) => join(script.store, `${encodeURIComponent(id)}.json`);
const unknownConversation = (sessionId) => ({
  code: -32002,
  message: 'Resource not found',
  data: { sessionId },
});

function newConversation({ cwd }) {
  const sessionId = script.conversation ?? `conversation-${process.pid}-${nextId++}`;
  if (script.store) {
    mkdirSync(script.store, { recursive: true });
    writeFileSync(conversationFile(sessionId), JSON.stringify({ cwd, said: [] }));
  }
  return { result: { sessionId } };
}

async function openConversation({ sessionId }, replays) {
  if (!script.store || !existsSync(conversationFile(sessionId)))
    return { error: unknownConversation(sessionId) };
  const { said } = JSON.parse(readFileSync(conversationFile(sessionId), 'utf8'));
  for (const value of replays ? said : []) {
    await update(sessionId, { sessionUpdate: 'user_message_chunk', content: text(value) });
    await update(sessionId, { sessionUpdate: 'agent_message_chunk', content: text(`you said: ${value}`) });
  }
  return { result: {} };
}

const said = (params) =>
  (params.prompt ?? [])
    .map((block) => block.text ?? `<${block.type} ${block.uri ?? block.name ?? ''}>`)
    .join(' ');

function remember(sessionId, value) {
  if (!script.store || !existsSync(conversationFile(sessionId))) return;
  const kept = JSON.parse(readFileSync(conversationFile(sessionId), 'utf8'));
  writeFileSync(conversationFile(sessionId), JSON.stringify({ ...kept, said: [...kept.said, value] }));
}

function stepsFor(value) {
  for (const [index, entry] of (script.prompts ?? []).entries()) {
    if (entry.when !== undefined && !value.includes(entry.when)) continue;
    if (entry.once && used.has(index)) continue;
    used.set(index, true);
    return entry.steps;
  }
  return [{ say: `you said: ${value}\n` }];
}

async function prompt(context) {
  const value = said(context.params);
  cancelled = false;
  remember(context.sessionId, value);
  await run(context, stepsFor(value));
  return { result: { stopReason: cancelled ? 'cancelled' : 'end_turn' } };
}

const REQUESTS = {
  initialize: () => ({
    result: {
      protocolVersion: script.protocolVersion ?? 1,
      agentInfo: { name: 'scripted', version: '1.2.3' },
      agentCapabilities: script.capabilities ?? {},
      authMethods: script.authMethods ?? [],
    },
  }),
  authenticate: () => ({ result: {} }),
  'session/new': ({ params }) => newConversation(params),
  'session/load': ({ params }) => openConversation(params, true),
  'session/resume': ({ params }) => openConversation(params, false),
  'session/list': () => ({ result: { sessions: script.listed ?? [] } }),
  'session/prompt': prompt,
};

async function serve({ id, method, params }) {
  const context = { id, params, sessionId: params?.sessionId ?? script.conversation ?? '', answered: false };
  const steps = script.on?.[method];
  if (steps) await run(context, steps);
  if (context.answered) return;
  const make = REQUESTS[method];
  const outcome = make
    ? await make(context)
    : { error: { code: -32601, message: `"Method not found": ${method}` } };
  if (!context.answered) await send({ id, ...outcome });
}

function take(line) {
  if (script.record) appendFileSync(script.record, `${line}\n`);
  const message = JSON.parse(line);
  if (message.method === 'session/cancel') {
    cancelled = true;
    if (!script.ignoresCancel) wakeCancelled();
  } else if (message.method !== undefined && message.id !== undefined) {
    serve(message).catch((error) => {
      process.stderr.write(`${error.stack}\n`);
      process.exit(70);
    });
  } else if (message.method === undefined) {
    open.get(message.id)?.(message);
    open.delete(message.id);
  }
}

if (script.pidFile) writeFileSync(script.pidFile, String(process.pid));
if (script.ignoresTerm) process.on('SIGTERM', () => undefined);
process.stdout.on('error', () => process.exit(0));
const lines = createInterface({ input: process.stdin });
lines.on('line', take);
lines.on('close', () => {
  if (!script.outlivesInput) process.exit(0);
});
await run({ id: null, params: {}, sessionId: script.conversation ?? '', answered: true }, script.start ?? []);
