import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { City } from '../config/city.ts';
import type { SessionRecord } from '../session/record.ts';
import { decidePools, type PoolScene, type ScaleCount, slotNamed } from './pools.ts';
import { aRecord } from './testing/plan.fixtures.ts';
import { anAgent, aPoolCity, aPoolScene, waiting } from './testing/pools.fixtures.ts';

const polecat = anAgent({ name: 'polecat', dir: 'R', maxActiveSessions: 5 });
const city = aPoolCity({ agents: [polecat] });

const slotRecord = (slot: number, metadata: Record<string, string> = {}): SessionRecord =>
  aRecord(`R--polecat-${slot}`, {
    template: 'R/polecat',
    alias: `R/polecat-${slot}`,
    session_origin: 'ephemeral',
    pool_managed: 'true',
    pool_slot: String(slot),
    state: 'active',
    last_woke_at: '2026-01-02T09:00:00Z',
    ...metadata,
  });

const wantedOf = (scene: PoolScene) => [...decidePools(scene).wanted.keys()];
const said = (count: ScaleCount, template = 'R/polecat') => new Map([[template, count]]);

describe('what a pool wants', () => {
  it('one session for each piece of waiting work, up to the limit', () => {
    const wants = (count: number) => wantedOf(aPoolScene(city, { work: waiting({ 'R/polecat': count }) }));
    expect(wants(0)).toEqual([]);
    expect(wants(2)).toEqual(['R--polecat-1', 'R--polecat-2']);
    expect(wants(9)).toHaveLength(5);
  });

  it('its floor without any work, and a named session counts towards it', () => {
    const coder = anAgent({ name: 'coder', minActiveSessions: 2, maxActiveSessions: 5 });
    expect(wantedOf(aPoolScene(aPoolCity({ agents: [coder] })))).toEqual(['coder-1', 'coder-2']);
    const named = { identity: 'boss', templateQualifiedName: 'coder', mode: 'always' } as const;
    expect(wantedOf(aPoolScene(aPoolCity({ agents: [coder], namedSessions: [named] })))).toEqual(['coder-1']);
  });

  it('more for waiting work beside work in hands', () => {
    const work = waiting({ 'R/polecat': 1 }, { assignees: new Set(['R/polecat-1']) });
    expect(wantedOf(aPoolScene(city, { records: [slotRecord(1)], work }))).toEqual([
      'R--polecat-1',
      'R--polecat-2',
    ]);
  });

  it('what its scale check says, between work in hands and the limit', () => {
    const wants = (count: ScaleCount, over: Partial<PoolScene> = {}) =>
      wantedOf(aPoolScene(city, { counts: said(count), ...over }));
    expect(wants({ kind: 'count', count: 3 })).toHaveLength(3);
    expect(wants({ kind: 'count', count: 99 })).toHaveLength(5);
    const busy = { records: [slotRecord(4)], work: waiting({}, { assignees: new Set(['R--polecat-4']) }) };
    expect(wants({ kind: 'count', count: 0 }, busy)).toEqual(['R--polecat-4']);
    expect(wants({ kind: 'invalid' }, busy)).toEqual(['R--polecat-4']);
  });

  it('what it has while its scale check has not answered', () => {
    const records = [slotRecord(2), slotRecord(3, { state: 'asleep', last_woke_at: '' })];
    expect(wantedOf(aPoolScene(city, { records, counts: said({ kind: 'unknown' }) }))).toEqual([
      'R--polecat-2',
    ]);
  });

  it('nothing for agents that have one session, or none', () => {
    const agents = [
      anAgent({ name: 'one', maxActiveSessions: 1 }),
      anAgent({ name: 'none', maxActiveSessions: 0 }),
    ];
    expect(wantedOf(aPoolScene(aPoolCity({ agents }), { work: waiting({ one: 3, none: 3 }) }))).toEqual([]);
  });

  it('nothing new while its agent, its rig or the city is suspended', () => {
    const work = waiting({ 'R/polecat': 2 });
    for (const suspended of [
      aPoolCity({ agents: [anAgent({ ...polecat, suspended: true })] }),
      aPoolCity({ agents: [polecat], rigs: [{ name: 'R', suspended: true }] }),
      aPoolCity({ agents: [polecat], workspace: { suspended: true } }),
    ]) {
      expect(wantedOf(aPoolScene(suspended, { work }))).toEqual([]);
    }
  });

  it('POL-04 one less where a named session of the same agent stands', () => {
    const agent = anAgent({ name: 'a' });
    const named = { identity: 'a', templateQualifiedName: 'a', mode: 'always' } as const;
    const withNamed = aPoolCity({ agents: [agent], namedSessions: [named] });
    const counts = (count: number) => ({ counts: said({ kind: 'count', count }, 'a') });
    expect(wantedOf(aPoolScene(withNamed, counts(1)))).toEqual([]);
    expect(wantedOf(aPoolScene(withNamed, counts(2)))).toEqual(['a-1']);
  });
});

