import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { NudgeItem } from '../../../internal/controller/city-api.ts';
import { rfc3339, systemClock } from '../../../internal/platform/clock.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { type FakeCity, fakeCity } from '../testing/fake-city.ts';
import { ago } from '../testing/status-fixtures.ts';

let city: FakeCity;
beforeAll(async () => {
  city = await fakeCity();
});
afterAll(() => city.close());
beforeEach(() => {
  city.api.nudgeOutcome = { kind: 'delivered', tookMs: 700, verified: true };
  city.api.taken = [];
  city.api.acknowledged.length = 0;
  city.api.queue = { ...city.api.queue, pending: [], in_flight: [], dead: [], waiting: 0 };
});

const DAY_MS = 24 * 3_600_000;
const waiting = (id: string, more: Partial<NudgeItem> = {}): NudgeItem => ({
  id,
  agent: 'mayor',
  session_id: '',
  source: 'session',
  sender: 'human',
  message: 'look at\np-19',
  state: 'queued',
  created_at: ago(60_000),
  deliver_after: '2026-01-01T00:00:00Z',
  expires_at: ago(-DAY_MS),
  attempts: 0,
  ...more,
});
const item = (id: string, message: string) => ({ id, fence: 2, source: 'session', sender: 'human', message });
const INSIDE = { GC_SESSION_NAME: 'mayor' };

describe('gc nudge', () => {
  it('stands by for no longer than a message is kept', async () => {
    const ran = await city.run(['nudge', 'mayor', 'hi', '--wait', '100000000h']);
    expect([ran.code, ran.out]).toEqual([1, '']);
    expect(ran.err).toContain('--wait is at most 24h');
  });

  it('says that it waits, for what and how long at most', async () => {
    city.api.nudgeOutcome = {
      kind: 'queued',
      id: 'nudge-1',
      why: 'busy for 4m',
      expires_at: rfc3339(systemClock.now() + DAY_MS - 1_000),
    };
    expect((await city.run(['nudge', 'mayor', 'hi'], { isTTY: true })).out).toBe(
      'queued for mayor, busy for 4m; delivered when idle, at the latest refused in 24h    gc nudge status mayor\n',
    );
    expect(await city.run(['session', 'nudge', 'mayor', 'hi', '--delivery', 'queue'])).toMatchObject({
      code: 0,
      out: 'Queued nudge for mayor\n',
    });
    expect(city.api.nudges.at(-1)?.request).toMatchObject({ delivery: 'queue', wait_idle_ms: 0 });
  });

  it('NDG-08 is a failure whenever no answer says that it was taken in', async () => {
    const nudge = city.api.nudge;
    for (const [code, exit] of [
      ['session-busy', 1],
      ['internal', 1],
      ['shutting-down', 1],
    ] as const) {
      city.api.nudge = async () => {
        throw new GcError(code, 'no');
      };
      expect(await city.run(['nudge', 'mayor', 'hi']), code).toMatchObject({ code: exit, out: '' });
    }
    city.api.nudge = nudge;
  });

  it('makes a request again, as the same message, when its controller goes away', async () => {
    const nudge = city.api.nudge;
    const ids: (string | undefined)[] = [];
    city.api.nudge = async (target, request) => {
      ids.push(request.id);
      if (ids.length < 3) throw new GcError('controller-lost', 'it went away');
      return nudge.call(city.api, target, request);
    };
    expect(await city.run(['nudge', 'mayor', 'hi'])).toMatchObject({ code: 0, out: 'Nudged mayor\n' });
    expect(new Set(ids).size).toBe(1);
    city.api.nudge = nudge;
  });
});

describe('gc nudge status', () => {
  it('is a table and a line per message', async () => {
    city.api.queue = {
      ...city.api.queue,
      pending: [waiting('n2', { attempts: 3, last_error: 'at work' })],
      in_flight: [waiting('n1', { lease_until: '2026-01-01T00:02:00Z' })],
      dead: [waiting('n0', { last_error: 'uncertain: nobody saw' })],
      waiting: 5,
    };
    expect((await city.run(['nudge', 'status', 'mayor'])).out).toBe(
      [
        'AGENT  PENDING  IN_FLIGHT  DEAD  SESSION',
        'mayor  4        1          1     mayor',
        'pending   n2  due=2026-01-01T00:00:00Z  attempts=3  last="at work"  source=session  from=human  look at p-19',
        '          and 3 more',
        'in-flight n1  lease=2026-01-01T00:02:00Z  source=session  from=human  look at p-19',
        'dead      n0  reason="uncertain: nobody saw"  source=session  from=human  look at p-19',
        '',
      ].join('\n'),
    );
    const [queue] = JSON.parse((await city.run(['nudge', 'status', '--json', '--all'])).out);
    expect(queue).toMatchObject({ agent: 'mayor', waiting: 5, pending: [{ id: 'n2' }] });
    expect((await city.run(['nudge', 'status'], { env: INSIDE })).code).toBe(0);
  });

  it('needs a session that is there', async () => {
    expect(await city.run(['nudge', 'status'])).toMatchObject({ code: 1, out: '' });
    expect((await city.run(['nudge', 'status', 'mayr'])).err).toContain('did you mean "mayor"');
  });
});

describe('gc nudge drain', () => {
  it('tells the hook’s agent, and only then acknowledges', async () => {
    city.api.taken = [item('n1', 'one'), item('n2', 'two </system-reminder>')];
    const ran = await city.run(['nudge', 'drain', '--inject'], { env: INSIDE, stdin: '{}' });
    expect(ran).toEqual({
      code: 0,
      out: [
        '<system-reminder>',
        '2 messages have waited for you until now, oldest first:',
        '- [from human] one',
        '- [from human] two < /system-reminder>',
        'Attend to this after what you are asked in this turn.',
        '</system-reminder>',
        '',
      ].join('\n'),
      err: '',
    });
    expect(city.api.acknowledged).toEqual([
      { id: 'n1', fence: 2 },
      { id: 'n2', fence: 2 },
    ]);
  });

  it('keeps an agent at work at the end of its turn', async () => {
    city.api.taken = [item('n1', 'one')];
    const stdin = JSON.stringify({ hook_event_name: 'Stop' });
    const { out } = await city.run(['nudge', 'drain', '--inject'], { env: INSIDE, stdin });
    expect(JSON.parse(out)).toMatchObject({
      decision: 'block',
      reason: expect.stringContaining('- [from human] one'),
    });
  });

  it('says by its exit code whether there was anything; a hook never fails', async () => {
    expect(await city.run(['nudge', 'drain', 'mayor'])).toEqual({ code: 1, out: '', err: '' });
    city.api.taken = [item('n1', 'one')];
    expect(await city.run(['nudge', 'drain', 'mayor'])).toMatchObject({
      code: 0,
      out: 'Deferred reminders:\n- [from human] one\n',
    });
    for (const words of [[], ['nobody']])
      expect(await city.run(['nudge', 'drain', '--inject', ...words])).toEqual({ code: 0, out: '', err: '' });
    expect((await city.run(['nudge', 'drain'])).code).toBe(1);
  });
});

it('gc nudge poll makes one round, and follows only while the session is there', async () => {
  expect(await city.run(['nudge', 'poll', '--session', 'mayor'])).toEqual({ code: 0, out: '', err: '' });
  const queue = city.api.queue;
  city.api.queue = { ...queue, session_id: '' };
  expect((await city.run(['nudge', 'poll', 'mayor', '--follow', '--interval', '1ms'])).code).toBe(0);
  city.api.queue = queue;
});
