import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { GcError } from '../../../internal/platform/errors.ts';
import { type FakeCity, fakeCity } from '../testing/fake-city.ts';
import { aSession, aStatus } from '../testing/status-fixtures.ts';

let city: FakeCity;
beforeAll(async () => {
  city = await fakeCity();
});
afterAll(() => city.close());
beforeEach(() => {
  const names = ['mayor', 'proj/worker-1', 'proj/worker-2'];
  city.api.statusNow = aStatus(names.map((name) => aSession(name)));
  city.api.upkeep.told.length = 0;
  city.api.upkeep.refusals.clear();
  city.api.upkeep.pruned = [];
  city.api.upkeep.reserved = [];
  city.api.upkeep.outcome = { kind: 'delivered', tookMs: 700, verified: true };
});

const idOf = (name: string): string =>
  city.api.statusNow.sessions.find(({ display_name }) => display_name === name)?.id ?? '';

describe('into a pipe', () => {
  it.each([
    ['pin', 'pinned awake.'],
    ['unpin', 'unpinned.'],
    ['reset', 'reset requested. Controller will restart it fresh.'],
  ])('gc session %s says what scripts match', async (verb, says) => {
    expect(await city.run(['session', verb, 'mayor'])).toEqual({
      code: 0,
      out: `Session ${idOf('mayor')} ${says}\n`,
      err: '',
    });
    expect(city.api.upkeep.told).toEqual([{ what: verb, target: 'mayor' }]);
  });

  it('gc session prune counts', async () => {
    expect((await city.run(['session', 'prune'])).out).toBe('No sessions to prune.\n');
    expect(city.api.upkeep.told.at(-1)?.request).toEqual({ before_ms: 7 * 86_400_000 });
    city.api.upkeep.pruned = [{ target: 'gc-9', name: 'old' }];
    expect((await city.run(['session', 'prune', '--before', '1h30m'])).out).toBe('Pruned 1 session(s).\n');
    expect(city.api.upkeep.told.at(-1)?.request).toEqual({ before_ms: 5_400_000 });
    expect(JSON.parse((await city.run(['session', 'prune', '--json'])).out)).toEqual({
      pruned: [{ target: 'gc-9', name: 'old' }],
    });
  });

  it.each(['0', '0s', '-1h', 'soon', '7', ''])('gc session prune --before %j is refused', async (age) => {
    const ran = await city.run(['session', 'prune', `--before=${age}`]);
    expect([ran.code, ran.out, city.api.upkeep.told]).toEqual([1, '', []]);
    expect(ran.err).toContain('--before');
  });

  it('gc session submit says what became of it', async () => {
    const say = async (...words: string[]) => (await city.run(['session', 'submit', 'mayor', ...words])).out;
    expect(await say('go', 'on')).toBe('Submitted to mayor\n');
    expect(city.api.upkeep.told.at(-1)?.request).toMatchObject({
      message: 'go on',
      intent: 'default',
      id: expect.stringMatching(/^nudge-[0-9a-f]{12}$/),
      sender: 'human',
    });
    expect(await say('x', '--intent', 'follow-up')).toBe('Submitted follow-up to mayor\n');
    expect(await say('x', '--intent', 'interrupt-now')).toBe('Interrupted and submitted to mayor\n');
    city.api.upkeep.outcome = { kind: 'queued', id: 'n', why: 'busy', expires_at: '2026-01-02T00:00:00Z' };
    expect(await say('x', '--intent', 'follow_up')).toBe('Queued follow-up for mayor\n');
    expect(await say('x')).toBe('Queued message for mayor\n');
  });

  it('gc session submit refuses what it does not know, before anything is sent', async () => {
    const unknown = await city.run(['session', 'submit', 'mayor', 'x', '--intent', 'soon']);
    expect([unknown.code, unknown.out]).toEqual([1, '']);
    expect(unknown.err).toContain('invalid submit intent "soon" (want default, follow_up, or interrupt_now)');
    const empty = await city.run(['session', 'submit', 'mayor', '-'], { stdin: ' \n' });
    expect([empty.code, empty.err]).toEqual([1, expect.stringContaining('the message is empty')]);
    expect(city.api.upkeep.told).toEqual([]);
  });
});

describe('gc session wake', () => {
  it('NDG-05 says with --json whether it did anything, and why not', async () => {
    expect((await city.run(['session', 'wake', 'mayor'])).out).toBe(
      `Session ${idOf('mayor')}: wake requested.\n`,
    );
    expect(JSON.parse((await city.run(['session', 'wake', 'mayor', '--json'])).out)).toEqual({
      id: idOf('mayor'),
      session: 'mayor',
      result: 'requested',
    });
    const refused = await city.run(['session', 'wake', 'nobody', '--json']);
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.out)).toMatchObject({ result: 'refused', code: 'session-not-found' });
    expect(JSON.parse(refused.err)).toMatchObject({ error: { code: 'session-not-found' } });
  });
});

