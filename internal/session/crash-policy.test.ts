import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterDeath,
  afterLife,
  CLEAR,
  type CrashPolicy,
  type CrashState,
  cleared,
  crashPatch,
  type Death,
  delayMs,
  FIRST_QUARANTINE_MS,
  HEALTHY_UPTIME_MS,
  MAX_DELAY_MS,
  MAX_QUARANTINE_MS,
  quarantineMs,
  readCrashState,
  STABLE_UPTIME_MS,
  startGate,
  USAGE_LIMIT_WAIT_MS,
} from './crash-policy.ts';
import { NOW } from './testing/records.ts';

const POLICY: CrashPolicy = { maxRestarts: 5, restartWindowMs: 3_600_000 };
const UNLIMITED: CrashPolicy = { maxRestarts: 0, restartWindowMs: 3_600_000 };
const middle = () => 0.5;
const own = (uptimeMs: number): Death => ({ kind: 'own', uptimeMs, how: 'exit 1' });

/** A city's time: every start happens as soon as it may, every life lasts as long as it is told to. */
function live(lives: readonly number[], policy: CrashPolicy) {
  let now = NOW;
  let state: CrashState = CLEAR;
  const waits: number[] = [];
  for (const uptime of lives) {
    now += uptime;
    state = afterDeath(state, own(uptime), policy, now, middle);
    const gate = startGate(state, now);
    const wait = gate.kind === 'open' ? 0 : gate.nextTryAt - now;
    waits.push(wait);
    now += wait;
  }
  return { now, state, waits };
}

const many = <T>(count: number, value: T): readonly T[] => Array.from({ length: count }, () => value);

describe('delays', () => {
  it('REC-07 grow 0, 1, 2, 4 ... 300 s, also where nothing is ever quarantined', () => {
    const { waits } = live(many(12, 0), UNLIMITED);
    expect(waits).toEqual([0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((s) => s * 1_000));
  });

  it('are spread by chance within a tenth, and never exceed 300 s', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 1_000 }),
        fc.double({ min: 0, max: 0.999_999, noNaN: true }),
        (level, chance) => {
          const exact = level <= 1 ? 0 : Math.min(MAX_DELAY_MS, 1_000 * 2 ** Math.min(level - 2, 20));
          const delay = delayMs(level, () => chance);
          expect(delay).toBeGreaterThanOrEqual(Math.floor(exact * 0.9));
          expect(delay).toBeLessThanOrEqual(Math.min(MAX_DELAY_MS, Math.ceil(exact * 1.1)));
        },
      ),
    );
    expect(delayMs(6, () => 0)).not.toBe(delayMs(6, () => 0.9));
  });

  it('grow with every short life', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: STABLE_UPTIME_MS - 1 }), { minLength: 2, maxLength: 20 }),
        (lives) => {
          const { waits } = live(lives, UNLIMITED);
          for (const [index, wait] of waits.entries())
            expect(wait).toBeGreaterThanOrEqual(waits[index - 1] ?? 0);
        },
      ),
    );
  });
});

describe('strikes fade', () => {
  const waiting = live(many(8, 0), UNLIMITED).state;

  it('only with a life longer than the last delay', () => {
    expect(waiting.lastDelayMs).toBe(64_000);
    expect(afterLife(waiting, 64_000)).toBe(waiting);
    expect(afterLife(waiting, 64_001).level).toBe(waiting.level - 1);
  });

  it('never with a life that was not stable, however short the last delay was', () => {
    const once = live([0], UNLIMITED).state;
    expect(once.lastDelayMs).toBe(0);
    expect(afterLife(once, STABLE_UPTIME_MS - 1)).toBe(once);
    expect(afterLife(once, STABLE_UPTIME_MS).level).toBe(0);
  });

  it('all at once with a healthy life', () => {
    expect(afterLife(waiting, HEALTHY_UPTIME_MS)).not.toEqual(CLEAR);
    expect(afterLife(waiting, HEALTHY_UPTIME_MS + 1)).toEqual(CLEAR);
  });

  it('so that an agent which keeps ending after a minute settles at about a minute of waiting', () => {
    const { waits } = live(many(40, 60_000), UNLIMITED);
    const settled = waits.slice(-10);
    for (const wait of settled) expect(wait).toBeLessThanOrEqual(64_000);
  });

  it('so that an agent which ends after ten minutes each time is simply started again', () => {
    const { waits, state } = live(many(50, 600_000), POLICY);
    expect(new Set(waits)).toEqual(new Set([0]));
    expect(state.kind).toBe('clear');
  });
});

