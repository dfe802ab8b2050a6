import { describe, expect, it } from 'vitest';
import type { Observation } from '../runtime/provider.ts';
import { aRecord } from './testing/plan.fixtures.ts';
import { tokenOf } from './verb-context.ts';

const record = aRecord('a', { instance_token: 'recorded' });

function seen(meta: Readonly<Record<string, string>>): Observation {
  const liveness = { kind: 'running', pid: 1 } as const;
  return { name: 'a', liveness, attached: 0, lastActivity: undefined, processNames: [], meta };
}

describe('the life that a stop is for', () => {
  it.each([
    ['the one that was seen', { kind: 'running', observation: seen({ GC_INSTANCE_TOKEN: 'seen' }) }, 'seen'],
    ['that on record, where none is told', { kind: 'running', observation: seen({}) }, 'recorded'],
    ['that on record, where none runs', { kind: 'absent' }, 'recorded'],
  ] as const)('is %s: a later one is left alone', (_, sight, life) => {
    expect(tokenOf(record, sight)).toBe(life);
  });
});
