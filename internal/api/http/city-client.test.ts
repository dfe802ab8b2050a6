import { statSync } from 'node:fs';
import { request } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GcError } from '../../platform/errors.ts';
import { FakeClock } from '../../platform/fake-clock.ts';
import { HttpCityApi } from './city-client.ts';
import type { CityServer } from './city-server.ts';
import { CityDouble } from './testing/city-double.ts';
import { eventually, memoryLog, scratch, serve } from './testing/serving.ts';
import { BODY_LIMIT_BYTES, NUDGE_TEXT_LIMIT_BYTES } from './wire.ts';

let place: ReturnType<typeof scratch>;
let socket: string;
let city: CityDouble;
let server: CityServer;
let client: HttpCityApi;
const log = memoryLog();

beforeEach(async () => {
  place = scratch();
  socket = join(place.dir, 'api.sock');
  city = new CityDouble('mayor', 'proj/worker 1');
  log.lines.length = 0;
  server = await serve(city, socket, log);
  client = new HttpCityApi(socket);
});
afterEach(async () => {
  await server.close();
  place.dispose();
});

/** What the method answers through the socket must be what it answers directly. */
async function same<T>(viaHttp: Promise<T>, direct: Promise<T>): Promise<void> {
  expect(await viaHttp).toEqual(await direct);
}

