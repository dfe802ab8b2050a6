import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { systemIds } from '../../../platform/ids.ts';
import { identityOf, isSameProcess } from '../../../platform/process-identity.ts';
import { startedWith } from '../../../runtime/host/process-evidence.ts';
import { commandHarness } from './command-harness.ts';
import { endTurn, TURN_TOKEN, TurnLedger } from './process-ledger.ts';
import { killTurn } from './testing/killed-turn.ts';
import { RecordingSink, startOf } from './testing/recording-sink.ts';

let dir = '';
let ledger: TurnLedger;
const started: number[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-ledger-'));
  ledger = new TurnLedger(join(dir, 'ledger'));
});
afterEach(() => {
  for (const pid of started.splice(0)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // ended by the test
    }
  }
  rmSync(dir, { recursive: true });
});

async function sleeper(token: string) {
  const env = { [TURN_TOKEN]: token };
  const child = spawn('/bin/sleep', ['300'], { env, detached: true, stdio: 'ignore' });
  await once(child, 'spawn');
  const identity = child.pid === undefined ? undefined : identityOf(child.pid);
  if (!identity) throw new Error('no sleeper');
  started.push(identity.pid);
  while (startedWith(identity.pid, TURN_TOKEN) === undefined) await systemClock.sleep(5);
  return identity;
}

describe('the record of a program that runs a turn', () => {
  it('is for its owner alone, whatever the ids look like, and goes with the turn', () => {
    ledger.intend('../../up', 'token');
    const [file = ''] = readdirSync(join(dir, 'ledger'));
    expect(statSync(join(dir, 'ledger', file)).mode & 0o777).toBe(0o600);
    expect(statSync(join(dir, 'ledger')).mode & 0o777).toBe(0o700);
    expect(ledger.find('../../up')).toEqual({ token: 'token', leader: undefined });
    expect(ledger.find('up')).toBeUndefined();
    ledger.remove('../../up', 'of another run');
    expect(readdirSync(join(dir, 'ledger'))).toEqual([file]);
    ledger.remove('../../up', 'token');
    expect(readdirSync(join(dir, 'ledger'))).toEqual([]);
  });

  it('proves nothing when it is damaged or of another boot', () => {
    ledger.intend('s', 'token');
    const file = join(dir, 'ledger', readdirSync(join(dir, 'ledger'))[0] ?? '');
    for (const text of ['{"bootId":', '[]', '{"bootId":"another","token":"token"}']) {
      writeFileSync(file, text);
      expect(ledger.find('s')).toBeUndefined();
    }
  });
});

describe('what a killed host left', () => {
  it('is ended when it carries the token, with or without a recorded number', async () => {
    const mine = await sleeper('mine');
    const stranger = await sleeper('other');
    expect(await endTurn({ token: 'mine', leader: undefined }, systemClock)).toEqual([]);
    expect([mine, stranger].map(isSameProcess)).toEqual([false, true]);
  });

  it('is left alone when the number went to somebody else, or the token is another', async () => {
    const stranger = await sleeper('other');
    await endTurn({ token: 'mine', leader: stranger }, systemClock);
    await endTurn({ token: 'mine', leader: { ...stranger, startTime: '1' } }, systemClock);
    expect(isSameProcess(stranger)).toBe(true);
  });

  it.each(['e1', 'e2'])(
    'does not run beside the session’s next run, of the same turn or another: %s',
    async (execution) => {
      const program = join(dir, 'program.mjs');
      writeFileSync(
        program,
        `#!${process.execPath}
import fs from 'node:fs';
fs.appendFileSync('pids', process.pid + '\\n');
if (fs.readFileSync('pids', 'utf8').trim().split('\\n').length === 1) { process.stdout.on('error', () => {}); setInterval(() => {}, 1000); }
else console.log('second');`,
        { mode: 0o755 },
      );
      const spec = { name: 'coder', kind: 'shell', program, args: [], env: {} } as const;
      const job = {
        spec,
        work: dir,
        ledgerDir: join(dir, 'ledger'),
        text: 'x',
        execution: 'e1',
        history: [],
      };
      const pids = () =>
        readFileSync(join(dir, 'pids'), 'utf8')
          .trim()
          .split('\n')
          .map((pid) => Number(pid));
      let first: ReturnType<typeof identityOf>;
      await killTurn({ ...job, log: join(dir, 'log') }, () => {
        try {
          first = identityOf(pids()[0] ?? 0);
        } catch {
          return false; // not begun yet
        }
        return first !== undefined;
      });
      expect(first && isSameProcess(first)).toBe(true);
      const deps = {
        clock: systemClock,
        ids: systemIds,
        ledgerDir: job.ledgerDir,
        workDirOf: async () => dir,
      };
      const sink = new RecordingSink();
      await commandHarness(spec, deps).run(
        startOf('x', { executionId: execution }),
        sink,
        new AbortController().signal,
      );
      expect(sink.told).toEqual(['says second']);
      expect(first && isSameProcess(first)).toBe(false);
      expect(readdirSync(job.ledgerDir)).toEqual([]);
    },
  );
});
