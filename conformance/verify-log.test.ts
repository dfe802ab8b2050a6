import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../internal/platform/sqlite.ts';
import {
  cityFact,
  executionEnd,
  executionStart,
  input,
  output,
  textMessage,
} from '../internal/protocol/events.ts';
import { fillStores } from '../internal/session/log/testing/fill-stores.ts';
import { type Flip, flipLines, flipRows } from '../internal/session/log/testing/flipped-logs.ts';
import { randomLog } from '../internal/session/log/testing/random-logs.ts';
import { runPython, verdictsOfOurs, verdictsOfPython } from '../internal/session/log/testing/verifiers.ts';

const LOGS = 40;
const SEED = 20_261_130;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-verify-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const TURN = [
  {
    events: [executionStart('e', { inputCount: 1, harness: 'h', resumeFromSeq: 2n ** 53n + 1n })],
    newIncarnation: true,
  },
  {
    events: [input('e', textMessage('user', 'hä 😀')), output('e', textMessage('assistant', '\u2028'))],
    newIncarnation: false,
  },
  {
    events: [executionEnd('e'), cityFact({ n: 1e21, yes: true, none: null, list: [0.1, -7] })],
    newIncarnation: false,
  },
];

/** Both find each change, in the record where it is, except what no hash covers. */
async function expectFound(paths: readonly string[], flips: readonly Flip[]): Promise<void> {
  const [ours, theirs] = [await verdictsOfOurs(paths), await verdictsOfPython(paths)];
  const wrong = flips.filter(({ uid, seq, plausible }) => {
    const [a, b] = [ours.get(uid)?.fault?.seq, theirs.get(uid)?.fault?.seq];
    return a !== b || (!plausible && a !== seq);
  });
  expect(flips.length).toBeGreaterThan(500);
  expect(
    wrong.map(({ uid, where }) => ({ where, ours: ours.get(uid)?.fault, theirs: theirs.get(uid)?.fault })),
  ).toEqual([]);
}

describe('two verifiers that know only the format', () => {
  it('agree on random logs of both stores, whose exports are the same bytes', async () => {
    const logs = fc.sample(randomLog, { seed: SEED, numRuns: LOGS });
    const { folder, database, uids, different } = await fillStores(dir, logs);
    expect(different).toEqual([]);
    for (const path of [folder, database]) {
      const [ours, theirs] = [await verdictsOfOurs([path]), await verdictsOfPython([path])];
      expect([...theirs.keys()].sort()).toEqual(uids);
      expect([...theirs.values()].filter(({ fault }) => fault)).toEqual([]);
      expect(new Map([...ours].sort())).toEqual(new Map([...theirs].sort()));
      const records = logs.map((log) => log.reduce((sum, { events }) => sum + events.length, 0));
      expect(uids.map((uid) => theirs.get(uid)?.records)).toEqual(records);
    }
  });

  it('EVT-01 find every changed byte of an exported log', async () => {
    const { folder, uids } = await fillStores(dir, [TURN.slice(0, 2)]);
    const changed = join(dir, 'changed');
    mkdirSync(changed);
    const flips = flipLines(join(folder, `${uids[0]}.jsonl`), changed, 'flip', [0x01]);
    await expectFound([changed], flips);
  });

  it('find every changed byte of events and hashes in a SQLite file', async () => {
    const { database, uids } = await fillStores(dir, [TURN]);
    await expectFound([database], flipRows(database, uids[0] ?? '', [0x01]));
  });
});

describe('verify_log.py', () => {
  it('reproduces the published hashes', async () => {
    const { code, out } = await runPython(['--golden']);
    expect(code).toBe(0);
    expect(out).toContain('551bd146050c8d630b0c3b999a4445f3792a470db9bca443d8d4a67706283fcc');
    expect(out).not.toContain('expected');
  });

  it('names session and record of a change, and ends with 1', async () => {
    const { folder, uids } = await fillStores(dir, [TURN, TURN]);
    const lines = ['{"content_hash":"x"}', ''].join('\n');
    writeFileSync(join(folder, `${uids[1]}.jsonl`), lines);
    const { code, out } = await runPython([folder]);
    expect(code).toBe(1);
    expect(out.trim().split('\n')).toEqual([
      `${uids[0]}  sound, 5 records`,
      `${uids[1]}  TAMPERED, record 1: it is not a record of this format`,
      '2 logs, 5 records, 1 TAMPERED',
    ]);
  });

  it('ends with 2 and one message for each file that it cannot judge', async () => {
    const other = join(dir, 'other.db');
    openDatabase(other, { migrations: ['', '', ''] }).close();
    const damaged = join(dir, 'damaged.db');
    writeFileSync(damaged, Buffer.concat([Buffer.from('SQLite format 3\0'), Buffer.alloc(4080)]));
    const { code, err } = await runPython([join(dir, 'none.jsonl'), other, damaged]);
    expect(code).toBe(2);
    expect(err.trim().split('\n')).toEqual([
      expect.stringMatching(/cannot read .*none\.jsonl: No such file/),
      expect.stringMatching(/cannot read .*other\.db: schema version 3; this program knows 2/),
      expect.stringMatching(/cannot read .*damaged\.db: /),
    ]);
  });

  it('says how it is used', async () => {
    const { code, err } = await runPython(['--nope']);
    expect(code).toBe(2);
    expect(err).toContain('verify_log.py PATH');
  });
});
