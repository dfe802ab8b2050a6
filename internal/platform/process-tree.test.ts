import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { systemClock } from './clock.ts';
import { identityOf, isSameProcess } from './process-identity.ts';
import type { ProcessEntry } from './process-table.ts';
import { killTree, namesOf, signalExactly, snapshotProcesses, tableOf, treeOf } from './process-tree.ts';

const entry = (pid: number, ppid: number, more: Partial<ProcessEntry> = {}): ProcessEntry => ({
  pid,
  ppid,
  pgid: pid,
  sid: pid,
  state: 'S',
  startTime: String(pid),
  comm: `p${pid}`,
  ...more,
});

/** A leader whose children ignore TERM: one in its own group, one that left the session. */
const FORKER = `
trap '' TERM
sh -c 'trap "" TERM; while :; do sleep 1; done' &
setsid sh -c 'trap "" TERM; while :; do sleep 1; done' &
echo ready
while :; do sleep 1; done
`;

async function started(script: string) {
  const child = spawn('sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  const identity = identityOf(child.pid ?? 0);
  if (!identity) throw new Error('the child did not start');
  return { child, identity };
}

describe('process tree', () => {
  it('finds descendants deepest first, and members of the leader’s session that were reparented', () => {
    const table = tableOf([
      entry(10, 1),
      entry(11, 10, { sid: 10, pgid: 10 }),
      entry(12, 11, { sid: 10, pgid: 10 }),
      entry(13, 1, { sid: 10, pgid: 13 }),
      entry(14, 13),
      entry(20, 1),
    ]);
    expect(table.descendants(10).map((e) => e.pid)).toEqual([12, 11]);
    const tree = treeOf(10, table).map((e) => e.pid);
    expect([...tree].sort()).toEqual([10, 11, 12, 13, 14]);
    expect(tree.at(-1)).toBe(10);
  });

  it('never counts process 1 or strangers as ours', () => {
    const table = tableOf([entry(1, 0, { sid: 1 }), entry(10, 1), entry(30, 1)]);
    expect(treeOf(10, table).map((e) => e.pid)).toEqual([10]);
  });

  it('SUB-01, SUB-03 ends a tree whose members ignore TERM and leave the group', async () => {
    const { child, identity } = await started(FORKER);
    const members = treeOf(identity.pid, snapshotProcesses());
    expect(members.length).toBeGreaterThanOrEqual(3);
    const done = once(child, 'exit');
    expect(await killTree(identity, { graceMs: 200, clock: systemClock })).toEqual({ left: [] });
    await done;
    for (const member of members) {
      const now = snapshotProcesses().entry(member.pid);
      expect(now === undefined || now.startTime !== member.startTime || now.state === 'Z').toBe(true);
    }
  });

  it('ends a stopped process with TERM', async () => {
    const { child, identity } = await started('echo ready; exec sleep 300');
    child.kill('SIGSTOP');
    const done = once(child, 'exit');
    expect(await killTree(identity, { graceMs: 2_000, clock: systemClock })).toEqual({ left: [] });
    expect(await done).toEqual([null, 'SIGTERM']);
  });

  it('LCK-05 never signals a process whose start time is another one’s', async () => {
    const { child, identity } = await started('echo ready; exec sleep 300');
    const stranger = { ...identity, startTime: '1' };
    expect(isSameProcess(identity)).toBe(true);
    expect(isSameProcess(stranger)).toBe(false);
    expect(isSameProcess({ ...identity, bootId: 'another boot' })).toBe(false);
    expect(signalExactly(stranger, 'SIGKILL')).toBe(false);
    expect(await killTree(stranger, { graceMs: 50, clock: systemClock })).toEqual({ left: [] });
    expect(isSameProcess(identity)).toBe(true);
    const done = once(child, 'exit');
    child.kill('SIGKILL');
    await done;
    expect(isSameProcess(identity)).toBe(false);
  });

  it('knows a script host by its script', async () => {
    const child = spawn(process.execPath, ['-e', 'console.log(1); setInterval(() => {}, 1000)'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(child.stdout, 'data');
    const found = snapshotProcesses().entry(child.pid ?? 0);
    expect(namesOf(found ? [found] : [])).toContain('node');
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
});
