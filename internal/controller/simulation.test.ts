import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { rounds } from '../platform/testing/campaign.ts';

/** A share of `npx tsx scripts/simulate.ts`, with shorter stories: the campaign runs 10,000 whole ones. */
const RUNS = rounds(2_000, 200);
const STEPS = 12;
const REPEATED = 4;
/** Of runs with as few steps: each broken controller is found out within so many. */
const MUTANT_RUNS = 40;

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** What it says, and whether it found nothing. */
function simulation(...args: readonly string[]) {
  const command = [
    '--import',
    'tsx',
    join(root, 'scripts', 'simulate.ts'),
    '--steps',
    String(STEPS),
    ...args,
  ];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: root, encoding: 'utf8' });
  return { said: `${stdout}${stderr}`, isFine: status === 0 };
}

describe('a whole city, with everything that can go wrong', { timeout: 600_000 }, () => {
  it(`keeps its promises in ${RUNS} stories`, () => {
    const { said, isFine } = simulation('--runs', String(RUNS));
    expect(isFine, said).toBe(true);
    expect(said).toContain(`${RUNS} runs from seed 1: 0 failed`);
  });

  it('has the same story for the same seed, to the last byte', () => {
    const { said, isFine } = simulation('--runs', String(REPEATED), '--repeat');
    expect(isFine, said).toBe(true);
  });

  it('finds out every controller that is broken on purpose', () => {
    const { said, isFine } = simulation('--mutant', 'all', '--runs', String(MUTANT_RUNS));
    expect(isFine, said).toBe(true);
  });
});