describe('limits', () => {
  const pools = ['R/a', 'R/b', 'c'].map((name) =>
    anAgent({ name: name.split('/').at(-1) ?? '', dir: name.includes('/') ? 'R' : '' }),
  );
  const work = waiting({ 'R/a': 3, 'R/b': 3, c: 3 });

  it('of a rig hold for all its agents, of the city for all', () => {
    const limited = aPoolCity({
      agents: pools,
      rigs: [{ name: 'R', maxActiveSessions: 4 }],
      workspace: { maxActiveSessions: 5 },
    });
    expect(wantedOf(aPoolScene(limited, { work }))).toEqual(['R--a-1', 'R--a-2', 'R--a-3', 'R--b-1', 'c-1']);
  });

  it('are an agent’s own when it has none written', () => {
    const limited = aPoolCity({ agents: pools, workspace: { maxActiveSessions: 2 } });
    expect(wantedOf(aPoolScene(limited, { work: waiting({ c: 9 }) }))).toEqual(['c-1', 'c-2']);
  });

  it('are taken first by sessions that are no pool’s, and never by ending work in hands', () => {
    const limited = aPoolCity({ agents: [polecat], workspace: { maxActiveSessions: 1 } });
    const mine = aRecord('mine', { template: 'R/polecat', session_origin: 'manual', state: 'active' });
    expect(wantedOf(aPoolScene(limited, { records: [mine], work: waiting({ 'R/polecat': 2 }) }))).toEqual([]);
    const busy = waiting({}, { assignees: new Set(['R/polecat-3', 'gc-R--polecat-4']) });
    const records = [mine, slotRecord(3), slotRecord(4)];
    expect(wantedOf(aPoolScene(limited, { records, work: busy }))).toEqual(['R--polecat-3', 'R--polecat-4']);
  });
});