describe('quarantine', () => {
  it('REC-01 comes with the last allowed end within the window, with reason and next try', () => {
    const { waits, state } = live(many(5, 0), POLICY);
    expect(waits).toEqual([0, 1_000, 2_000, 4_000, FIRST_QUARANTINE_MS]);
    expect(state).toMatchObject({
      kind: 'quarantined',
      cycle: 1,
      reason: 'exit 1; ended 5 times within 60m',
    });
    expect(startGate(state, NOW + 7_000)).toMatchObject({
      kind: 'quarantined',
      nextTryAt: NOW + 7_000 + 300_000,
    });
  });

  it('comes for agents that live minutes, too', () => {
    expect(live(many(5, 120_000), POLICY).state.kind).toBe('quarantined');
  });

  it('does not come when the ends are further apart than the window', () => {
    const tight: CrashPolicy = { maxRestarts: 3, restartWindowMs: 30_000 };
    expect(live(many(3, 20_000), tight).state.kind).not.toBe('quarantined');
    expect(live(many(3, 1_000), tight).state.kind).toBe('quarantined');
  });

  it('is a try each time it is over, and lasts longer each time the try fails', () => {
    const { waits } = live(many(12, 0), POLICY);
    expect(waits.slice(4)).toEqual([5, 10, 20, 40, 60, 60, 60, 60].map((m) => m * 60_000));
    expect(quarantineMs(1_000)).toBe(MAX_QUARANTINE_MS);
  });

  it('never comes where there is no limit', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 400_000 }), { maxLength: 60 }), (lives) => {
        expect(live(lives, UNLIMITED).state.kind).not.toBe('quarantined');
      }),
    );
  });

  it('bounds the starts of any agent: at most the limit and one try per quarantine in any window', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 200_000 }), { minLength: 30, maxLength: 60 }),
        (lives) => {
          let now = NOW;
          let state: CrashState = CLEAR;
          const starts: number[] = [];
          for (const uptime of lives) {
            starts.push(now);
            now += uptime;
            state = afterDeath(state, own(uptime), POLICY, now, middle);
            const gate = startGate(state, now);
            if (gate.kind !== 'open') now = gate.nextTryAt;
          }
          for (const start of starts) {
            const within = starts.filter((at) => at >= start && at < start + POLICY.restartWindowMs);
            expect(within.length).toBeLessThanOrEqual(POLICY.maxRestarts + 5);
          }
        },
      ),
    );
  });
});

describe('whose fault it was', () => {
  const struck = live(many(3, 0), POLICY).state;

  it('an intended end and one with a shared cause count for nobody', () => {
    for (const death of [{ kind: 'intended' }, { kind: 'shared', what: 'tmux server gone' }] as const) {
      expect(afterDeath(struck, death, POLICY, NOW, middle)).toBe(struck);
    }
  });

  it('REC-04 a usage limit is a long wait with its own reason, and no strike', () => {
    const until = NOW + 3 * 3_600_000;
    const limited = afterDeath(struck, { kind: 'usage-limit', until }, POLICY, NOW, middle);
    expect(limited.strikes).toEqual(struck.strikes);
    expect(limited.level).toBe(struck.level);
    const gate = startGate(limited, NOW);
    expect(gate).toMatchObject({ kind: 'usage-limit', reason: 'usage limit' });
    expect(gate.kind !== 'open' && gate.nextTryAt).toBeGreaterThan(until);
    const silent = afterDeath(CLEAR, { kind: 'usage-limit', until: undefined }, POLICY, NOW, () => 0);
    expect(silent.nextTryAt).toBe(NOW + USAGE_LIMIT_WAIT_MS);
    const absurd = afterDeath(CLEAR, { kind: 'usage-limit', until: NOW + 1e12 }, POLICY, NOW, () => 0);
    expect(absurd.nextTryAt).toBe(NOW + 86_400_000);
    const past = afterDeath(CLEAR, { kind: 'usage-limit', until: NOW - 1 }, POLICY, NOW, () => 0);
    expect(startGate(past, NOW).kind).toBe('usage-limit');
  });

  it('a person’s wake forgets everything', () => {
    expect(startGate(cleared(), NOW)).toEqual({ kind: 'open' });
    expect(Object.values(crashPatch(cleared()))).toEqual(['', '', '', '']);
  });
});

describe('time', () => {
  it('a wall clock that jumps makes nobody wait longer than was decided', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), fc.integer({ min: -1e10, max: 1e10 }), (deaths, jump) => {
        const { state, now } = live(many(deaths, 0), POLICY);
        const gate = startGate(state, now + jump);
        if (gate.kind === 'open') return;
        expect(gate.nextTryAt - (now + jump)).toBeLessThanOrEqual(state.lastDelayMs);
      }),
    );
  });

  it('strikes from a future that never came count like any others', () => {
    const { state } = live(many(4, 0), POLICY);
    const back = afterDeath(state, own(0), POLICY, NOW - 1_000, middle);
    expect(back.kind).toBe('quarantined');
  });
});

describe('the record', () => {
  const states = fc
    .record({
      lives: fc.array(fc.integer({ min: 0, max: 400_000 }), { maxLength: 12 }),
      max: fc.integer({ min: 0, max: 6 }),
    })
    .map(({ lives, max }) => live(lives, { maxRestarts: max, restartWindowMs: 3_600_000 }));

  it('brings every state back', () => {
    fc.assert(
      fc.property(states, ({ state, now }) => {
        const read = readCrashState(crashPatch(state), now);
        expect(startGate(read, now)).toEqual(startGate(state, now));
        expect({ ...read, level: 0 }).toEqual({ ...(state.level === 0 ? read : state), level: 0 });
      }),
    );
  });

  it('mirrors what other tools read', () => {
    const { state } = live(many(5, 0), POLICY);
    const patch = crashPatch(state);
    expect(patch['crash_count']).toBe('5');
    expect(patch['quarantine_cycle']).toBe('1');
    expect(Date.parse(patch['quarantined_until'] ?? '')).toBeGreaterThanOrEqual(state.nextTryAt ?? 0);
  });

  it('a quarantine that somebody lifted by clearing its time is over, one that expired keeps its history', () => {
    const { state, now } = live(many(5, 0), POLICY);
    const patch = { ...crashPatch(state), quarantined_until: '' };
    expect(readCrashState(patch, (state.nextTryAt ?? 0) - 1)).toEqual(CLEAR);
    expect(readCrashState(patch, now).strikes).toHaveLength(5);
  });

  it('takes anything unreadable for a session without a history', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const state = readCrashState({ crash_history: text }, NOW);
        expect(startGate(state, NOW)).toBeDefined();
        afterDeath(state, own(0), POLICY, NOW, middle);
      }),
    );
    expect(readCrashState({}, NOW)).toEqual(CLEAR);
  });
});
