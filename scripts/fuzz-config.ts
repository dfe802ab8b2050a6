/** `npm run fuzz [runs] [seed]`: damaged city and pack files by the thousand; a failing seed is printed and repeats. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fuzzRun } from '../internal/config/testing/fuzz-run.ts';

const [runs = '10000', seed = String(Date.now() % 1_000_000_000)] = process.argv.slice(2);
const dir = mkdtempSync(join(tmpdir(), 'gc-fuzz-'));
try {
  const { loaded, refused, failures } = await fuzzRun(dir, Number(seed), Number(runs));
  for (const failure of failures) console.error(failure);
  console.log(
    `${runs} damaged cities from seed ${seed}: ${loaded} loaded, ${refused} refused, ${failures.length} failed`,
  );
  process.exitCode = failures.length > 0 ? 1 : 0;
} finally {
  rmSync(dir, { recursive: true, force: true });
}
