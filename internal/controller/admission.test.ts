import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { MachineState } from '../platform/machine.ts';
import { type AdmissionLimits, admit, hasLimits, START_ANYWAY_KEY } from './admission.ts';
import { plan } from './reconciler.ts';
import { CityHarness, cityYaml } from './testing/city-harness.ts';
import { aDesired, aPlanInput, aRecord } from './testing/plan.fixtures.ts';

const GB = 2 ** 30;
const limits = (over: Partial<AdmissionLimits> = {}): AdmissionLimits => ({
  maxLoadPerCore: 0,
  minFreeMemory: 0,
  memoryPerSession: 0,
  ...over,
});
const machine = (over: Partial<MachineState> = {}): MachineState => ({
  freeMemory: 8 * GB,
  totalMemory: 16 * GB,
  load: [1, 1, 1],
  cores: 4,
  ...over,
});

describe('whether a session may begin', () => {
  it.each([
    ['no limits are set', limits(), machine({ freeMemory: 0, load: [900, 900, 900] }), 0],
    ['enough stays free', limits({ minFreeMemory: 2 * GB, memoryPerSession: 2 * GB }), machine(), 2],
    ['the load is at its limit', limits({ maxLoadPerCore: 0.25 }), machine(), 0],
  ])('yes: %s', (_case, set, now, starting) => {
    expect(admit({ limits: set, machine: now }, starting)).toEqual({ kind: 'admitted' });
  });

  it.each([
    [
      limits({ minFreeMemory: 2 * GB }),
      machine({ freeMemory: 1.2 * GB }),
      0,
      'memory: 1.2 GB free of 16 GB, needs 2 GB',
    ],
    [
      limits({ minFreeMemory: 2 * GB, memoryPerSession: 2 * GB }),
      machine(),
      3,
      'memory: 8 GB free of 16 GB, needs 10 GB with 3 already starting',
    ],
    [
      limits({ maxLoadPerCore: 2 }),
      machine({ load: [12, 0, 0] }),
      0,
      'load: 3.0 per core on 4 cores, may be 2',
    ],
  ])('no, and why: %#', (set, now, starting, why) => {
    expect(admit({ limits: set, machine: now }, starting)).toMatchObject({ kind: 'waits', why });
  });

  it('more free memory, less load or fewer starts never turn a yes into a no', () => {
    const size = fc.integer({ min: 0, max: 64 * GB });
    const load = fc.double({ min: 0, max: 100, noNaN: true });
    fc.assert(
      fc.property(size, size, load, size, load, fc.nat(20), (min, each, max, free, now, starting) => {
        const set = { minFreeMemory: min, memoryPerSession: each, maxLoadPerCore: max };
        const at = (freeMemory: number, one: number, others: number) =>
          admit({ limits: set, machine: machine({ freeMemory, load: [one, 0, 0] }) }, others).kind;
        if (at(free, now, starting) === 'admitted') {
          expect(at(free + GB, now / 2, Math.max(0, starting - 1))).toBe('admitted');
        } else expect(hasLimits(set)).toBe(true);
      }),
    );
  });
});

describe('a plan', () => {
  it('does not hold back sessions of other machines, nor what a person forced', () => {
    const names = ['here', 'there', 'forced'];
    const input = aPlanInput({
      desired: names.map((name) => aDesired(name)),
      records: names.map((name) =>
        aRecord(name, { state: 'asleep', ...(name === 'forced' ? { [START_ANYWAY_KEY]: 'yes' } : {}) }),
      ),
      over: {
        room: { limits: limits({ minFreeMemory: 2 * GB }), machine: machine({ freeMemory: GB }) },
        elsewhere: new Set(['there']),
      },
    });
    const { actions, roomWaits } = plan(input);
    expect(actions.map(({ sessionName }) => sessionName).sort()).toEqual(['forced', 'there']);
    expect([...roomWaits.keys()]).toEqual(['here']);
  });
});

describe('a city on a machine that is short of memory', () => {
  let h: CityHarness;
  afterEach(() => h.end());
  let free = 1.2 * GB;
  const yaml = cityYaml(['mayor', 'worker'], 'daemon: { min_free_memory: 2GB }');
  const up = async () => {
    free = 1.2 * GB;
    h = new CityHarness(yaml, { machine: () => machine({ freeMemory: free }) });
    await h.up();
  };
  const detail = async (name: string) => (await h.api.session(name)).detail;
  const WHY = 'memory: 1.2 GB free of 16 GB, needs 2 GB';

  it('starts nobody, says why, and starts them as soon as there is room', async () => {
    await up();
    await h.until(async () => (await detail('mayor'))?.includes(WHY));
    expect(h.starts()).toBe(0);
    const { decisions, helps } = await h.api.explain('mayor');
    expect(decisions.at(-1)).toMatchObject({ what: 'wait', why: WHY });
    expect(helps[0]?.command).toBe('gc session wake mayor --force');
    free = 3 * GB;
    await h.running(2);
    expect((await h.api.session('mayor')).condition).not.toBe('starting');
  });

  it('writes its decision once, however the figures change, and tells of a long wait once', async () => {
    await up();
    await h.until(async () => (await detail('mayor'))?.includes(WHY));
    for (let i = 0; i < 20; i += 1) {
      free = (1.2 + i / 40) * GB;
      await h.pass(10_000);
    }
    const { decisions } = await h.api.explain('mayor');
    expect(decisions.filter(({ what }) => what === 'wait')).toHaveLength(1);
    const events = (await h.city.db.events.list({ type: 'session.waits_for_room' })).map((e) => e.subject);
    expect(events.sort()).toEqual(['mayor', 'worker']);
  });

  it('never ends what runs', async () => {
    await up();
    free = 3 * GB;
    await h.running(2);
    free = 0;
    await h.pass(120_000);
    expect((await h.records('active')).length).toBe(2);
  });

  it('tells what its sessions use of the machine, and its limits', async () => {
    await up();
    free = 3 * GB;
    await h.running(2);
    expect(await h.settled(h.api.resources())).toMatchObject({
      machine: { memory_free: 3 * GB, memory_total: 16 * GB, cores: 4 },
      limits: { min_free_memory: 2 * GB },
      sessions: [
        { display_name: 'mayor', elsewhere: false },
        { display_name: 'worker', elsewhere: false },
      ],
    });
  });

  it('refuses what a person asks for with the reason, and does it when told to', async () => {
    await up();
    await h.until(async () => (await detail('mayor'))?.includes(WHY));
    await expect(h.api.wake('mayor')).rejects.toMatchObject({
      code: 'no-room',
      message: `mayor would have to wait for ${WHY}`,
      next: expect.stringContaining('gc session wake mayor --force'),
    });
    await expect(h.api.newSession({ template: 'worker', alias: 'extra' })).rejects.toMatchObject({
      code: 'no-room',
      next: expect.stringContaining('gc session new worker --force'),
    });
    expect((await h.records()).map((record) => record.alias)).not.toContain('extra');
    await h.api.wake('mayor', { force: true });
    await h.running(1);
    // The permission was for that one life.
    await h.settled(h.api.kill('mayor'));
    await h.until(async () => (await detail('mayor'))?.includes(WHY));
    expect(h.starts('mayor')).toBe(1);
  });
});
