import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { acquireLifetimeLock } from '../../platform/lifetime-lock.ts';
import { bootId, identityOf, type ProcessIdentity } from '../../platform/process-identity.ts';
import { readProcess } from '../../platform/process-table.ts';
import { Ledger } from './ledger.ts';
import { countForks, numbersNotReused, startedWith } from './process-evidence.ts';
import { reapLedger, recordLoss, takeLoss } from './reap.ts';
import { hostLockFile } from './runtime-files.ts';

const WAIT_MS = 5_000;
const POLL_MS = 10;

let dir: string;
let ledger: Ledger;
const children: ChildProcess[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-reap-'));
  ledger = new Ledger(dir);
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(dir, { recursive: true });
});

async function until<T>(what: string, look: () => T | undefined | false): Promise<T> {
  const deadline = systemClock.monotonic() + WAIT_MS;
  for (;;) {
    const found = look();
    if (found !== undefined && found !== false) return found;
    if (systemClock.monotonic() > deadline) throw new Error(`not in time: ${what}`);
    await systemClock.sleep(POLL_MS);
  }
}

/** A process in a session of its own, as an agent of a dead host would be. */
function agent(script: string, env: Record<string, string> = {}): ProcessIdentity {
  const child = spawn('/bin/sh', ['-c', script], {
    detached: true,
    stdio: 'ignore',
    env: { PATH: '/usr/bin:/bin', ...env },
  });
  children.push(child);
  const found = identityOf(child.pid ?? 0);
  if (!found) throw new Error('it did not start');
  return found;
}

const pidIn = (file: string): Promise<number> =>
  until(`a number in ${file}`, () => {
    try {
      return Number(readFileSync(file, 'utf8')) || undefined;
    } catch {
      return undefined; // not written yet
    }
  });

const gone = (pid: number) => until(`${pid} is gone`, () => identityOf(pid) === undefined);
/** Even its number is free again: a zombie still proves whose session it was. */
const collected = (pid: number) => until(`${pid} is collected`, () => readProcess(pid) === undefined);

describe('reapLedger', () => {
  it('ends what the ledger names, with its helpers, and writes the loss down', async () => {
    const helper = join(dir, 'helper');
    const leader = agent(`trap '' HUP; sleep 300 & echo $! >${helper}; wait`);
    const helperPid = await pidIn(helper);
    ledger.started('mayor', '', leader);
    expect(await reapLedger(dir, systemClock)).toEqual({ names: ['mayor'], left: [] });
    await gone(leader.pid);
    await gone(helperPid);
    expect(ledger.isEmpty()).toBe(true);
    expect(takeLoss(dir)).toEqual(['mayor']);
    expect(takeLoss(dir)).toEqual([]);
  });

  it('does nothing while a host holds the lock', async () => {
    const leader = agent('exec sleep 300');
    ledger.started('mayor', '', leader);
    const lock = acquireLifetimeLock(hostLockFile(dir), { pid: process.pid });
    expect(await reapLedger(dir, systemClock)).toBeUndefined();
    expect(identityOf(leader.pid)).toEqual(leader);
    lock?.release();
  });

  it.each([
    ['another start time', (leader: ProcessIdentity) => ({ ...leader, startTime: '1' })],
    ['another boot', (leader: ProcessIdentity) => ({ ...leader, bootId: 'another' })],
  ])('leaves a process alone that has the number, but %s', async (_, change) => {
    const stranger = agent('exec sleep 300');
    ledger.started('mayor', 'token', change(stranger));
    expect(await reapLedger(dir, systemClock)).toEqual({ names: ['mayor'], left: [] });
    expect(identityOf(stranger.pid)).toEqual(stranger);
    expect(ledger.isEmpty()).toBe(true);
  });

  it('finds an agent that was started but not written down, by its token alone', async () => {
    const token = `t-${process.pid}-${systemClock.now()}`;
    const own = agent('exec sleep 300', { GC_INSTANCE_TOKEN: token });
    const other = agent('exec sleep 300', { GC_INSTANCE_TOKEN: `${token}-other` });
    await until('both run', () =>
      [own, other].every((a) => startedWith(a.pid, 'GC_INSTANCE_TOKEN') !== undefined),
    );
    ledger.intend('mayor', token);
    ledger.intend('tokenless', '');
    await reapLedger(dir, systemClock);
    await gone(own.pid);
    expect(identityOf(other.pid)).toEqual(other);
  });

  it('ends what is left of a session whose leader is gone, when that is proven', async () => {
    const helper = join(dir, 'helper');
    const leader = agent(`trap '' HUP; sleep 300 & echo $! >${helper}; sleep 0.3`);
    ledger.started('mayor', '', leader);
    const helperPid = await pidIn(helper);
    await collected(leader.pid);
    await reapLedger(dir, systemClock);
    await gone(helperPid);
  });

  it('leaves it when numbers may have come round since, unless it carries the token', async () => {
    const helper = join(dir, 'helper');
    const script = `trap '' HUP; sleep 300 & echo $! >${helper}; sleep 0.3`;
    const oldEntry = (name: string, token: string, leader: ProcessIdentity) => {
      mkdirSync(join(dir, 'ledger'), { recursive: true });
      const entry = { name, bootId: bootId(), token, leader, forks: -1e9 };
      writeFileSync(join(dir, 'ledger', `${name}.json`), JSON.stringify(entry));
    };
    const leader = agent(script);
    const helperPid = await pidIn(helper);
    await collected(leader.pid);
    oldEntry('mayor', '', leader);
    await reapLedger(dir, systemClock);
    expect(identityOf(helperPid)).toBeDefined();
    process.kill(helperPid, 'SIGKILL');
    rmSync(helper);
    const marked = agent(script, { GC_INSTANCE_TOKEN: 'mine' });
    const markedHelper = await pidIn(helper);
    await collected(marked.pid);
    oldEntry('mayor', 'mine', marked);
    await reapLedger(dir, systemClock);
    await gone(markedHelper);
  });

  it('proves nothing from a damaged ledger, and goes on', async () => {
    const leader = agent('exec sleep 300');
    ledger.started('good', '', leader);
    for (const [name, content] of [
      ['cut', '{"name":"cut","boo'],
      ['wrong', '[1,2]'],
      ['empty', ''],
    ]) {
      writeFileSync(join(dir, 'ledger', `${name}.json`), content ?? '');
    }
    writeFileSync(join(dir, 'ledger', 'not a session.json'), '{}');
    const report = await reapLedger(dir, systemClock);
    expect(report?.names).toEqual(['good']);
    await gone(leader.pid);
  });
});

describe('the loss', () => {
  it('is gathered until it is told', () => {
    recordLoss(dir, ['a', 'b']);
    recordLoss(dir, []);
    recordLoss(dir, ['b', 'c']);
    expect(takeLoss(dir)).toEqual(['a', 'b', 'c']);
    writeFileSync(join(dir, 'lost.json'), 'damaged');
    expect(takeLoss(dir)).toEqual([]);
  });
});

describe('process numbers', () => {
  it('have not come round a moment later, and may have after a whole round', () => {
    const now = countForks();
    expect(now).toBeGreaterThan(0);
    expect(numbersNotReused(now)).toBe(true);
    expect(numbersNotReused((now ?? 0) - 5_000_000)).toBe(false);
    expect(numbersNotReused(undefined)).toBe(false);
  });
});