function rawRequest(
  method: string,
  path: string,
  body?: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; type: string; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: socket, method, path, headers, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => (text += chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', text }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

describe('every method of the city through the socket', () => {
  it('carries drains, restarts and handoffs with the life that asks for them', async () => {
    const life = { instance_token: 'token' };
    const letter = { ...life, from: 'mayor', subject: 'half done', body: '', by: 'session' } as const;
    await same(client.drain('mayor'), city.drain('mayor'));
    await same(client.drainState('mayor', life), city.drainState('mayor', life));
    await same(client.undrain('mayor'), city.undrain('mayor'));
    await same(client.drainState('mayor'), city.drainState('mayor', {}));
    await same(client.acknowledgeDrain('mayor', life), city.acknowledgeDrain('mayor', life));
    await same(client.requestRestart('proj/worker 1', life), city.requestRestart('proj/worker 1', life));
    await same(client.handoff('mayor', letter), city.handoff('mayor', letter));
    const said = city.calls.map(({ method, args }) => JSON.stringify([method, ...args]));
    expect(said.filter((_call, i) => i % 2 === 0)).toEqual(said.filter((_call, i) => i % 2 === 1));
    await expect(client.drain('nobody')).rejects.toMatchObject({ code: 'session-not-found' });
    const by = await rawRequest('POST', '/v0/session/mayor/handoff', '{"from":"a","subject":"b","by":"c"}');
    expect(by.status).toBe(400);
  });

  it('answers for one question in the published shapes', async () => {
    const asked = JSON.parse((await rawRequest('GET', '/v0/session/mayor/pending')).text);
    const pending = { request_id: 'q1', kind: 'approval', prompt: 'Bash: ls', options: ['Yes', 'No'] };
    expect(asked).toMatchObject({ supported: true, pending });
    const refused = async (code: string) => {
      city.failure = new GcError(code, 'no');
      return rawRequest('GET', '/v0/session/mayor/pending');
    };
    expect((await refused('interaction-unsupported')).text).toBe('{"supported":false}');
    expect((await refused('session-no-pending')).text).toBe('{"supported":true}');
    expect((await refused('session-not-found')).status).toBe(404);
    const accepted = await rawRequest('POST', '/v0/session/mayor/respond', '{"action":"1"}');
    expect([accepted.status, JSON.parse(accepted.text)]).toMatchObject([
      202,
      { id: 'mayor', status: 'accepted' },
    ]);
    const answered = async (code: string) => {
      city.failure = new GcError(code, 'no');
      const { status, text } = await rawRequest('POST', '/v0/session/mayor/respond', '{"action":"1"}');
      return [status, JSON.parse(text).code];
    };
    expect(await answered('session-no-pending')).toEqual([409, 'no_pending']);
    expect(await answered('already-answered')).toEqual([409, 'invalid_interaction']);
    expect(await answered('unknown-action')).toEqual([400, 'invalid']);
    expect((await rawRequest('POST', '/v0/session/mayor/respond', '{}')).status).toBe(400);
  });

  it('answers what the city answers', async () => {
    const twin = new CityDouble('mayor', 'proj/worker 1');
    await same(client.status(), twin.status());
    await same(client.sessions(), twin.sessions());
    await same(
      client.sessions({ template: 'mayor', state: 'active,suspended' }),
      twin.sessions({ template: 'mayor' }),
    );
    await same(client.session('proj/worker 1'), twin.session('proj/worker 1'));
    await same(
      client.newSession({ template: 'mayor', alias: 'deputy', title: 'x' }),
      twin.newSession({ template: 'mayor', alias: 'deputy', title: 'x' }),
    );
    await same(
      client.nudge('mayor', { text: 'hi', wait_idle_ms: 5 }),
      twin.nudge('mayor', { text: 'hi', wait_idle_ms: 5 }),
    );
    await same(client.peek('mayor', 20), twin.peek('mayor', 20));
    await same(client.questions(), twin.questions());
    await same(client.questions('proj/worker 1'), twin.questions('proj/worker 1'));
    await same(client.answer('mayor', { action: '1' }), twin.answer('mayor', { action: '1' }));
    const answer = { action: 'deny', request_id: 'q7', text: 'no' };
    await same(client.answer('mayor', answer), twin.answer('mayor', answer));
    await same(client.interrupt('mayor'), twin.interrupt('mayor'));
    await same(client.kill('mayor'), twin.kill('mayor'));
    await same(client.suspend('mayor'), twin.suspend('mayor'));
    await same(client.wake('mayor'), twin.wake('mayor', { force: false }));
    await same(client.wake('mayor', { force: true }), twin.wake('mayor', { force: true }));
    await same(client.resources(), twin.resources());
    await same(client.rename('mayor', 'Your Honour'), twin.rename('mayor', 'Your Honour'));
    await same(client.explain('mayor'), twin.explain('mayor'));
    await same(client.logs('mayor', { tail: 2 }), twin.logs('mayor', { tail: 2 }));
    await same(client.close('mayor'), twin.close('mayor'));
    await same(client.setAgentSuspended('proj/worker', true), twin.setAgentSuspended('proj/worker', true));
    await same(client.setAgentSuspended('worker', false), twin.setAgentSuspended('worker', false));
    await same(client.reload(), twin.reload());
    await same(client.stop(), twin.stop());
    for (const double of [city, twin]) for (const type of ['a', 'b', 'c']) double.record(type, { n: 1 });
    await same(client.events({ afterSeq: 1, limit: 1 }), twin.events({ afterSeq: 1, limit: 1 }));
    await same(
      client.events({ type: 'a', actor: 'gc', since: 1_700_000_000_000 }),
      twin.events({ type: 'a', actor: 'gc', since: 1_700_000_000_000 }),
    );
    const withoutState = (calls: typeof city.calls) =>
      calls.map(({ method, args }) => ({ method, args: method === 'sessions' ? [] : args }));
    expect(withoutState(city.calls)).toEqual(withoutState(twin.calls));
    expect(city.calls.find(({ method }) => method === 'sessions')?.args).toEqual([{}]);
  });

  it('keeps code, message and next step of every error', async () => {
    const word = fc.stringMatching(/^[a-z][a-z0-9]{0,9}(-[a-z0-9]{1,9}){0,3}$/);
    const methods: (() => Promise<unknown>)[] = [
      () => client.status(),
      () => client.sessions(),
      () => client.session('mayor'),
      () => client.nudge('mayor', { text: 'x', wait_idle_ms: 0 }),
      () => client.peek('mayor', 1),
      () => client.kill('mayor'),
      () => client.explain('mayor'),
      () => client.logs('mayor', { tail: 0 }),
      () => client.events({}),
      () => client.reload(),
      () => client.stop(),
      async () => {
        for await (const event of client.followEvents(0, new AbortController().signal)) return event;
        return undefined;
      },
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...methods),
        word,
        fc.string({ unit: 'binary' }),
        fc.option(fc.string(), { nil: undefined }),
        async (method, code, message, next) => {
          city.failure = new GcError(code, message, next === undefined ? {} : { next });
          const error = await method().then(
            () => undefined,
            (thrown: unknown) => thrown,
          );
          expect(error).toBeInstanceOf(GcError);
          expect(error).toMatchObject({ code, message });
          expect((error as GcError).next).toBe(next);
        },
      ),
      { numRuns: 120 },
    );
  });

  it('finds a session by any name that a person can type', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1, maxLength: 300 }), async (name) => {
        fc.pre(name.trim() !== '');
        city.sessionsByName.set(name, { ...(await city.session('mayor')), display_name: name });
        expect((await client.session(name)).display_name).toBe(name);
      }),
      { numRuns: 60 },
    );
    await expect(client.session('')).rejects.toMatchObject({ code: 'session-not-found' });
    await expect(client.session('..')).rejects.toMatchObject({ code: 'session-not-found' });
    await expect(client.session('\ud800')).rejects.toMatchObject({ code: 'session-not-found' });
  });
});

