import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readProcesses } from '../../platform/process-table.ts';
import type { HostBackend } from './host-backend.ts';
import {
  deathOf,
  HostFixture,
  isAlive,
  NEVER,
  node,
  pidOf,
  screenHas,
  shell,
  until,
} from './host-fixture.ts';

/** A leader with a child in its group, one in a group of its own, one in a session of its own, and an orphan. */
const FORKER = `
  sleep 311 &
  setsid sleep 312 &
  (sleep 313 & echo orphan made)
  bash -c 'set -m; sleep 314 & wait' &
  echo forked
  wait`;

const sleepers = (from: number, to: number): readonly number[] =>
  readProcesses()
    .filter((entry) => entry.comm === 'sleep' && entry.state !== 'Z')
    .filter((entry) => {
      const seconds = Number(argumentsOf(entry.pid)[1]);
      return seconds >= from && seconds <= to;
    })
    .map((entry) => entry.pid);

function argumentsOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
  } catch {
    return []; // it ended between the listing and the read
  }
}

describe('kill', () => {
  const fixture = new HostFixture();
  let backend: HostBackend;
  beforeAll(() => {
    backend = fixture.backend();
  });
  afterAll(() => fixture.dispose());

  it.each([true, false])('SUB-03 ends the agent and all that it started (terminal: %s)', async (pty) => {
    await backend.create('forker', shell(FORKER, { pty }), NEVER);
    await screenHas(backend, 'forker', 'forked');
    await until('all four run', () => sleepers(311, 314).length === 4);
    await backend.kill('forker', 2_000);
    expect(sleepers(311, 314)).toEqual([]);
    expect(await backend.inspect('forker')).toEqual({ kind: 'absent' });
  });

  it('SUB-01 ends a child that ignores TERM although the leader obeys it', async () => {
    await backend.create(
      'stubborn',
      shell(`(trap '' TERM HUP; sleep 321; sleep 321) & echo up; wait`),
      NEVER,
    );
    await screenHas(backend, 'stubborn', 'up');
    const pid = await pidOf(backend, 'stubborn');
    await backend.kill('stubborn', 300);
    expect(isAlive(pid)).toBe(false);
    expect(sleepers(321, 321)).toEqual([]);
  });

  it('gives a program its grace, and takes no longer than needed', async () => {
    const script = `process.on('SIGTERM', () => setTimeout(() => process.exit(0), 300)); setInterval(() => {}, 1e6); console.log('up')`;
    await backend.create('graceful', node(script), NEVER);
    await screenHas(backend, 'graceful', 'up');
    const started = performance.now();
    await backend.kill('graceful', 10_000);
    expect(performance.now() - started).toBeGreaterThan(250);
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it('ends a stopped program', async () => {
    await backend.create('stopped', shell('exec sleep 331'), NEVER);
    const pid = await pidOf(backend, 'stopped');
    process.kill(pid, 'SIGSTOP');
    await backend.kill('stopped', 500);
    expect(isAlive(pid)).toBe(false);
  });

  it('ends what a program that died by itself left in its session', async () => {
    await backend.create('left', shell(`trap '' HUP; sleep 341 & sleep 341 & exit 1`), NEVER);
    await deathOf(backend, 'left');
    await until('both run', () => sleepers(341, 341).length === 2);
    await backend.kill('left', 1_000);
    expect(sleepers(341, 341)).toEqual([]);
  });

  it('of one does not touch another, whatever their names', async () => {
    await backend.create('w-1', shell('exec sleep 351'), NEVER);
    await backend.create('w-10', shell('exec sleep 352'), NEVER);
    await Promise.all([backend.kill('w-1', 1_000), backend.kill('w-1', 1_000)]);
    expect(sleepers(351, 352)).toHaveLength(1);
    await backend.kill('w-10', 1_000);
  });
});
