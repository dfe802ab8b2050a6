import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type FakeCity, fakeCity } from '../testing/fake-city.ts';
import { aSession, aStatus } from '../testing/status-fixtures.ts';

let city: FakeCity;
beforeEach(async () => {
  city = await fakeCity();
  city.api.statusNow = aStatus([
    aSession('mayor'),
    aSession('leaving', { condition: 'draining' }),
    aSession('sleeper', { condition: 'asleep' }),
  ]);
});
afterEach(() => city.close());

const inside = (name: string, more: Record<string, string> = {}) => ({
  env: { GC_ALIAS: name, GC_SESSION_NAME: name, GC_INSTANCE_TOKEN: 'abc', ...more },
});
const quietly = { out: '', err: '' };

describe('gc runtime', () => {
  it('drains and undrains by name', async () => {
    expect(await city.run(['runtime', 'drain', 'mayor'])).toMatchObject({
      code: 0,
      out: "Draining session 'mayor'\n",
    });
    expect(await city.run(['runtime', 'undrain', 'mayor'])).toMatchObject({
      code: 0,
      out: "Undrained session 'mayor'\n",
    });
    for (const verb of ['drain', 'undrain']) {
      const nameless = await city.run(['runtime', verb]);
      expect([nameless.code, nameless.err]).toEqual([
        1,
        expect.stringContaining(`gc runtime ${verb}: missing session alias or ID`),
      ]);
      const unknown = await city.run(['runtime', verb, 'nobody']);
      expect([unknown.code, unknown.err]).toEqual([
        1,
        expect.stringContaining('session not found: "nobody"'),
      ]);
    }
  });

  it('drain-check tells by its exit code alone; only a wrong name is said', async () => {
    expect(await city.run(['runtime', 'drain-check', 'leaving'])).toEqual({ code: 0, ...quietly });
    expect(await city.run(['runtime', 'drain-check', 'mayor'])).toEqual({ code: 1, ...quietly });
    expect(await city.run(['runtime', 'drain-check'], inside('leaving'))).toEqual({ code: 0, ...quietly });
    expect(await city.run(['runtime', 'drain-check'], inside('mayor'))).toEqual({ code: 1, ...quietly });
    expect(await city.run(['runtime', 'drain-check'])).toEqual({ code: 1, ...quietly });
    expect(await city.run(['runtime', 'drain-check'], inside('nobody'))).toEqual({ code: 1, ...quietly });
    expect((await city.run(['runtime', 'drain-check', 'nobody'])).err).toContain('session not found');
  });

  it('drain-ack speaks for the life that it runs in, or for the session that is named', async () => {
    const acknowledged = { code: 0, out: 'Drain acknowledged. Controller will stop this session.\n' };
    expect(await city.run(['runtime', 'drain-ack'], inside('mayor'))).toMatchObject(acknowledged);
    expect(await city.run(['runtime', 'drain-ack', 'leaving'], inside('mayor'))).toMatchObject(acknowledged);
    const tmux = inside('mayor', { GC_TMUX_SESSION: 'sleeper', GC_INSTANCE_TOKEN: '' });
    expect(await city.run(['runtime', 'drain-ack'], tmux)).toMatchObject(acknowledged);
    expect(city.api.words).toEqual([
      { target: 'mayor', says: 'done', life: { instance_token: 'abc' } },
      { target: 'leaving', says: 'done', life: {} },
      { target: 'sleeper', says: 'done', life: {} },
    ]);
  });

  it.each([
    [{}, 'not in session context (GC_ALIAS/GC_SESSION_ID not set)'],
    [{ GC_ALIAS: 'mayor' }, 'not in session context (GC_SESSION_NAME not set)'],
  ])('says what is missing outside of a session: %o', async (env, complaint) => {
    for (const words of [
      ['runtime', 'drain-ack'],
      ['runtime', 'request-restart'],
      ['handoff', 'x'],
    ]) {
      const { code, err } = await city.run(words, { env });
      expect([code, err]).toEqual([1, expect.stringContaining(complaint)]);
    }
    const placeless = { ...inside('mayor').env, GC_CITY: '', GC_DIR: '/' };
    const { err } = await city.run(['runtime', 'drain-ack'], { env: placeless, cwd: '/' });
    expect(err).toContain('not in session context (city context not set)');
  });
});

/** Runs a command that does not return, until it has said that it waits. */
async function blocked(words: readonly string[], env: Record<string, string>, said: () => boolean) {
  const killed = new AbortController();
  let over = false;
  const run = city.run(words, { env, signal: killed.signal });
  void run.finally(() => {
    over = true;
  });
  while (!said()) {
    if (over) throw new Error(`it returned: ${JSON.stringify(await run)}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(over).toBe(false);
  killed.abort();
  return run;
}

describe('what does not return', () => {
  it('gc runtime request-restart', async () => {
    const ran = await blocked(
      ['runtime', 'request-restart'],
      inside('mayor').env,
      () => city.api.words.length > 0,
    );
    expect(ran.out).toBe('Restart requested. Blocking until controller kills this session...\n');
    expect(ran.code).toBe(130);
    expect(city.api.words).toEqual([{ target: 'mayor', says: 'restart', life: { instance_token: 'abc' } }]);
  });

  it('gc handoff to oneself', async () => {
    const ran = await blocked(
      ['handoff', 'half done', 'tests fail'],
      inside('mayor').env,
      () => city.api.handoffs.length > 0,
    );
    expect(ran.out).toBe('Handoff: sent mail gc-7, requesting restart...\n');
    expect(city.api.handoffs).toEqual([
      {
        target: 'mayor',
        request: {
          instance_token: 'abc',
          from: 'mayor',
          subject: 'half done',
          body: 'tests fail',
          by: 'session',
        },
      },
    ]);
  });
});

describe('gc handoff --target', () => {
  it('sends the letter and says what became of the session', async () => {
    expect(await city.run(['handoff', '--target', 'mayor', 'new plan'])).toMatchObject({
      code: 0,
      out: 'Handoff: sent mail gc-7 to mayor, killed session (reconciler will restart)\n',
    });
    expect(
      await city.run(['handoff', '--target', 'sleeper', 'new plan', 'see p-19'], inside('mayor')),
    ).toMatchObject({
      code: 0,
      out: 'Handoff: sent mail gc-7 to sleeper (session not running; will be delivered on next start)\n',
    });
    expect(city.api.handoffs.map(({ request }) => request)).toEqual([
      { from: 'human', subject: 'new plan', body: '', by: 'other' },
      { from: 'mayor', subject: 'new plan', body: 'see p-19', by: 'other' },
    ]);
  });

  it('refuses unknown sessions, no subject and too many words', async () => {
    const unknown = await city.run(['handoff', '--target', 'nobody', 'x', 'y']);
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('not found')]);
    expect((await city.run(['handoff'])).code).toBe(1);
    expect((await city.run(['handoff', 'a', 'b', 'c'], inside('mayor'))).code).toBe(1);
    expect(city.api.handoffs).toEqual([]);
  });
});
