import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from './clock.ts';
import { measureTrees, parsePsUsage, usageBetween } from './process-usage.ts';

const MB = 2 ** 20;

describe('what ps says', () => {
  it('is read with days, hours and hundredths, and without what is no process', () => {
    const text = '  PID   RSS     TIME\n    1  2048  0:00.05\n  77 10240 01:02:03\n 900     8 2-00:00:01\n';
    expect([...parsePsUsage(text)]).toEqual([
      [1, { memoryBytes: 2 * MB, cpuMs: 50 }],
      [77, { memoryBytes: 10 * MB, cpuMs: 3_723_000 }],
      [900, { memoryBytes: 8_192, cpuMs: 172_801_000 }],
    ]);
  });
});

describe('between two looks', () => {
  const used = (cpuMs: number, memoryBytes = MB) => ({ cpuMs, memoryBytes });

  it('a tree is the sum of its processes, its share what they used in between', () => {
    const before = new Map([
      [
        1,
        new Map([
          [1, used(100)],
          [2, used(50)],
        ]),
      ],
    ]);
    const after = new Map([
      [
        1,
        new Map([
          [1, used(300)],
          [2, used(100)],
          [3, used(50, 2 * MB)],
        ]),
      ],
    ]);
    expect(usageBetween(before, after, 500).get(1)).toEqual({
      memoryBytes: 4 * MB,
      cpuMs: 450,
      cpuShare: 0.6,
      processes: 3,
    });
  });

  it('what ended in between never makes the share negative, and a tree that is gone is left out', () => {
    const before = new Map([
      [
        1,
        new Map([
          [1, used(100)],
          [2, used(900)],
        ]),
      ],
      [9, new Map([[9, used(5)]])],
    ]);
    const after = new Map([
      [1, new Map([[1, used(110)]])],
      [9, new Map()],
    ]);
    const usage = usageBetween(before, after, 500);
    expect(usage.get(1)?.cpuShare).toBe(0);
    expect([...usage.keys()]).toEqual([1]);
  });
});

describe('a real tree', () => {
  const children: ChildProcess[] = [];
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
  });

  it('is measured with its children: memory that it holds, and the core that it burns', async () => {
    // The shell stays: its child holds 64 MB and turns in circles.
    const script = "const held = Buffer.alloc(67108864, 1); console.log('up'); for (;;) held[0] ^= 1;";
    const child = spawn('sh', ['-c', `'${process.execPath}' -e "${script}"; true`], {
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    try {
      await once(child.stdout, 'data');
      const usage = (await measureTrees([child.pid ?? 0], 300, systemClock)).get(child.pid ?? 0);
      expect(usage?.processes).toBe(2);
      expect(usage?.memoryBytes).toBeGreaterThan(64 * MB);
      expect(usage?.memoryBytes).toBeLessThan(400 * MB);
      // The machine is shared with other tests: some part of a core, never much more than one.
      expect(usage?.cpuShare).toBeGreaterThan(0.05);
      expect(usage?.cpuShare).toBeLessThan(1.5);
      expect(usage?.cpuMs).toBeGreaterThan(0);
    } finally {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    }
  });

  it('of nobody is nothing', async () => {
    expect((await measureTrees([], 1_000, systemClock)).size).toBe(0);
  });
});
