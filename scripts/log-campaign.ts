/**
 * `npm run log-campaign [points] [appends] [seed]`: writers of session logs killed at random moments, eight of them in a race
 * for every record, over both kinds of store, and a long session forked into many. Defaults: 1,000 points, 10,000 appends. A failing seed is printed and repeats.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { faultCampaign } from '../internal/session/log/testing/fault-campaign.ts';
import { forkCampaign } from '../internal/session/log/testing/fork-campaign.ts';
import { killCampaign, raceCampaign } from '../internal/session/log/testing/log-campaign.ts';

const WRITERS = 8;
const FORK_RECORDS = 10_000;
const FORK_CHILDREN = 128;
const [points = '1000', appends = '10000', seed = String(Date.now() % 1_000_000_000)] = process.argv.slice(2);

const dir = mkdtempSync(join(tmpdir(), 'gc-log-campaign-'));
try {
  for (const backend of ['sqlite', 'jsonl'] as const) {
    const killed = await killCampaign(backend, join(dir, `${backend}-kill`), seed, Number(points));
    report(`${backend}: killed at ${points} points from seed ${seed}`, killed);
    const race = await raceCampaign(
      backend,
      join(dir, `${backend}-race`),
      WRITERS,
      Math.ceil(Number(appends) / WRITERS),
    );
    report(`${backend}: ${WRITERS} processes in a race`, race);
  }
  report(
    `sqlite: ${FORK_RECORDS} records forked into ${FORK_CHILDREN}`,
    await forkCampaign('sqlite', join(dir, 'fork'), FORK_RECORDS, FORK_CHILDREN),
  );
  report('sqlite: every step of a write failed once', await faultCampaign(join(dir, 'faults')));
} finally {
  rmSync(dir, { recursive: true, force: true });
}

function report(
  what: string,
  { acknowledged, problems }: { acknowledged: number; problems: readonly string[] },
): void {
  for (const problem of problems) console.error(problem);
  console.log(`${what}: ${acknowledged} records acknowledged, ${problems.length} problems`);
  if (problems.length > 0) process.exitCode = 1;
}