describe('a limit and what its sessions depend on', () => {
  const dog = anAgent({ name: 'dog' });
  const bee = anAgent({ name: 'bee', dependsOn: ['dog'] });
  const within = (cap: number, over: Partial<Parameters<typeof aPoolCity>[0]> = {}) =>
    aPoolCity({ agents: [dog, bee], workspace: { maxActiveSessions: cap }, ...over });
  const work = waiting({ bee: 3 });

  it('a session is wanted when there is a place for its dependency as well, which is counted once', () => {
    expect(wantedOf(aPoolScene(within(1), { work }))).toEqual([]);
    expect(wantedOf(aPoolScene(within(2), { work }))).toEqual(['bee-1']);
    expect(wantedOf(aPoolScene(within(3), { work }))).toEqual(['bee-1', 'bee-2']);
  });

  it('a dependency that is up and that nobody needs takes no place', () => {
    const up = aRecord('dog', {
      template: 'dog',
      dependency_only: 'true',
      state: 'active',
      last_woke_at: AT,
    });
    expect(wantedOf(aPoolScene(within(2), { work, records: [up] }))).toEqual(['bee-1']);
    expect(wantedOf(aPoolScene(within(1), { work, records: [up] }))).toEqual([]);
  });

  it('every on-demand session of the template comes up for it; a suspended one never does', () => {
    const namedSessions = ['x', 'y'].map(
      (identity) => ({ identity, templateQualifiedName: 'dog', mode: 'on_demand' }) as const,
    );
    expect(wantedOf(aPoolScene(within(2, { namedSessions }), { work }))).toEqual([]);
    expect(wantedOf(aPoolScene(within(3, { namedSessions }), { work }))).toEqual(['bee-1']);
    const agents = [anAgent({ ...dog, suspended: true }), bee];
    expect(wantedOf(aPoolScene(within(1, { agents }), { work }))).toEqual(['bee-1']);
  });

  it('a ring of dependencies has an end', () => {
    const ring = ['a', 'b', 'c'].map((name, i) =>
      anAgent({ name, dependsOn: [['b', 'c', 'a'][i] ?? '', name, 'nobody'] }),
    );
    const of = (cap: number) => aPoolCity({ agents: ring, workspace: { maxActiveSessions: cap } });
    expect(wantedOf(aPoolScene(of(2), { work: waiting({ a: 1 }) }))).toEqual([]);
    expect(wantedOf(aPoolScene(of(3), { work: waiting({ a: 1 }) }))).toEqual(['a-1']);
  });
});

const AT = '2026-01-02T09:00:00Z';

describe('slots', () => {
  it('keep their number while others come and go; the highest idle ones go first', () => {
    const records = [slotRecord(2), slotRecord(3), slotRecord(5)];
    const wants = (count: number) =>
      wantedOf(aPoolScene(city, { records, work: waiting({ 'R/polecat': count }) }));
    expect(wants(4)).toEqual(['R--polecat-1', 'R--polecat-2', 'R--polecat-3', 'R--polecat-5']);
    expect(wants(2)).toEqual(['R--polecat-2', 'R--polecat-3']);
    expect(wants(1)).toEqual(['R--polecat-2']);
  });

  it('a slot with work stays before one without', () => {
    const records = [slotRecord(1), slotRecord(4)];
    const work = waiting({}, { assignees: new Set(['R/polecat-4']) });
    expect(wantedOf(aPoolScene(city, { records, work }))).toEqual(['R--polecat-4']);
  });

  it('take the names of the pool, then numbers', () => {
    const themed = anAgent({ name: 'cat', maxActiveSessions: 3, namepoolNames: ['tom', 'felix'] });
    const scene = aPoolScene(aPoolCity({ agents: [themed] }), { work: waiting({ cat: 3 }) });
    expect(wantedOf(scene)).toEqual(['tom', 'felix', 'cat-3']);
    expect(slotNamed(scene.city, themed, 'felix')?.slot).toBe(2);
  });

  it('leave out names that somebody else has', () => {
    const agents = [anAgent({ name: 'worker' }), anAgent({ name: 'worker-1', maxActiveSessions: 1 })];
    const stray = aRecord('worker-2', { template: 'other', session_origin: 'manual' });
    const scene = aPoolScene(aPoolCity({ agents }), { records: [stray], work: waiting({ worker: 2 }) });
    expect(wantedOf(scene)).toEqual(['worker-3', 'worker-4']);
  });

  it('a slot that a person put down keeps its number and does no work', () => {
    const records = [slotRecord(1, { state: 'suspended' })];
    const decided = decidePools(aPoolScene(city, { records, work: waiting({ 'R/polecat': 1 }) }));
    expect([...decided.wanted.keys()]).toEqual(['R--polecat-2']);
    expect(decided.slots.map((slot) => slot.slot)).toEqual([1, 2]);
  });

  it('are found again for sessions whose record does not say which they are', () => {
    const adopted = slotRecord(3, { pool_slot: '', pool_managed: '' });
    expect(decidePools(aPoolScene(city, { records: [adopted] })).slots).toMatchObject([
      { slot: 3, identity: 'R/polecat-3', sessionName: 'R--polecat-3' },
    ]);
  });

  it('are none where the name template gives every session one name', () => {
    const one = aPoolCity({ agents: [polecat], workspace: { sessionTemplate: '{{.City}}' } });
    expect(wantedOf(aPoolScene(one, { work: waiting({ 'R/polecat': 4 }) }))).toHaveLength(0);
  });
});

