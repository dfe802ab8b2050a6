import { describe, expect, it } from 'vitest';
import { CityHarness, cityYaml } from './testing/city-harness.ts';
import type { Faults } from './testing/mortal.ts';

/** More of them with more runs of the simulation. */
const RUNS = Number(process.env['GC_SIM_RUNS'] ?? 6);
const DRAIN_TIMEOUT = 'drain_timeout: 20s';

describe('a controller killed at every step', () => {
  /** A start, a death, a change of the config: what the runtime is asked for in between is what is cut off. */
  const story = async (faults: Faults & { calls: number }) => {
    const yaml = cityYaml(['a', ['b', 'depends_on: [a]']]);
    const h = new CityHarness(yaml, { faults });
    h.provider.scripts.fallback = { delayMs: 300 };
    for (const name of ['a', 'b']) h.provider.waitForIdleErrors.set(name, undefined);
    try {
      h.up().catch(() => undefined); // killed while it came up
      await h.until(() => h.killed || h.isUp);
      await h.pass(1_500);
      if (!h.killed && h.provider.sessions.has('a')) h.provider.crash('a', { code: 1 });
      await h.pass(1_500);
      h.writeConfig(yaml.replace('run-b', 'run-b-new'));
      if (!h.killed) h.touchConfig();
      await h.pass(1_500);
      await h.until(async () => {
        if (h.killed) await h.up();
        const settled = (await h.records('active')).length === 2;
        return settled && h.provider.sessions.get('b')?.config.command === 'run-b-new';
      });
      return [...h.provider.sessions.values()].filter((session) => !session.ended).length;
    } finally {
      await h.end();
    }
  };

  const killAt = (at: number, fate: 'dies before' | 'dies after') => ({
    calls: 0,
    next(): ReturnType<Faults['next']> {
      this.calls += 1;
      return this.calls === at ? fate : 'fine';
    },
  });

  it('REC-13 leaves nothing that the next one does not settle', { timeout: 240_000 }, async () => {
    const whole = killAt(-1, 'dies before');
    expect(await story(whole)).toBe(2);
    expect(whole.calls).toBeGreaterThan(15);
    for (let at = 1; at <= whole.calls; at += 1) {
      const fates =
        RUNS > 6
          ? (['dies before', 'dies after'] as const)
          : ([at % 2 === 0 ? 'dies before' : 'dies after'] as const);
      for (const fate of fates)
        expect(await story(killAt(at, fate)), `killed at call ${at} (${fate})`).toBe(2);
    }
  });

  /** A person drains both; one says that it is done, the other lets its time pass. */
  const drainStory = async (faults: Faults & { calls: number }) => {
    const h = new CityHarness(
      cityYaml([
        ['a', DRAIN_TIMEOUT],
        ['b', DRAIN_TIMEOUT],
      ]),
      { faults },
    );
    const asked = new Set<string>();
    const ask = async (name: string, work: () => Promise<unknown>) => {
      if (!h.isUp || asked.has(name)) return;
      work().then(
        () => asked.add(name),
        () => undefined, // killed meanwhile: it is asked again
      );
      await h.pass(300);
    };
    try {
      h.up().catch(() => undefined); // killed while it came up
      await h.until(() => h.killed || h.isUp);
      await h.pass(1_000);
      await h.until(async () => {
        if (h.killed) await h.up();
        if ((await h.records()).filter((r) => r.generation > 1).length < 2) return false;
        await ask('a', () => h.api.drain('a'));
        await ask('b', () => h.api.drain('b'));
        if (asked.has('b')) await ask('b says', () => h.api.acknowledgeDrain('b'));
        return h.isUp && (await h.records('drained')).length === 2;
      });
      await h.pass(60_000);
      return [h.starts(), [...h.provider.sessions.values()].filter((session) => !session.ended).length];
    } finally {
      await h.end();
    }
  };

  it('goes on with a drain, and ends it once', { timeout: 240_000 }, async () => {
    const whole = killAt(-1, 'dies before');
    expect(await drainStory(whole)).toEqual([2, 0]);
    const began = await callsUntilUp();
    for (let at = began + 1; at <= whole.calls; at += RUNS > 6 ? 1 : 3) {
      const fate = at % 2 === 0 ? 'dies before' : 'dies after';
      expect(await drainStory(killAt(at, fate)), `killed at call ${at} (${fate})`).toEqual([2, 0]);
    }
  });

  /** Starts that are cut off are another story. */
  const callsUntilUp = async () => {
    const counting = killAt(-1, 'dies before');
    const h = new CityHarness(cityYaml(['a', 'b']), { faults: counting });
    await h.up();
    await h.running(2);
    await h.end();
    return counting.calls;
  };
});
