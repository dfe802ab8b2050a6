import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { fileSessionLock } from './session-lock.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-lock-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Another process that holds the lock until its stdin ends. */
async function otherHolder() {
  const code = `
    import { fileSessionLock } from ${JSON.stringify(new URL('./session-lock.ts', import.meta.url).href)};
    import { systemClock } from ${JSON.stringify(new URL('../../platform/clock.ts', import.meta.url).href)};
    await fileSessionLock(${JSON.stringify(dir)}, systemClock)('a', 5000, async () => {
      console.log('held');
      for await (const _ of process.stdin) {}
    });`;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', code], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return child;
}

describe('fileSessionLock', () => {
  it('lets one work at a time per name, in order, and names apart', async () => {
    const lock = fileSessionLock(dir, systemClock);
    const log: string[] = [];
    const work = (name: string, id: number) =>
      lock(name, 5_000, async () => {
        log.push(`${name}${id} in`);
        await systemClock.sleep(5);
        log.push(`${name}${id} out`);
      });
    await Promise.all([work('a', 1), work('a', 2), work('b', 1)]);
    expect(log.filter((entry) => entry.startsWith('a'))).toEqual(['a1 in', 'a1 out', 'a2 in', 'a2 out']);
    expect(log.indexOf('b1 in')).toBeLessThan(log.indexOf('a2 in'));
  });

  it('frees the lock when the work fails', async () => {
    const lock = fileSessionLock(dir, systemClock);
    await expect(lock('a', 1_000, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await lock('a', 1_000, async () => 'free')).toBe('free');
  });

  it('holds off other processes, and is free at once when one is killed', async () => {
    const child = await otherHolder();
    const lock = fileSessionLock(dir, systemClock);
    await expect(lock('a', 200, async () => 'mine')).rejects.toMatchObject({ code: 'session-locked' });
    await expect(lock('a', 5_000, async () => 'mine', AbortSignal.timeout(100))).rejects.toThrow();
    const waiting = lock('a', 5_000, async () => 'mine');
    child.kill('SIGKILL');
    expect(await waiting).toBe('mine');
  });
});
