import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GcError } from '../platform/errors.ts';
import { controllerOf, lockCity } from './city-lock.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-lock-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

describe('the lock of a city', () => {
  it('LCK-06 gives it to one controller, and tells the second who has it', () => {
    const lock = lockCity(dir, { pid: process.pid, mode: 'standalone' });
    let refusal: unknown;
    try {
      lockCity(dir, { pid: 4711, mode: 'supervisor' });
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(GcError);
    expect(refusal).toMatchObject({
      code: 'controller-running',
      message: expect.stringContaining(`pid ${process.pid}`),
    });
    expect(controllerOf(dir)).toEqual({ pid: process.pid, mode: 'standalone' });
    lock.release();
    expect(controllerOf(dir)).toBeUndefined();
  });

  it('LCK-04 LCK-05 is free at once when its holder is killed, whatever pid its file names', async () => {
    const holder = spawn(
      process.execPath,
      [
        '--import',
        'tsx',
        '-e',
        `import('${join(import.meta.dirname, 'city-lock.ts')}').then(({ lockCity }) => {
           lockCity(${JSON.stringify(dir)}, { pid: process.pid, mode: 'supervisor' });
           process.stdout.write('held');
           setInterval(() => undefined, 1_000);
         })`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const exited = new Promise((resolve) => holder.once('exit', resolve));
    await new Promise((resolve) => holder.stdout.once('data', resolve));
    expect(controllerOf(dir)).toEqual({ pid: holder.pid, mode: 'supervisor' });
    holder.kill('SIGKILL');
    await exited;
    writeFileSync(join(dir, 'controller.lock.holder'), JSON.stringify({ pid: 1, mode: 'standalone' }));
    expect(controllerOf(dir)).toBeUndefined();
    lockCity(dir, { pid: process.pid, mode: 'standalone' }).release();
  });
});