const someScene: fc.Arbitrary<PoolScene & { city: City }> = fc
  .record({
    min: fc.integer({ min: 0, max: 2 }),
    max: fc.option(fc.integer({ min: 2, max: 4 }), { nil: undefined }),
    cap: fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined }),
    waiting: fc.integer({ min: 0, max: 6 }),
    states: fc.array(
      fc.record({
        slot: fc.integer({ min: 1, max: 6 }),
        state: fc.constantFrom(
          'active',
          'creating',
          'draining',
          'asleep',
          'drained',
          'suspended',
          'quarantined',
        ),
        up: fc.boolean(),
        busy: fc.boolean(),
      }),
      { maxLength: 5 },
    ),
    check: fc.option(
      fc.constantFrom<ScaleCount>({ kind: 'unknown' }, { kind: 'invalid' }, { kind: 'count', count: 3 }),
      { nil: undefined },
    ),
  })
  .map((s) => {
    const agent = anAgent({ ...polecat, minActiveSessions: s.min, maxActiveSessions: s.max });
    const slots = [...new Map(s.states.map((state) => [state.slot, state])).values()];
    const records = slots.map(({ slot, state, up }) =>
      slotRecord(slot, { state, ...(up ? {} : { last_woke_at: '' }) }),
    );
    const assignees = new Set(slots.filter((slot) => slot.busy).map(({ slot }) => `R/polecat-${slot}`));
    return aPoolScene(aPoolCity({ agents: [agent], workspace: { maxActiveSessions: s.cap } }), {
      records,
      work: waiting({ 'R/polecat': s.waiting }, { assignees }),
      counts: s.check ? said(s.check) : new Map(),
    });
  });

describe('pools, whatever is up and whatever waits', () => {
  const holds = (property: (scene: PoolScene) => void) =>
    fc.assert(fc.property(someScene, property), { numRuns: 400 });

  it('never want more than the limits, but for work in hands', () => {
    holds((scene) => {
      const { wanted, busy } = decidePools(scene);
      const [agent] = scene.city.agents;
      const cap = scene.city.workspace.maxActiveSessions;
      const limit = Math.min(agent?.maxActiveSessions ?? 99, cap ?? 99);
      expect(wanted.size).toBeLessThanOrEqual(Math.max(limit, busy.size));
    });
  });

  it('always want the slots with work in their hands, and no slot that a person put down', () => {
    holds((scene) => {
      const { wanted, busy } = decidePools(scene);
      for (const name of busy) expect(wanted.has(name)).toBe(true);
      for (const record of scene.records)
        if (record.state === 'suspended') expect(wanted.has(record.sessionName)).toBe(false);
    });
  });

  it('POL-02 give every session a slot of its own', () => {
    holds((scene) => {
      const { slots } = decidePools(scene);
      expect(new Set(slots.map((slot) => slot.sessionName)).size).toBe(slots.length);
      expect(new Set(slots.map((slot) => slot.slot)).size).toBe(slots.length);
    });
  });

  it('decide the same once what they decided is there', () => {
    holds((scene) => {
      const first = decidePools(scene);
      const missing = first.slots.filter((slot) =>
        scene.records.every((record) => record.sessionName !== slot.sessionName),
      );
      const records = [...scene.records, ...missing.map(({ slot }) => slotRecord(slot))];
      const counts = new Map([...scene.counts].filter(([, count]) => count.kind !== 'unknown'));
      if (counts.size < scene.counts.size) return;
      expect([...decidePools({ ...scene, records }).wanted.keys()].toSorted()).toEqual(
        [...first.wanted.keys()].toSorted(),
      );
    });
  });
});