describe('sizes', () => {
  it('takes a nudge of 1 MB whole, and of the whole limit in its longest spelling', async () => {
    const text = `${'ä'.repeat(524_286)}end`;
    await client.nudge('mayor', { text, wait_idle_ms: 0 });
    expect(city.calls.at(-1)?.args[1]).toEqual({ text, wait_idle_ms: 0 });
    const worst = '\u0001'.repeat(NUDGE_TEXT_LIMIT_BYTES);
    await client.nudge('mayor', { text: worst, wait_idle_ms: 0 });
    expect(city.calls.at(-1)?.args[1]).toEqual({ text: worst, wait_idle_ms: 0 });
  });

  it('refuses more and says how much is allowed', async () => {
    const text = 'x'.repeat(NUDGE_TEXT_LIMIT_BYTES + 1);
    const refusal = {
      code: 'nudge-too-large',
      message: expect.stringContaining(String(NUDGE_TEXT_LIMIT_BYTES)),
    };
    await expect(client.nudge('mayor', { text, wait_idle_ms: 0 })).rejects.toMatchObject(refusal);
    const body = JSON.stringify({ message: text });
    const answer = await rawRequest('POST', '/v0/session/mayor/messages', body);
    expect(answer.status).toBe(413);
    expect(JSON.parse(answer.text)).toMatchObject({ reason: 'nudge-too-large' });
    expect(city.calls).toEqual([]);
    const huge = await rawRequest(
      'POST',
      '/v0/session/mayor/messages',
      'x'.repeat(BODY_LIMIT_BYTES + 1),
    ).catch(() => undefined);
    // The server may hang up while the rest is still being sent.
    if (huge) expect(JSON.parse(huge.text)).toMatchObject({ reason: 'body-too-large' });
  });

  it('streams a peek of 60 MB whole', async () => {
    city.screen = `${'0123456789abcdef — ü\u{1f600}'.repeat(2_300_000)}last`;
    const seen = await client.peek('mayor', 1_000_000);
    expect(seen.length).toBe(city.screen.length);
    expect(seen === city.screen).toBe(true);
  });
});

describe('what a program that speaks HTTP sees', () => {
  it('gets errors with the public word, ours, and the next step', async () => {
    const missing = await rawRequest('GET', '/v0/session/nobody');
    expect(missing.status).toBe(404);
    expect(JSON.parse(missing.text)).toEqual({
      code: 'not_found',
      reason: 'session-not-found',
      message: 'no session "nobody" in double',
      next: 'gc session list',
    });
    const statuses = [
      ['ambiguous-session', 409, 'ambiguous'],
      ['session-not-active', 409, 'conflict'],
      ['invalid-session-name', 400, 'invalid'],
      ['interaction-unsupported', 501, 'unsupported'],
      ['runtime-unavailable', 503, 'unavailable'],
      ['something-new', 500, 'internal'],
      ['to-string', 500, 'internal'],
    ] as const;
    for (const [reason, status, code] of statuses) {
      city.failure = new GcError(reason, 'm');
      const answer = await rawRequest('POST', '/v0/session/mayor/kill');
      expect([answer.status, JSON.parse(answer.text).code]).toEqual([status, code]);
    }
  });

  it('gets plain text for an unknown path, and JSON errors for broken bodies', async () => {
    expect(await rawRequest('GET', '/v0/nothing')).toMatchObject({
      status: 404,
      text: '404 page not found\n',
    });
    const broken = await rawRequest('POST', '/v0/session/mayor/messages', '{"message":');
    expect([broken.status, JSON.parse(broken.text).reason]).toEqual([400, 'invalid-body']);
    for (const body of ['', '[]', '{}', '{"message":7}', '{"message":"x","wait_idle_ms":-1}']) {
      const answer = await rawRequest('POST', '/v0/session/mayor/messages', body);
      expect([body, answer.status, JSON.parse(answer.text).code]).toEqual([body, 400, 'invalid']);
    }
    expect((await rawRequest('GET', '/v0/events?limit=-1')).status).toBe(400);
    expect((await rawRequest('POST', '/v0/agent/a/destroy')).status).toBe(404);
    expect(city.calls).toEqual([]);
  });

  it('needs no content type, as the public API', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await rawRequest('POST', '/v0/session/mayor/rename', '{"title":"T"}', headers);
    expect(JSON.parse(answer.text)).toMatchObject({ title: 'T' });
  });

  it('keeps nudges out of the log', async () => {
    await client.nudge('mayor', { text: 'my secret plan', wait_idle_ms: 0 });
    city.failure = new Error('boom');
    await client.kill('mayor').catch(() => undefined);
    await eventually(() => log.lines.some(({ level }) => level === 'error'));
    expect(JSON.stringify(log.lines)).not.toContain('secret plan');
    expect(log.lines.map(({ fields }) => fields['url'])).toContain('/v0/session/mayor/messages');
  });
});

