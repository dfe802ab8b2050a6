import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../platform/fake-clock.ts';
import { FakeProvider } from '../runtime/fake.ts';
import type { Survey } from '../runtime/provider.ts';
import { LivedTime } from './lived-time.ts';
import { Looks } from './survey.ts';

const COMMANDS_WAIT_MS = 10_000;
const SEEN: Survey = { kind: 'seen', sessions: new Map() };

let end: AbortController;
beforeEach(() => {
  end = new AbortController();
});
afterEach(() => end.abort());

/** Looks at a back end whose answers take so long. */
function looksAt(answer: () => Survey, takesMs: number) {
  const clock = new FakeClock();
  const provider = new FakeProvider(clock, 'exec:./slow');
  let asked = 0;
  provider.observe = async () => {
    asked += 1;
    await clock.sleep(takesMs);
    return answer();
  };
  const time = new LivedTime(clock, () => undefined);
  void time.heartbeat(end.signal).catch(() => undefined);
  const looks = new Looks(provider, time);
  return { clock, looks, asked: () => asked };
}

describe('a look at a back end', () => {
  it('that hangs ends before a command gives up, and says who hangs', async () => {
    const { looks, clock } = looksAt(() => SEEN, 60_000);
    const looked = looks.now();
    await clock.advance(COMMANDS_WAIT_MS - 1);
    expect(await Promise.race([looked, 'nothing yet'])).toMatchObject({
      kind: 'unknown',
      reason: expect.stringMatching(/^exec:\.\/slow gave no answer within/),
    });
  });

  it('that took long and told nothing is not repeated by everybody who asks just then', async () => {
    const unknown: Survey = { kind: 'unknown', reason: 'no end within 4 s' };
    const { looks, clock, asked } = looksAt(() => unknown, 4_000);
    const first = looks.now();
    await clock.advance(4_000);
    expect(await first).toBe(unknown);
    expect(await looks.now()).toBe(unknown);
    expect(asked()).toBe(1);
    await clock.advance(5_000);
    const next = looks.now();
    await clock.advance(4_000);
    await next;
    expect(asked()).toBe(2);
  });

  it.each([
    ['quick and told nothing', { kind: 'unknown', reason: 'refused' } as Survey, 10],
    ['slow and told all', SEEN, 4_000],
  ])('that was %s is made anew every time', async (_, answer, takesMs) => {
    const { looks, clock, asked } = looksAt(() => answer, takesMs);
    for (let n = 0; n < 2; n += 1) {
      const looked = looks.now();
      await clock.advance(takesMs);
      await looked;
    }
    expect(asked()).toBe(2);
  });
});
