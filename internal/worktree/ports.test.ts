import { createServer } from 'node:net';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chooseBlock, FIRST_PORT, LAST_PORT } from './ports.ts';
import type { PortBlock } from './registry.ts';
import { ScratchRig } from './testing/scratch-rig.ts';

const blocks = fc.array(
  fc.record({
    first: fc.integer({ min: FIRST_PORT, max: LAST_PORT }),
    count: fc.integer({ min: 1, max: 400 }),
  }),
  { maxLength: 30 },
);
const touches = (a: PortBlock, b: PortBlock) => a.first < b.first + b.count && b.first < a.first + a.count;

describe('a port block', () => {
  it('touches no other, stays in the range, and is the lowest at or after the start', () => {
    fc.assert(
      fc.property(blocks, fc.integer({ min: 1, max: 1_000 }), (taken, count) => {
        const block = chooseBlock(count, taken, FIRST_PORT);
        if (!block) return;
        expect(taken.some((other) => touches(block, other))).toBe(false);
        expect(block.first + count - 1).toBeLessThanOrEqual(LAST_PORT);
        const lower = { first: block.first - 1, count };
        expect(lower.first < FIRST_PORT || taken.some((other) => touches(lower, other))).toBe(true);
      }),
    );
  });

  it('is looked for from the beginning when there is none behind the start, and may not be there', () => {
    expect(chooseBlock(10, [], LAST_PORT)).toEqual({ first: FIRST_PORT, count: 10 });
    const all = { first: FIRST_PORT, count: LAST_PORT - FIRST_PORT + 1 };
    expect(chooseBlock(1, [all], FIRST_PORT)).toBeUndefined();
  });
});

describe('the ports of worktrees', () => {
  let s: ScratchRig;
  beforeEach(() => {
    s = new ScratchRig();
  });
  afterEach(() => s.end());
  const firstPort = async (name: string, ports: number) =>
    Number((await s.ensure(name, { ports })).env['GC_PORT']);

  it('are disjoint when 20 are made at once, and stay the same', { timeout: 60_000 }, async () => {
    const names = Array.from({ length: 20 }, (_, i) => `w${i}`);
    const firsts = await Promise.all(names.map((name) => firstPort(name, 3)));
    const all = firsts.flatMap((first) => [first, first + 1, first + 2]);
    expect(new Set(all).size).toBe(60);
    expect(await firstPort('w7', 3)).toBe(firsts[7]);
  });

  it('are free again when the worktree is removed, and change with the setting', async () => {
    const first = await firstPort('w1', 4);
    expect(await firstPort('w2', 4)).toBe(first + 4);
    expect(await s.prune('w1')).toMatchObject({ kind: 'removed' });
    expect(await firstPort('w3', 4)).toBe(first);
    expect((await s.ensure('w3', { ports: 0 })).env).not.toHaveProperty('GC_PORT');
    expect(await firstPort('w4', 4)).toBe(first);
  });

  it('are not ones that something listens on', async () => {
    const first = await firstPort('w1', 1);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(first + 2, '127.0.0.1', resolve));
    try {
      expect(await firstPort('w2', 3)).toBe(first + 3);
    } finally {
      server.close();
    }
  });
});