describe('a controller that is not there', () => {
  it('is said so, with the next step', async () => {
    const nobody = new HttpCityApi(join(place.dir, 'other.sock'));
    await expect(nobody.status()).rejects.toMatchObject({ code: 'controller-unreachable', next: 'gc start' });
  });

  const READS: Readonly<Record<string, (api: HttpCityApi) => Promise<unknown>>> = {
    status: (api) => api.status(),
    sessions: (api) => api.sessions(),
    session: (api) => api.session('mayor'),
    nudgeQueues: (api) => api.nudgeQueues(),
    peek: (api) => api.peek('mayor', 10),
    drainState: (api) => api.drainState('mayor'),
    explain: (api) => api.explain('mayor'),
    logs: (api) => api.logs('mayor', { tail: 1 }),
    events: (api) => api.events({}),
    followEvents: (api) => api.followEvents(0, new AbortController().signal)[Symbol.asyncIterator]().next(),
  };

  it.each(Object.entries(READS))(
    'EVT-06 and takes a question without ever answering is given up in time: %s says what it waited for',
    async (_, read) => {
      const path = join(place.dir, 'mute.sock');
      const live: Socket[] = [];
      const mute = createServer((connection) => {
        live.push(connection);
        connection.resume();
      });
      await new Promise<void>((resolve) => mute.listen(path, resolve));
      const clock = new FakeClock();
      const outcome = read(new HttpCityApi(path, clock)).then(
        () => 'answered',
        (error: unknown) => error,
      );
      await eventually(() => live.length === 1);
      await clock.advance(60_000);
      expect(await outcome).toMatchObject({
        code: 'controller-timeout',
        message: expect.stringMatching(/^no answer from the controller within \d+s \(GET \/v0\//),
        next: 'gc status',
      });
      mute.close();
      for (const connection of live) connection.destroy();
    },
  );

  it('is told apart from one that went away with the question', async () => {
    const dying = new CityDouble('mayor');
    let asked = false;
    dying.stop = () => {
      asked = true;
      return new Promise(() => undefined);
    };
    const path = join(place.dir, 'dying.sock');
    const clock = new FakeClock();
    const other = await serve(dying, path, log, clock);
    const stopping = new HttpCityApi(path).stop();
    const outcome = stopping.then(
      () => undefined,
      (error: unknown) => error,
    );
    await eventually(() => asked);
    const closed = other.close();
    await clock.advance(5_000);
    await closed;
    expect(log.lines.map(({ level }) => level)).toContain('warn');
    expect(await outcome).toMatchObject({ code: 'controller-lost' });
  });

  it('of an older version answers a request that it does not know with advice', async () => {
    const { decodeError } = await import('./wire.ts');
    expect(decodeError(404, '404 page not found\n')).toMatchObject({ code: 'controller-too-old' });
  });
});

it('listens for its owner only, and leaves no socket behind', async () => {
  expect(statSync(socket).mode & 0o777).toBe(0o600);
  await server.close();
  expect(statSync(socket, { throwIfNoEntry: false })).toBeUndefined();
  server = await serve(city, socket);
});
