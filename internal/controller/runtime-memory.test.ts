import { describe, expect, it } from 'vitest';
import { RuntimeMemory } from './runtime-memory.ts';

describe('what a controller remembers', () => {
  it('of the wall clock goes back with it, so that what is shown afterwards is younger', () => {
    const memory = new RuntimeMemory();
    memory.askedAt.set('a', 10_000);
    memory.asksSince.set('b', 20_000);
    memory.clockShifted(-8_000);
    expect([memory.askedAt.get('a'), memory.asksSince.get('b')]).toEqual([2_000, 12_000]);
    memory.clockShifted(3_600_000);
    expect([memory.askedAt.get('a'), memory.asksSince.get('b')]).toEqual([2_000, 12_000]);
  });
});
