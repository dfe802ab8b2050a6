import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectRegistry, connectSessions } from '../../../internal/api/grpc/connect-sessions.ts';
import { systemClock } from '../../../internal/platform/clock.ts';
import { textMessage, textOf } from '../../../internal/protocol/events.ts';
import { RegisterHarnessRequestSchema } from '../../../internal/protocol/generated/agentsessions/v1/harness_registry_pb.ts';
import {
  CreateSessionRequestSchema,
  ExecRequestSchema,
  ListSessionsRequestSchema,
} from '../../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../../../internal/protocol/protobuf.ts';
import { runProgram } from '../program.ts';
import { runIn, testContext } from '../testing/fake-city.ts';

const never = new AbortController().signal;
let dir: string;
let env: Record<string, string | undefined>;
const closing: (() => unknown)[] = [];

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'gc-serve-')));
  chmodSync(dir, 0o755);
  env = { PATH: process.env['PATH'], HOME: dir, GC_HOME: join(dir, 'home') };
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  rmSync(dir, { recursive: true });
});

interface Running {
  /** The line with which it says that it is ready. */
  readonly ready: Record<string, string>;
  stop(): Promise<{ code: number; err: string }>;
}

async function serve(...words: string[]): Promise<Running> {
  const end = new AbortController();
  const { base, printed } = testContext({ cwd: dir, env, signal: end.signal });
  const done = runProgram(['serve', ...words, '--json'], base);
  let over = false;
  void done.then(() => {
    over = true;
  });
  const stop = async () => {
    end.abort();
    return { code: await done, err: printed().err };
  };
  closing.push(stop);
  while (!printed().out.includes('\n')) {
    if (over) throw new Error(`it did not start: ${printed().err}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return { ready: JSON.parse(printed().out) as Record<string, string>, stop };
}

const run = (...words: string[]) => runIn(['serve', ...words], { cwd: dir, env });

function client(address: string | undefined, token?: string) {
  const sessions = connectSessions(address ?? '', {
    clock: systemClock,
    cwd: dir,
    ...(token === undefined ? {} : { token }),
  });
  closing.push(() => sessions.close());
  return sessions;
}

/** The text that one turn puts out. */
async function turn(sessions: ReturnType<typeof client>, harness: string, text: string): Promise<string> {
  const made = await sessions.createSession(
    create(CreateSessionRequestSchema, { session: { harness } }),
    never,
  );
  const request = create(ExecRequestSchema, {
    session: made.metadata?.uid ?? '',
    inputs: [textMessage('user', text)],
  });
  let said = '';
  for await (const { update } of sessions.exec(request, never)) {
    const body = update.case === 'record' ? update.value.event?.body : undefined;
    if (body?.case === 'message' && body.value.role === 'assistant') said += textOf(body.value);
  }
  return said;
}

/** Runs the turns of the one session of a harness again, from the file of logs in the current folder. */
async function rerun(harness: string, ...words: string[]): Promise<string> {
  const gc = (...all: string[]) => runIn(['log', ...all, '--journal', 'agentsessions.db'], { cwd: dir, env });
  const logs = JSON.parse((await gc('list', '--json')).out) as { uid: string; harness: string }[];
  const uid = logs.find((log) => log.harness === harness)?.uid ?? '';
  const { code, out, err } = await gc('replay', uid, '--rerun', ...words);
  expect([code, err]).toEqual([0, '']);
  return out;
}

describe('gc serve', () => {
  it('serves a file of logs in the current folder until it is told to end', async () => {
    const { ready, stop } = await serve('--grpc', '127.0.0.1:0');
    expect(ready).toMatchObject({
      journal: join(dir, 'agentsessions.db'),
      project: 'default',
      harnesses: ['echo'],
    });
    expect(await turn(client(ready['sessions']), 'echo', 'hi')).toBe('echo:hi');
    expect(await stop()).toMatchObject({ code: 0, err: '' });
    const again = await serve('--grpc', '127.0.0.1:0');
    const { sessions } = await client(again.ready['sessions']).listSessions(
      create(ListSessionsRequestSchema),
      never,
    );
    expect(sessions.map(({ lastSeq }) => lastSeq)).toEqual([5n]);
  });

  it('keeps the logs in a folder of JSON lines when it is given one, and other commands read them there', async () => {
    const { ready, stop } = await serve('--grpc', '127.0.0.1:0', '--journal', 'logs/');
    expect(ready).toMatchObject({ journal: join(dir, 'logs'), harnesses: ['echo'] });
    expect(await turn(client(ready['sessions']), 'echo', 'hi')).toBe('echo:hi');
    expect(await stop()).toMatchObject({ code: 0, err: '' });
    const gc = (...words: string[]) => runIn(words, { cwd: dir, env });
    expect((await gc('log', 'verify', 'logs/')).out).toMatch(/^sess-\w+ {2}ok {2}5 records {2}\w+\n$/);
    expect((await gc('log', 'list', '--journal', 'logs')).out).toContain('echo');
    expect((await gc('sessions', 'exec', '--input', 'hi', '--journal', 'logs')).out).toContain('echo:hi');
    const again = await serve('--grpc', '127.0.0.1:0', '--journal', 'logs');
    expect(await turn(client(again.ready['sessions']), 'echo', 'again')).toBe('echo:again');
  });

  it("in a city: the city's logs, under its name; on a socket as well", async () => {
    writeFileSync(join(dir, 'city.yaml'), 'workspace: { name: town }\nagents: [{ name: mayor }]\n');
    env = { ...env, HOME: join(dir, 'home') };
    const { ready } = await serve('--grpc', 'unix:run/s.sock');
    expect(ready).toMatchObject({
      sessions: `unix:${join(dir, 'run', 's.sock')}`,
      journal: join(dir, '.gc', 'sessions.db'),
      project: 'town',
    });
    expect(await turn(client('unix:run/s.sock'), '', 'hi')).toBe('echo:hi');
  });

  it('a program of this machine runs the turns, and gets no secret of the service', async () => {
    env = { ...env, GC_SERVE_TOKEN: 'sesame', MODEL_API_KEY: 'key' };
    const { ready } = await serve('--grpc', '127.0.0.1:0', '--command', 'up=shell:sh -c "tr a-z A-Z; env"');
    const said = await turn(client(ready['sessions'], 'sesame'), 'up', 'quiet');
    expect(said).toContain('QUIET');
    expect(said).toContain('HOME=');
    expect(said).not.toMatch(/sesame|MODEL_API_KEY/);
    expect(readFileSync(join(dir, 'home', 'serve.log'), 'utf8')).not.toContain('sesame');
  });

  it('a harness elsewhere, registered while it runs or named at the start, is driven with the model of the host', async () => {
    const model = createServer((_, response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.end('data: {"choices":[{"delta":{"content":"pong"}}]}\n\ndata: [DONE]\n\n');
    });
    await new Promise<void>((resolve) => model.listen(0, '127.0.0.1', resolve));
    closing.push(() => model.close());
    const at = model.address();
    if (at === null || typeof at === 'string') throw new Error('no port');
    const offered = await serve('harness', 'echo', '--addr', '127.0.0.1:0');
    const address = offered.ready['address'] ?? '';
    expect(address).not.toBe('127.0.0.1:8082');
    const { ready } = await serve(
      ...['--grpc', '127.0.0.1:0', '--registry', '127.0.0.1:0', '--model', 'm'],
      ...['--model-base-url', `http://127.0.0.1:${at.port}/v1`, '--harness', `far=${address}`],
    );
    const sessions = client(ready['sessions']);
    expect(await turn(sessions, 'far', 'ping')).toBe('pong');
    expect(await turn(sessions, 'chat', 'ping')).toBe('pong');
    const registry = connectRegistry(ready['registry'] ?? '', { clock: systemClock, cwd: dir });
    closing.push(() => registry.close());
    const request = create(RegisterHarnessRequestSchema, {
      name: 'later',
      spec: {
        placement: { case: 'remote', value: { address } },
        capabilities: { resumability: 1 },
        descriptorId: 'echo',
      },
    });
    await registry.registerHarness(request, never);
    const misspelt = await fetch(
      `http://${ready['registry']}/agentsessions.v1.HarnessRegistry/RegisterHarness`,
      {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'typo', spec: { remote: { address }, descriptorID: 'echo' } }),
      },
    );
    expect(await misspelt.json()).toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('descriptorID'),
    });
    expect(await turn(sessions, 'later', 'ping')).toBe('pong');
    expect(await rerun('far', '--harness', `far=${address}`)).toBe('1 turn gave what the log holds\n');
    expect(await rerun('chat')).toBe('1 turn gave what the log holds\n');
    expect(await rerun('later')).toMatch(
      /^0 turns .*\n1 turn of later \(from record 1\) not run again: .* later=host:port\n$/,
    );
    await offered.stop();
    await expect(turn(sessions, 'later', 'ping')).rejects.toMatchObject({ status: 'UNAVAILABLE' });
  });

  it('a token is taken from a file, and is never shown', async () => {
    writeFileSync(join(dir, 'token'), 'sesame\n', { mode: 0o600 });
    const { ready } = await serve('--grpc', '0.0.0.0:0', '--token-file', 'token');
    const address = (ready['sessions'] ?? '').replace('0.0.0.0', '127.0.0.1');
    await expect(
      client(address).listSessions(create(ListSessionsRequestSchema), never),
    ).rejects.toMatchObject({ code: 'sessions-unauthenticated' });
    expect(await turn(client(address, 'sesame'), 'echo', 'hi')).toBe('echo:hi');
    expect(JSON.stringify(ready)).not.toContain('sesame');
  });

  it('a person gets the next command, ready to paste', async () => {
    const end = new AbortController();
    const { base, printed } = testContext({ cwd: dir, env, signal: end.signal, isTTY: true });
    const done = runProgram(['serve', '--grpc', '127.0.0.1:0'], base);
    while (!printed().out.includes('curl')) await new Promise((resolve) => setTimeout(resolve, 5));
    end.abort();
    expect(await done).toBe(0);
    expect(printed().out).toMatch(
      /^sessions {3}127\.0\.0\.1:\d+ {3}gRPC, gRPC-Web, JSON\nlogs {3}~\/agentsessions\.db {3}project default\n/,
    );
    expect(printed().out).toContain(
      "  curl -s -H 'content-type: application/json' -d '{}' http://127.0.0.1:",
    );
  });
});

