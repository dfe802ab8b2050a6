import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { PROJECT_ROOT } from '../test/support/program.ts';
import { type CitySize, writeLargeCity } from './large-city.ts';
import { median, ms, type Row } from './row.ts';

const SIZE: CitySize = { packs: 40, agents: 320, rigs: 30 };
const ROUNDS = 9;
/** A running program has read its city before. */
const WARM_UP = 10;
const LOAD_BAR_MS = 300;
const RELOAD_BAR_MS = 100;
const DOUBLING_BAR = 2.3;

/** A city of many packs: read by a fresh program, read again by a running one, and twice as large. */
export async function configRows(): Promise<readonly Row[]> {
  const home = mkdtempSync(join(tmpdir(), 'gc-bench-config-'));
  try {
    const city = join(home, 'city');
    const twice = join(home, 'twice');
    writeLargeCity(city, SIZE);
    writeLargeCity(twice, { packs: SIZE.packs * 2, agents: SIZE.agents * 2, rigs: SIZE.rigs * 2 });
    const main = join(PROJECT_ROOT, 'dist', 'main.js');
    const env = { PATH: process.env['PATH'] ?? '', HOME: home, GC_HOME: join(home, '.gc') };
    const bare: number[] = [];
    const cold: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      bare.push(timed(['-e', '0'], env));
      cold.push(timed([main, '--city', city, 'config', 'show', '--validate'], env));
    }
    const { once, double } = await reloads(city, twice, env);
    const size = `${SIZE.packs} packs, ${SIZE.agents} agents, ${SIZE.rigs} rigs`;
    const over = median(cold) - median(bare);
    const ratio = median(double) / median(once);
    return [
      {
        what: `gc config show --validate, ${size}`,
        bar: `bare node + ${LOAD_BAR_MS} ms`,
        measured: `+ ${ms(over)}`,
        floor: `bare node ${ms(median(bare))}`,
        met: over <= LOAD_BAR_MS,
      },
      {
        what: 'the same read again by a running program',
        bar: `${RELOAD_BAR_MS} ms`,
        measured: ms(median(once)),
        floor: 'none',
        met: median(once) <= RELOAD_BAR_MS,
      },
      {
        what: 'twice as many packs, agents and rigs',
        bar: `${DOUBLING_BAR} x`,
        measured: `${ratio.toFixed(2)} x (${ms(median(double))})`,
        floor: `once ${ms(median(once))}`,
        met: ratio <= DOUBLING_BAR,
      },
    ];
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

function timed(args: readonly string[], env: Readonly<Record<string, string>>): number {
  const started = performance.now();
  const ran = spawnSync(process.execPath, args, { env, stdio: 'ignore' });
  if (ran.status !== 0) throw new Error(`node ${args.join(' ')} exited ${ran.status}`);
  return performance.now() - started;
}

interface Reloads {
  readonly once: readonly number[];
  readonly double: readonly number[];
}

/** In a process of its own with the loader as it ships: the runner of this file adds a cost to every function. */
async function reloads(city: string, twice: string, env: Readonly<Record<string, string>>): Promise<Reloads> {
  const outfile = join(PROJECT_ROOT, 'dist', 'bench-load-city.mjs');
  await build({
    entryPoints: [join(PROJECT_ROOT, 'internal', 'config', 'load-city.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  });
  const script = `
    import { appendFileSync } from 'node:fs';
    import { loadCity } from ${JSON.stringify(pathToFileURL(outfile).href)};
    const env = ${JSON.stringify(env)};
    const timed = async (root) => {
      appendFileSync(root + '/city.toml', '# again\\n');
      const started = performance.now();
      const result = await loadCity(root, { env });
      if (result.kind !== 'ok') throw new Error(result.problems[0].message);
      return performance.now() - started;
    };
    const times = { once: [], double: [] };
    for (let round = 0; round < ${WARM_UP + ROUNDS}; round += 1) times.once.push(await timed(${JSON.stringify(city)}));
    for (let round = 0; round < ${WARM_UP + ROUNDS}; round += 1) times.double.push(await timed(${JSON.stringify(twice)}));
    console.log(JSON.stringify(times));`;
  const ran = spawnSync(process.execPath, ['--input-type=module', '-e', script], { env, encoding: 'utf8' });
  rmSync(outfile);
  if (ran.status !== 0) throw new Error(ran.stderr);
  const { once, double }: Reloads = JSON.parse(ran.stdout);
  return { once: once.slice(WARM_UP), double: double.slice(WARM_UP) };
}
