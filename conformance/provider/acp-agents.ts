import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RuntimeConfig } from '../../internal/runtime/runtime-config.ts';
import { type Agent, FACTS_SOURCE, QUESTION, quoted } from './agents.ts';

/** One program for every kind. */
const SERVER = `
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
const [ABOUT, OPTIONS, QUESTION_ID] = [${JSON.stringify(QUESTION.about)}, ${JSON.stringify(QUESTION.options)}, 'question'];
let [kind, option, flag] = WHAT;
const log = (file, value) => appendFileSync(file, JSON.stringify(value) + '\\n');
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
const say = (text) => send({ method: 'session/update', params: { sessionId: 's', update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } } });
let initialized = false, begun = false;
const early = kind === 'recorder' ? Number(option) : kind === 'mute' ? 1e9 : 0;
const readyAt = performance.now() + early;
const soon = (work) => setTimeout(work, Math.max(0, readyAt - performance.now()));
let turn;
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === 'initialize') soon(() => { initialized = true; send({ id, result: { protocolVersion: 1, agentCapabilities: {}, authMethods: [] } }); });
  else if (!initialized) log('early.jsonl', line);
  else if (method === 'session/new') { send({ id, result: { sessionId: 's' } }); begin(); }
  else if (method === 'session/prompt') prompt(id, params.prompt.map((block) => block.text ?? '').join('\\n'));
  else if (method === 'session/cancel') { log('keys.jsonl', 'cancel'); if (turn !== undefined) send({ id: turn, result: { stopReason: 'cancelled' } }); turn = undefined; }
  else if (id === QUESTION_ID && method === undefined) answered(result.outcome);
  else if (id !== undefined && method !== undefined) send({ id, error: { code: -32601, message: 'Method not found' } });
});
process.stdin.on('end', () => process.exit(0));
process.on('SIGINT', () => log('keys.jsonl', 'SIGINT'));
function prompt(id, text) {
  log('messages.jsonl', text);
  say('ok: ' + text.length + '\\n');
  if (flag === 'works') turn = id;
  else if (flag === 'asks') { flag = ''; turn = id; ask(); }
  else send({ id, result: { stopReason: 'end_turn' } });
}
function ask() {
  const toolCall = { toolCallId: 'call', title: ABOUT, kind: 'execute', status: 'pending' };
  const options = OPTIONS.map((name, at) => ({ optionId: 'option-' + at, name, kind: ['allow_once', 'allow_always', 'reject_once'][at] }));
  send({ id: QUESTION_ID, method: 'session/request_permission', params: { sessionId: 's', toolCall, options } });
}
function answered({ optionId }) {
  if (optionId === undefined || turn === undefined) return;
  log('answers.jsonl', OPTIONS[Number(optionId.slice('option-'.length))]);
  send({ id: turn, result: { stopReason: 'end_turn' } });
  turn = undefined;
}
function begin() {
  if (begun || kind !== 'shell') return;
  begun = true;
  const go = setInterval(() => {
    if (!existsSync('go')) return;
    clearInterval(go);
    const child = spawn('sh', ['-c', option], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.setEncoding('utf8').on('data', say);
    child.stderr.setEncoding('utf8').on('data', (text) => process.stderr.write(text));
    child.on('close', (code, signal) => process.stdout.write('', () => { if (signal) process.kill(process.pid, signal); else process.exit(code); }));
  }, 20);
}
if (kind === 'forker') {
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => {});
  process.stdin.removeAllListeners('end');
  const deaf = 'trap "" TERM HUP INT; echo $$ >> pids; while :; do sleep 1; done';
  for (const detached of [false, true]) spawn('sh', ['-c', deaf], { detached, stdio: 'ignore' });
  while (!existsSync('pids') || readFileSync('pids', 'utf8').split('\\n').length < 3) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
  appendFileSync('pids', process.pid + '\\n');
}
setInterval(() => {}, 1000);
`;

/**
 * The suite's agents for a provider that speaks the Agent Client Protocol to them: servers of it that leave the same files.
 * For `ProviderSubject.agent`. Keys, a terminal and start-up questions have no meaning there.
 */
export function installAcpAgent(agent: Agent, folder: string): Partial<RuntimeConfig> {
  const common = { processNames: [], env: { PATH: process.env['PATH'] ?? '' } };
  const run = (what: readonly string[], more = ''): Partial<RuntimeConfig> => {
    // What it is stands in the file: its arguments are all those of the first prompt.
    const file = join(folder, 'agent.mjs');
    writeFileSync(file, `const WHAT = ${JSON.stringify(what)};\n${SERVER}\n${more}`);
    return { ...common, command: `exec ${quoted(process.execPath)} ${quoted(file)}` };
  };
  switch (agent.kind) {
    case 'recorder':
      return run([
        'recorder',
        String(agent.readyAfterMs ?? 0),
        agent.works ? 'works' : agent.asks ? 'asks' : '',
      ]);
    case 'facts':
      return run([agent.neverReady ? 'mute' : 'facts'], FACTS_SOURCE);
    case 'forker':
      return run(['forker']);
    case 'shell':
      return agent.ready
        ? run(['shell', agent.script])
        : { ...common, command: `sh -c ${quoted(agent.script)}` };
  }
}