describe('what is wrong is said before anything is made', () => {
  it.each<[string[], string]>([
    [['--grpc', 'nowhere'], '"nowhere" is not an address to listen on'],
    [['--grpc', '0.0.0.0:0'], 'can be reached from other machines'],
    [['--registry', '0.0.0.0:0'], 'loopback addresses only'],
    [['--registry', '127.0.0.1:0', '--journal', 'logs/'], 'it keeps no registered harnesses'],
    [['--registry', 'localhost:0'], 'loopback addresses only'],
    [['--grpc', '127.0.0.1:7777', '--registry', '127.0.0.1:7777'], 'needs another port'],
    [['--harness', 'far=127.0.0.1:1'], 'needs a model'],
    [['--model', 'm', '--harness', 'far=http://x'], 'is not an address of a harness'],
    [['--model', 'm', '--harness', 'Far=127.0.0.1:1'], 'is not name=address'],
    [['--model', 'm', '--harness', 'chat=127.0.0.1:1'], 'two harnesses are called chat'],
    [['--model', 'm', '--model-base-url', 'ftp://x'], 'is not an http or https address'],
    [['--command', 'x=shell:no-such-program-here'], 'is not on the PATH'],
    [['--command', 'x=weird:sh'], 'names no command'],
    [['--token-file', 'missing'], 'no token can be read from'],
    [['--city', 'missing'], 'missing'],
    [['--grpc', 'unix:s.sock'], 'others can enter'],
  ])('%j: %s', async (words, message) => {
    const { code, err } = await run(...words);
    expect(code).not.toBe(0);
    expect(err).toContain(message);
    expect(existsSync(join(dir, 'agentsessions.db'))).toBe(false);
  });

  it('an address that is taken makes no file', async () => {
    mkdirSync(join(dir, 'other'));
    const { ready } = await serve('--grpc', '127.0.0.1:0', '--journal', 'other/logs.db');
    const { code, err } = await run('--grpc', ready['sessions'] ?? '');
    expect(code).toBe(1);
    expect(err).toContain('something else listens there');
    expect(existsSync(join(dir, 'agentsessions.db'))).toBe(false);
  });

  it('a harness for everybody is offered only when that is meant', async () => {
    const { code, err } = await run('harness', 'echo', '--addr', '0.0.0.0:0');
    expect([code, err]).toEqual([1, expect.stringContaining('--allow-wider')]);
    const own = await serve('harness', 'up', '--addr', '127.0.0.1:0', '--command', 'up=shell:cat');
    expect(own.ready).toMatchObject({ harness: 'up' });
    expect((await run('harness', 'nobody')).err).toContain('no harness "nobody"');
    expect((await run('harness', 'chat')).err).toContain('--model');
  });
});
