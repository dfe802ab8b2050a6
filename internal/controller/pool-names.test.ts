import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sessionNameIn } from '../agent/session-name.ts';
import { poolNameProblem } from '../config/compose/namepool.ts';
import { qualifiedInstanceName } from '../config/qualified-name.ts';
import { canNameSlot } from './pool-names.ts';
import { anAgent, aPoolCity } from './testing/pools.fixtures.ts';

it('the config warns of exactly the names of a pool that are never given to a session', () => {
  const someName = fc.oneof(
    fc.constantFrom(
      'human',
      'status',
      'drain',
      'poll',
      's-1',
      's-',
      'gc-12',
      'gc-s3',
      'gc-',
      'Human',
      'felix',
    ),
    fc.constantFrom('tom cat', '-x', 'a.b', '.a', 'x/y', 'x//y', '/x', 'é', '.', 'a_b', 'a--b', 'a__b'),
    fc.string({ minLength: 1, maxLength: 8 }),
    fc.stringMatching(/^[a-zA-Z0-9_.-]{1,20}$/),
    fc.string({ minLength: 55, maxLength: 70, unit: fc.constantFrom('a', 'b', '-') }),
  );
  fc.assert(
    fc.property(someName, fc.constantFrom('', 'R'), fc.constantFrom('', 'pack'), (name, dir, binding) => {
      const agent = { ...anAgent({ name: 'cat', dir }), binding };
      const identity = qualifiedInstanceName(agent, name);
      const sessionName = sessionNameIn(aPoolCity({ agents: [agent] }), identity);
      expect(poolNameProblem(agent, name) === undefined).toBe(canNameSlot(sessionName, identity));
    }),
    { numRuns: 500 },
  );
});
