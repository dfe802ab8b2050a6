import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { acquireLifetimeLock, isLockHeld, readLockHolder } from './lifetime-lock.ts';

const HOLDER_SCRIPT = `
import { acquireLifetimeLock } from ${JSON.stringify(join(import.meta.dirname, 'lifetime-lock.ts'))};
const lock = acquireLifetimeLock(process.argv[2], { pid: process.pid });
process.stdout.write(lock ? 'held\\n' : 'refused\\n');
setInterval(() => {}, 1000);
`;

let dir: string;
let children: ReturnType<typeof spawn>[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-lock-'));
  children = [];
});
afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  rmSync(dir, { recursive: true, force: true });
});

async function holder(file: string): Promise<{ child: ReturnType<typeof spawn>; answer: string }> {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', HOLDER_SCRIPT, 'x', file],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  children.push(child);
  const [data] = await once(child.stdout ?? child, 'data');
  return { child, answer: String(data).trim() };
}

describe('lifetime lock', () => {
  it('has one holder at a time and names it', () => {
    const file = join(dir, 'a.lock');
    expect(isLockHeld(file)).toBe(false);
    const lock = acquireLifetimeLock(file, { pid: 7 });
    expect(lock).toBeDefined();
    expect(acquireLifetimeLock(file, { pid: 8 })).toBeUndefined();
    expect(readLockHolder(file)).toEqual({ pid: 7 });
    lock?.release();
    lock?.release();
    expect(isLockHeld(file)).toBe(false);
    acquireLifetimeLock(file, {})?.release();
  });

  it('LCK-04, LCK-08 is free the moment its holder is killed', async () => {
    const file = join(dir, 'b.lock');
    const { child, answer } = await holder(file);
    expect(answer).toBe('held');
    expect(isLockHeld(file)).toBe(true);
    expect(acquireLifetimeLock(file, {})).toBeUndefined();
    expect(readLockHolder(file)).toEqual({ pid: child.pid });
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(isLockHeld(file)).toBe(false);
    const lock = acquireLifetimeLock(file, {});
    expect(lock).toBeDefined();
    lock?.release();
  });

  it('LCK-02 stays held by a stopped process', async () => {
    const file = join(dir, 'c.lock');
    const { child } = await holder(file);
    child.kill('SIGSTOP');
    expect(isLockHeld(file)).toBe(true);
    expect(acquireLifetimeLock(file, {})).toBeUndefined();
    child.kill('SIGCONT');
  });

  it('LCK-06 of several that start at once exactly one gets it', async () => {
    const file = join(dir, 'd.lock');
    const answers = await Promise.all(Array.from({ length: 4 }, () => holder(file)));
    expect(answers.filter((a) => a.answer === 'held')).toHaveLength(1);
  });
});
