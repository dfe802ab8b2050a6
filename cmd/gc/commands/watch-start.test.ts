import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../internal/platform/fake-clock.ts';
import { type FakeCity, fakeCity, testContext } from '../testing/fake-city.ts';
import { aSession, aStatus } from '../testing/status-fixtures.ts';
import { watchStart } from './watch-start.ts';

let city: FakeCity;
beforeEach(async () => {
  city = await fakeCity();
});
afterEach(() => city.close());

interface Watch {
  readonly isTTY?: boolean;
  readonly signal?: AbortSignal;
  readonly phase?: () => Promise<string>;
  readonly env?: Readonly<Record<string, string>>;
}

async function watch(options: Watch = {}) {
  const { base, printed } = testContext({ ...options, env: { ...city.env, ...options.env } });
  const context = { ...base, cityOption: undefined, json: false, commands: [] };
  const code = await watchStart(context, city.root, options.phase ?? (async () => '')).catch(
    (error: Error) => error,
  );
  return { code, ...printed() };
}

const starting = aStatus([
  aSession('mayor', { condition: 'starting' }),
  aSession('w', { condition: 'stopped' }),
]);
const half = aStatus([aSession('mayor', { started_ms: 400 }), aSession('w', { condition: 'starting' })]);
const done = aStatus([aSession('mayor', { started_ms: 400 }), aSession('w', { started_ms: 600 })]);

describe('watching a start', () => {
  it('prints each session once as it settles, into a pipe', async () => {
    city.api.statusesToCome = [starting, half, done];
    const { code, out, err } = await watch();
    expect([code, err]).toEqual([0, '']);
    expect(out.split('\n').slice(0, 5)).toEqual([
      'city bright-lights   tmux (socket bright-lights)',
      '  mayor     ready      0.4s',
      '  w         ready      0.6s',
      '2 of 2 running.',
      'City started under supervisor.',
    ]);
    expect(out).toContain('gc session attach mayor   sit down at its terminal (leave with Ctrl-b d)\n');
  });

  it.each([
    [{ GC_SESSION: 'subprocess' }, 'GC_SESSION=subprocess is not used: sessions live in tmux'],
    [{ GC_SESSION: 'tmux' }, ''],
    [{}, ''],
  ])('says that a choice is not followed while sessions live elsewhere: %j', async (env, said) => {
    city.api.statusesToCome = [done];
    const { out } = await watch({ env });
    const notices = out.split('\n').filter((line) => line.includes('is not used'));
    expect(notices).toEqual(said === '' ? [] : [expect.stringContaining(said)]);
  });

  it('waits until the city has begun to run: its first list may be empty', async () => {
    city.api.statusesToCome = [aStatus([]), aStatus([]), done];
    const phases = ['adopting_sessions', 'adopting_sessions'];
    const { code, out } = await watch({ phase: async () => phases.shift() ?? '' });
    expect(code).toBe(0);
    expect(out).toContain('2 of 2 running.');
    expect(out).not.toContain('No session is wanted');
  });

  it('draws the lines again at a terminal', async () => {
    city.api.statusesToCome = [starting, half, done];
    const { out } = await watch({ isTTY: true });
    expect(out).toContain('\x1b[2A');
    expect(out).not.toContain('City started');
    expect(out.match(/city bright-lights/g)).toHaveLength(1);
  });

  it('fails when a session failed, and says that it is tried again', async () => {
    city.api.statusesToCome = [
      starting,
      aStatus([
        aSession('mayor'),
        aSession('w', { condition: 'backing-off', detail: 'exit 127: not found' }),
      ]),
    ];
    const { code, out } = await watch();
    expect(code).toBe(1);
    expect(out).toContain('  w         failed            exit 127: not found\n');
    expect(out).toContain('1 of 2 running, 1 failed. The city keeps trying.\n');
    expect(out).toMatch(/^ {2}gc explain w {2,}/m);
  });

  it('ends at Ctrl-C with a word, the city untouched', async () => {
    city.api.statusNow = starting;
    const interrupt = new AbortController();
    interrupt.abort(new Error('SIGINT'));
    const { code, out } = await watch({ signal: interrupt.signal });
    expect(code).toBe(0);
    expect(out).toContain('The city keeps starting; Ctrl-C here does not stop it.\n');
  });
});

describe('REC-11 a start that takes long', () => {
  it('is waited for as long as something moves, and given up when nothing did', async () => {
    const clock = new RoundClock();
    const { base, printed } = testContext({ env: city.env });
    const context = { ...base, clock, cityOption: undefined, json: false, commands: [] };
    const moving = Array.from({ length: 5 }, (_, i) =>
      aStatus([aSession('mayor', { condition: 'starting', detail: `question ${i}` })]),
    );
    city.api.statusesToCome = moving;
    let ended: unknown;
    const watching = watchStart(context, city.root, async () => '').catch((error: unknown) => {
      ended = error;
    });
    for (let step = 0; step < 40 && ended === undefined; step += 1) {
      await until(() => clock.rounds > step || ended !== undefined);
      await clock.advance(60_000);
    }
    await watching;
    expect(ended).toMatchObject({ code: 'start-stalled' });
    expect(city.api.statusesToCome).toEqual([]);
    expect(printed().out).toContain('0 of 1 running, 1 still starting. The city keeps trying.\n');
  });
});

/** Counts the short rests between two looks; how long an answer may take is no rest. */
class RoundClock extends FakeClock {
  rounds = 0;

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms < 1_000) this.rounds += 1;
    return super.sleep(ms, signal);
  }
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 5_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('the condition did not come about');
    await new Promise((resolve) => setImmediate(resolve));
  }
}
