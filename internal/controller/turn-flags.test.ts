import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { aRecord } from './testing/plan.fixtures.ts';
import {
  clearTurnFlag,
  noteTold,
  raiseTurnFlag,
  sessionsWithWork,
  TurnFlags,
  wasTold,
} from './turn-flags.ts';
import { NO_WORK, type WorkFacts } from './work-facts.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-turns-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const isUp = (name: string) => existsSync(join(dir, 'turns', name));

it('a flag is up as long as one topic has something to say', async () => {
  await raiseTurnFlag(dir, 'mayor', 'mail');
  await raiseTurnFlag(dir, 'mayor', 'work');
  await clearTurnFlag(dir, 'mayor', 'work');
  expect(isUp('mayor')).toBe(true);
  await clearTurnFlag(dir, 'mayor', 'mail');
  await clearTurnFlag(dir, 'mayor', 'mail');
  expect(isUp('mayor')).toBe(false);
  await raiseTurnFlag(dir, 'mayor', 'nudge');
  await clearTurnFlag(dir, 'mayor');
  expect(isUp('mayor')).toBe(false);
});

it('a name that is none of a session raises nothing', async () => {
  await raiseTurnFlag(dir, '../outside');
  await raiseTurnFlag(dir, '');
  expect(existsSync(join(dir, 'turns'))).toBe(false);
});

it('raised and cleared at once by many, it ends up in one of the two states and can be used again', async () => {
  for (let round = 0; round < 20; round += 1) {
    await Promise.all(
      [1, 2, 3].flatMap(() => [raiseTurnFlag(dir, 'a', 'work'), clearTurnFlag(dir, 'a', 'work')]),
    );
  }
  await raiseTurnFlag(dir, 'a', 'work');
  expect(isUp('a')).toBe(true);
});

it('what an agent was told is known while the flag is up', async () => {
  await raiseTurnFlag(dir, 'a');
  expect(await wasTold(dir, 'a', 'one')).toBe(false);
  await noteTold(dir, 'a', 'one');
  await raiseTurnFlag(dir, 'a');
  expect([await wasTold(dir, 'a', 'one'), await wasTold(dir, 'a', 'two')]).toEqual([true, false]);
  await clearTurnFlag(dir, 'a', 'work');
  expect(await wasTold(dir, 'a', 'one')).toBe(false);
});

it('is raised for whom work is waiting: by name, or by agent for those who take routed work', async () => {
  const records = [
    aRecord('mayor', { alias: 'boss' }),
    aRecord('dog-1', { template: 'dog' }),
    aRecord('chief', { template: 'dog' }),
    aRecord('idle'),
  ];
  const desired = new Map([
    ['mayor', { identity: 'mayor', kind: 'named' as const }],
    ['chief', { identity: 'chief', kind: 'named' as const }],
    ['dog-1', { identity: 'dog-1', kind: 'pool' as const }],
  ]);
  const work: WorkFacts = {
    ...NO_WORK,
    callers: new Set(['boss']),
    waiting: new Map([['dog', new Set(['b-1'])]]),
  };
  expect(sessionsWithWork(work, records, desired)).toEqual(['mayor', 'dog-1']);
  const flags = new TurnFlags(dir);
  await flags.follow(work, records, desired);
  expect(['mayor', 'dog-1', 'chief', 'idle'].map(isUp)).toEqual([true, true, false, false]);
  await clearTurnFlag(dir, 'mayor', 'work');
  await flags.follow(work, records, desired);
  expect(isUp('mayor')).toBe(false);
  await flags.follow({ ...work }, records, desired);
  expect(isUp('mayor')).toBe(true);
});
