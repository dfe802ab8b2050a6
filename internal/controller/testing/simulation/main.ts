import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { makeFilesInstant } from './instant-files.ts';
import { MUTANTS } from './mutants.ts';
import { type RunReport, simulate } from './run.ts';
import { shrink } from './shrink.ts';
import type { Seams } from './world.ts';

// One file with everything in it, so that nothing is loaded while a run goes on, as a process of its own: see
// scripts/simulate.ts, which makes it and starts it.
makeFilesInstant();
const { values } = parseArgs({
  options: {
    dir: { type: 'string', default: '' },
    runs: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: false },
    repeat: { type: 'boolean', default: false },
    progress: { type: 'boolean', default: false },
    /** So many in each run, instead of what the seed says. */
    steps: { type: 'string' },
    /** Without its steps, comma-separated: a shrunk run again. */
    without: { type: 'string' },
    mutant: { type: 'string' },
  },
});
const { dir } = values;
const steps = values.steps === undefined ? {} : { steps: Number(values.steps) };
const without = new Set((values.without ?? '').split(',').filter(Boolean).map(Number));
try {
  process.exitCode = await main();
} finally {
  rmSync(dir, { recursive: true, force: true });
}

async function main(): Promise<number> {
  if (values.mutant !== undefined) return huntMutants(values.mutant.split(','));
  const first = Number(values.seed ?? values.from);
  const runs = values.seed === undefined ? Number(values.runs) : 1;
  const began = performance.now();
  const failed: number[] = [];
  for (let seed = first; seed < first + runs; seed += 1) {
    const report = await simulate({ seed: String(seed), dir, without, ...steps });
    if (values.trace) console.log(report.story.join('\n'));
    if (values.repeat) await mustRepeat(report);
    if (report.violations.length > 0) {
      failed.push(seed);
      await tell(report);
    }
    if (values.progress && (seed - first) % 500 === 499)
      console.log(`${seed - first + 1} runs, ${failed.length} failed`);
  }
  const eachMs = (performance.now() - began) / runs;
  console.log(`${runs} runs from seed ${first}: ${failed.length} failed, ${eachMs.toFixed(1)} ms each`);
  return failed.length > 0 ? 1 : 0;
}

async function tell(report: RunReport): Promise<void> {
  const where = report.failedAt === undefined ? 'in the calm' : `at step ${report.failedAt}`;
  console.log(`seed ${report.seed} fails ${where} of ${report.steps}:`);
  for (const violation of report.violations.slice(0, 4)) console.log(`   ${violation.slice(0, 800)}`);
  if (!values.trace) console.log(`   again: npx tsx scripts/simulate.ts --seed ${report.seed} --trace`);
  if (!values.shrink) return;
  const least = await shrink({ seed: report.seed, dir, without, ...steps }, report);
  console.log(`   with fewer steps: --seed ${report.seed} --without ${[...least.without].join(',')}`);
  for (const line of least.report.story) console.log(`   ${line}`);
}

/** The same seed, the same story, to the last byte. */
async function mustRepeat(report: RunReport): Promise<void> {
  const again = await simulate({ seed: report.seed, dir, without, ...steps });
  if (digest(again) === digest(report)) return;
  const at = report.story.findIndex((line, i) => line !== again.story[i]);
  console.log(`seed ${report.seed} tells another story the second time, at line ${at}:`);
  console.log(`   ${report.story[at]}\n   ${again.story[at]}`);
  process.exit(1);
}

function digest({ story }: RunReport): string {
  return createHash('sha256').update(story.join('\n')).digest('hex');
}

/** Every broken controller is found out within so many seeds; how many it took is told. */
async function huntMutants(names: readonly string[]): Promise<number> {
  const chosen = names.includes('all') ? Object.keys(MUTANTS) : names;
  let survived = 0;
  for (const name of chosen) {
    const seams: Seams | undefined = MUTANTS[name];
    if (!seams) throw new Error(`no mutant "${name}": ${Object.keys(MUTANTS).join(', ')}`);
    const caught = await firstFailure(seams);
    if (!caught) survived += 1;
    console.log(
      caught
        ? `${name}: caught by seed ${caught.seed}: ${caught.violations[0]?.slice(0, 160)}`
        : `${name}: SURVIVED`,
    );
  }
  return survived > 0 ? 1 : 0;
}

async function firstFailure(seams: Seams): Promise<RunReport | undefined> {
  for (let seed = Number(values.from); seed < Number(values.from) + Number(values.runs); seed += 1) {
    const report = await simulate({ seed: String(seed), dir, seams, ...steps });
    if (values.trace) console.log(report.story.join('\n'));
    if (report.violations.length > 0) return report;
  }
  return undefined;
}
