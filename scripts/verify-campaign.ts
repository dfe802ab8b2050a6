/**
 * `tsx scripts/verify-campaign.ts [logs] [seed]`: random logs in both stores, judged by our verifier and by the independent
 * program; then files of which every single byte was changed. A failing seed is printed and repeats.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { fillStores } from '../internal/session/log/testing/fill-stores.ts';
import { type Flip, flipLines, flipRows } from '../internal/session/log/testing/flipped-logs.ts';
import { randomLog } from '../internal/session/log/testing/random-logs.ts';
import { verdictsOfOurs, verdictsOfPython } from '../internal/session/log/testing/verifiers.ts';

const [count = '1000', given = String(Date.now() % 1_000_000_000)] = process.argv.slice(2);
const seed = Number(given);
const FLIPPED_LOGS = 3;
const MASKS = [0x01, 0x10, 0x80];
/** Larger logs make too many files. */
const FLIPPED_EVENTS_MAX = 4;

const dir = mkdtempSync(join(tmpdir(), 'gc-verify-'));
const failures: string[] = [];
try {
  const logs = fc.sample(randomLog, { seed, numRuns: Number(count) });
  await sound(logs);
  const small = logs.filter((log) => log.flatMap(({ events }) => events).length <= FLIPPED_EVENTS_MAX);
  for (const [index, log] of small.slice(0, FLIPPED_LOGS).entries())
    await changed(join(dir, `${index}`), log);
  for (const failure of failures.slice(0, 50)) console.error(failure);
  console.log(`seed ${seed}: ${failures.length} failures`);
  process.exitCode = failures.length > 0 ? 1 : 0;
} finally {
  rmSync(dir, { recursive: true, force: true });
}

async function sound(logs: readonly Parameters<typeof fillStores>[1][number][]): Promise<void> {
  const { folder, database, uids, different } = await fillStores(dir, logs);
  failures.push(...different.map((uid) => `${uid}: the export of SQLite is not the record file`));
  for (const path of [folder, database]) {
    const [ours, theirs] = [await verdictsOfOurs([path]), await verdictsOfPython([path])];
    for (const uid of uids) {
      const [a, b] = [ours.get(uid), theirs.get(uid)];
      if (a?.fault || !isDeepStrictEqual(a, b))
        failures.push(`${path} ${uid}: ours ${JSON.stringify(a)}, theirs ${JSON.stringify(b)}`);
    }
  }
  console.log(`${uids.length} random logs in both stores: ${failures.length} failures`);
}

async function changed(at: string, log: Parameters<typeof fillStores>[1][number]): Promise<void> {
  mkdirSync(join(at, 'changed'), { recursive: true });
  const { folder, database, uids } = await fillStores(at, [log]);
  const uid = uids[0] ?? '';
  const lines = flipLines(join(folder, `${uid}.jsonl`), join(at, 'changed'), 'flip', MASKS);
  await found('lines', [join(at, 'changed')], lines);
  await found('rows', [database], flipRows(database, uid, MASKS));
  rmSync(at, { recursive: true, force: true });
}

async function found(what: string, paths: readonly string[], flips: readonly Flip[]): Promise<void> {
  const [ours, theirs] = [await verdictsOfOurs(paths), await verdictsOfPython(paths)];
  const before = failures.length;
  for (const { uid, seq, where, plausible } of flips) {
    const [a, b] = [ours.get(uid)?.fault, theirs.get(uid)?.fault];
    if (a?.seq === b?.seq && (plausible || a?.seq === seq)) continue;
    failures.push(`${what}, ${where}: ours ${JSON.stringify(a)}, theirs ${JSON.stringify(b)}, record ${seq}`);
  }
  const open = flips.filter(({ plausible }) => plausible).length;
  console.log(
    `${flips.length} changed bytes in ${what}, ${open} that nothing covers: ${failures.length - before} missed`,
  );
}
