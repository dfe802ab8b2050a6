import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { City } from '../config/city.ts';
import type { SessionRecord } from '../session/record.ts';
import { desiredRequests } from './desired-state.ts';
import type { Desired } from './model.ts';
import { neededTemplates } from './needed-templates.ts';
import { decidePools, type PoolScene } from './pools.ts';
import { aDesired, aRecord } from './testing/plan.fixtures.ts';
import { anAgent, aPoolCity, aPoolScene, waiting } from './testing/pools.fixtures.ts';

const NAMES = ['ant', 'bee', 'cat', 'dog'];
const AT = '2026-01-02T09:00:00Z';

const someScene: fc.Arbitrary<PoolScene> = fc
  .record({
    agents: fc.tuple(
      ...NAMES.map((name) =>
        fc.record({
          name: fc.constant(name),
          dir: fc.constantFrom('', 'R'),
          min: fc.integer({ min: 0, max: 2 }),
          max: fc.constantFrom(undefined, 1, 2, 3),
          dependsOn: fc.subarray(NAMES, { maxLength: 2 }),
          suspended: fc.boolean(),
          named: fc.array(fc.constantFrom('always' as const, 'on_demand' as const), { maxLength: 2 }),
          waiting: fc.integer({ min: 0, max: 3 }),
        }),
      ),
    ),
    cap: fc.constantFrom(undefined, 1, 2, 3, 4, 5, 6),
    rigCap: fc.constantFrom(undefined, 1, 2, 3),
    up: fc.subarray(NAMES),
  })
  .map(({ agents: parts, cap, rigCap, up }) => {
    const dirs = new Map(parts.map(({ name, dir }) => [name, dir === '' ? name : `${dir}/${name}`]));
    const agents = parts.map(({ name, dir, min, max, dependsOn, suspended }) =>
      anAgent({
        name,
        dir,
        minActiveSessions: min,
        maxActiveSessions: max,
        dependsOn: dependsOn.flatMap((other) => dirs.get(other) ?? []),
        suspended,
      }),
    );
    const namedSessions = parts.flatMap(({ name, named }) =>
      named.map((mode, i) => ({
        identity: `${name}-boss-${i}`,
        templateQualifiedName: dirs.get(name) ?? '',
        mode,
      })),
    );
    const city = aPoolCity({
      agents,
      namedSessions,
      rigs: [{ name: 'R', maxActiveSessions: rigCap }],
      workspace: { maxActiveSessions: cap },
    });
    const counts = Object.fromEntries(parts.map(({ name, waiting: count }) => [dirs.get(name) ?? '', count]));
    const records = up.map((name) => recordOf('dependency', dirs.get(name) ?? '', dirs.get(name) ?? ''));
    return aPoolScene(city, { records, work: waiting(counts) });
  });

function recordOf(kind: string, name: string, template: string, slot = 0): SessionRecord {
  return aRecord(name.replace('/', '--'), {
    template,
    state: 'active',
    last_woke_at: AT,
    ...(kind === 'pool' ? { session_origin: 'ephemeral', pool_managed: 'true', pool_slot: `${slot}` } : {}),
    ...(kind === 'dependency' ? { dependency_only: 'true' } : {}),
    ...(kind === 'named' ? { configured_named_identity: name, session_origin: 'named' } : {}),
  });
}

/** Who is up when everything that was decided about these records has come about. */
function carriedOut(city: City, scene: PoolScene): readonly SessionRecord[] {
  const { slots, wanted } = decidePools(scene);
  const requests = desiredRequests(city, scene.records, slots);
  const all = requests.map(({ sessionName, agent, kind, mode, suspended }) =>
    aDesired(sessionName, {
      template: agent.qualifiedName,
      dependsOn: agent.dependsOn,
      kind,
      mode,
      suspended,
    }),
  );
  const isUp = new Set(scene.records.map((record) => record.sessionName));
  const stands = ({ mode, sessionName }: Desired) =>
    mode === 'always' || wanted.has(sessionName) || (mode === 'on_demand' && isUp.has(sessionName));
  const needed = neededTemplates(all, stands);
  return requests.flatMap(({ sessionName, identity, agent, kind, mode, suspended, slot }) => {
    const template = agent.qualifiedName;
    const isWanted = stands(aDesired(sessionName, { kind, mode }));
    if (suspended || (!isWanted && (kind === 'pool' || !needed.has(template)))) return [];
    return [recordOf(kind, identity, template, slot)];
  });
}

const namesOf = (records: readonly SessionRecord[]) => records.map((record) => record.sessionName).toSorted();

it('what a city decides within its limits is decided again once it has come about, whoever depends on whom', () => {
  fc.assert(
    fc.property(someScene, (scene) => {
      const { city } = scene;
      let records = carriedOut(city, scene);
      // A dependency that was up already may take the place of one that would come up.
      for (let i = 0; i < 2; i += 1) records = carriedOut(city, { ...scene, records });
      expect(namesOf(carriedOut(city, { ...scene, records }))).toEqual(namesOf(records));
    }),
    { numRuns: 300 },
  );
});
