import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { rfc3339 } from '../platform/clock.ts';
import { type CrashState, crashPatch, readCrashState } from '../session/crash-policy.ts';
import type { SessionRecord } from '../session/record.ts';
import { archive } from '../session/transitions.ts';
import type { VerbState } from '../session/verb-state.ts';
import { EXITS, type Exit } from '../session/verb-table.ts';
import { CityHarness, cityYaml } from './testing/city-harness.ts';

const CITY = cityYaml(['a'], 'daemon: { max_restarts: 3, shutdown_timeout: 1s }');
const OTHER = cityYaml(['other'], 'daemon: { max_restarts: 3, shutdown_timeout: 1s }');
const HOUR_MS = 3_600_000;

let h: CityHarness;
afterEach(() => h.end());

/** States that a city of one process can be brought into; nobody makes the other two on purpose. */
type Made = Extract<
  VerbState,
  | 'suspended'
  | 'wait-hold'
  | 'backing-off'
  | 'quarantined'
  | 'usage-limit'
  | 'missing-config'
  | 'archived-eligible'
>;

/** Down, by whatever keeps it there: each the way it comes about. */
const MAKE: Readonly<Record<Made, (exit?: Exit) => Promise<void>>> = {
  // A person's hold is for ever; one that has an end is of a script, in the record alone.
  suspended: async (exit) => {
    if (exit?.by === 'time') await rest({ held_until: rfc3339(h.clock.now() + HOUR_MS) });
    else await h.settled(h.api.suspend('a'));
  },
  'wait-hold': () => rest({ wait_hold: 'true', sleep_intent: 'wait-hold', sleep_reason: 'wait-hold' }),
  'backing-off': () => struck('backing-off'),
  quarantined: async () => {
    await struck('quarantined');
    await change({ state: 'quarantined', quarantined_until: rfc3339(h.clock.now() + HOUR_MS) });
  },
  'usage-limit': () => struck('usage-limit'),
  'missing-config': async () => {
    h.writeConfig(OTHER);
    await h.settled(h.api.reload());
    await h.until(() => !h.provider.sessions.has('a'));
  },
  'archived-eligible': async () => {
    await rest({});
    await change(archive('kept', true, h.clock.now()));
  },
};

async function recordNow(): Promise<SessionRecord> {
  const found = (await h.city.store.list('open')).find(({ sessionName }) => sessionName === 'a');
  if (!found) throw new Error('no record of a');
  return found;
}

async function change(patch: Readonly<Record<string, string>>): Promise<void> {
  await h.city.store.apply((await recordNow()).id, patch);
}

/** Ended without a word, and with these marks, between two looks of the controller. */
async function rest(marks: Readonly<Record<string, string>>): Promise<void> {
  h.provider.sessions.delete('a');
  await change({ state: 'asleep', last_woke_at: '', pending_create_claim: '', ...marks });
}

async function struck(kind: CrashState['kind']): Promise<void> {
  await rest({});
  const now = h.clock.now();
  const before = readCrashState((await recordNow()).metadata, now);
  const state: CrashState = {
    ...before,
    kind,
    level: 3,
    reason: 'exit 1',
    nextTryAt: now + HOUR_MS,
    cycle: 1,
  };
  await change(crashPatch(state));
}

async function take(exit: Exit): Promise<void> {
  switch (exit.by) {
    case 'verb':
      if (exit.verb === 'wake') await h.settled(h.api.wake('a'));
      else if (exit.verb === 'reset') await h.settled(h.api.upkeep.reset('a'));
      else if (exit.verb === 'pin') await h.settled(h.api.upkeep.pin('a'));
      else throw new Error(`no way to take ${exit.verb}`);
      return;
    case 'time':
      await h.clock.advance(HOUR_MS + 1_000);
      return;
    case 'event':
      h.writeConfig(CITY);
      await h.settled(h.api.reload());
      if ((await recordNow()).waitHold) await change({ wait_hold: '', sleep_intent: '' });
      h.runtime.poke();
  }
}

async function runs(): Promise<void> {
  await h.until(async () => (await recordNow()).state === 'active' && h.provider.sessions.has('a'));
}

async function up(): Promise<void> {
  h = new CityHarness(CITY);
  await h.up();
  await h.running(1);
}

const isMade = (state: string): state is Made => Object.hasOwn(MAKE, state);
const ways = Object.entries(EXITS)
  .filter(([state]) => isMade(state))
  .flatMap(([state, exits]) => exits.map((exit) => ({ state: state as Made, exit })));

describe('a session that is down', () => {
  it.each(ways)('$state runs again by $exit', async ({ state, exit }) => {
    await up();
    await MAKE[state](exit);
    await h.pass(5_000);
    expect(h.provider.sessions.has('a'), 'it stays down until then').toBe(false);
    await take(exit);
    await runs();
  });

  it('for several reasons at once runs again by one wake', async () => {
    const reasons = ['suspended', 'wait-hold', 'backing-off', 'quarantined', 'usage-limit'] as const;
    await fc.assert(
      fc.asyncProperty(fc.subarray([...reasons], { minLength: 2 }), async (chosen) => {
        await up();
        try {
          for (const state of chosen.toSorted((a) => (a === 'suspended' ? -1 : 1))) await MAKE[state]();
          await h.pass(2_000);
          expect(h.provider.sessions.has('a')).toBe(false);
          await take({ by: 'verb', verb: 'wake' });
          await runs();
        } finally {
          await h.end();
        }
      }),
      { numRuns: 6 },
    );
  });
});