describe('a pattern', () => {
  it('does it to each that fits, one line each and one summary', async () => {
    const ran = await city.run(['session', 'kill', 'proj/worker-*']);
    const lines = ['proj/worker-1', 'proj/worker-2']
      .map((name) => `Session ${idOf(name)} killed.\n`)
      .join('');
    expect(ran).toEqual({ code: 0, out: `${lines}2 of 2 sessions killed.\n`, err: '' });
  });

  it('names each by its id, does the others when one fails, and exits 1', async () => {
    const [first, second] = [idOf('proj/worker-1'), idOf('proj/worker-2')];
    city.api.upkeep.refusals.set(
      first,
      new GcError('session-closed', `session ${first} is closed`, { next: 'gc session new' }),
    );
    const ran = await city.run(['session', 'pin', 'proj/worker-?']);
    expect(ran).toEqual({
      code: 1,
      out: `Session ${second} pinned awake.\n1 of 2 sessions pinned, 1 failed.\n`,
      err: `proj/worker-1: session ${first} is closed\n  next: gc session new\n`,
    });
    expect(city.api.upkeep.told.map(({ target }) => target)).toEqual([first, second]);
    const asData = JSON.parse((await city.run(['session', 'wake', 'proj/*', '--json'])).out);
    expect(asData).toMatchObject([
      { name: 'proj/worker-1', ok: true },
      { name: 'proj/worker-2', ok: true },
    ]);
  });

  it('means what never had a session only where that makes one', async () => {
    city.api.upkeep.reserved = ['helper'];
    for (const [words, makes] of [
      [['session', 'kill', '*'], false],
      [['session', 'close', '*'], false],
      [['session', 'unpin', '*'], false],
      [['session', 'nudge', '*', 'hi', '--delivery', 'queue'], false],
      [['session', 'submit', '*', 'hi'], false],
      [['runtime', 'drain', '*'], false],
      [['session', 'suspend', '*'], true],
      [['session', 'wake', '*'], true],
      [['session', 'pin', '*'], true],
    ] as const) {
      const { out } = await city.run([...words]);
      expect(out, words.join(' ')).toContain(` of ${makes ? 4 : 3} sessions `);
    }
  });

  it('that nothing fits is an error', async () => {
    const ran = await city.run(['session', 'close', 'lab/*']);
    expect([ran.code, ran.out]).toEqual([1, '']);
    expect(ran.err).toBe('gc session close: no session fits "lab/*"\n  next: gc session list\n');
  });

  it('gives each of many a message of its own', async () => {
    const ran = await city.run(['session', 'submit', 'proj/*', 'stop']);
    expect(ran.out).toBe('Submitted to proj/worker-1\nSubmitted to proj/worker-2\n2 of 2 sessions told.\n');
    const ids = city.api.upkeep.told.map(({ request }) => (request as { id: string }).id);
    expect(new Set(ids).size).toBe(2);
  });
});

describe('gc agent scale', () => {
  it('says what holds', async () => {
    expect((await city.run(['agent', 'scale', 'worker', '--min', '1', '--max', '5'])).out).toBe(
      "Scaled agent 'worker': min 1, max 5\n",
    );
    expect(city.api.upkeep.told.at(-1)).toEqual({
      what: 'scale',
      target: 'worker',
      request: { min: 1, max: 5 },
    });
    for (const none of ['unlimited', '-1']) {
      expect((await city.run(['agent', 'scale', 'worker', '--max', none])).out).toContain('max unlimited\n');
      expect(city.api.upkeep.told.at(-1)?.request).toEqual({ max: -1 });
    }
  });

  it.each([
    [[], 'nothing to change'],
    [['--min', 'two'], '--min must be a whole number'],
    [['--max', '-5'], '--max must be a whole number'],
  ])('refuses %j', async (options, says) => {
    const ran = await city.run(['agent', 'scale', 'worker', ...options]);
    expect([ran.code, ran.out]).toEqual([1, '']);
    expect(ran.err).toContain(says);
  });
});

describe('gc session new', () => {
  it('makes a title of a hint', async () => {
    const asked: unknown[] = [];
    const make = city.api.newSession.bind(city.api);
    city.api.newSession = (request) => {
      asked.push(request);
      return make(request);
    };
    await city.run(['session', 'new', 'mayor', '--title-hint', `${'long '.repeat(40)}\nmore`]);
    await city.run(['session', 'new', 'mayor', '--title-hint', 'x', '--title', 'mine']);
    expect(asked).toMatchObject([
      { title: expect.stringMatching(/^(long ){15}.*\.\.\.$/) },
      { title: 'mine' },
    ]);
  });
});
