import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { faultCampaign } from '../testing/fault-campaign.ts';
import { forkCampaign } from '../testing/fork-campaign.ts';
import { killCampaign, raceCampaign } from '../testing/log-campaign.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-log-campaign-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** A short share of `npm run log-campaign`. */
describe('writers of a session log', () => {
  it('DUR-03 never lose, double or tear a record, whenever they are killed', async () => {
    const { acknowledged, problems } = await killCampaign('sqlite', join(dir, 'kill'), 7, 6);
    expect(problems).toEqual([]);
    expect(acknowledged).toBeGreaterThan(0);
  });

  it('DUR-01 DUR-03 each get a number of their own, eight of them at once, and none is told of a busy store', async () => {
    const { problems } = await raceCampaign('sqlite', join(dir, 'race'), 8, 50);
    expect(problems).toEqual([]);
  });

  it('DUR-07 fork a session into many that go their own ways, and never touch it', async () => {
    const { acknowledged, problems } = await forkCampaign('sqlite', join(dir, 'fork'), 700, 12);
    expect(problems).toEqual([]);
    expect(acknowledged).toBe(12);
  });

  it('leave nothing behind when any step of any write fails, and go on', async () => {
    const { problems } = await faultCampaign(join(dir, 'faults'));
    expect(problems).toEqual([]);
  });
});
