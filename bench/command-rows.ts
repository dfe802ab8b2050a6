import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { sleepers } from '../test/support/cities.ts';
import { PROJECT_ROOT, World } from '../test/support/program.ts';
import { median, ms, type Row } from './row.ts';

const ROUNDS = 15;
const START_BAR = 1.7;
const STATUS_BAR_MS = 100;
const AGENTS = 100;

/** Cold start of the commands that people type most, interleaved with bare node. */
export async function commandRows(): Promise<readonly Row[]> {
  const world = new World('subprocess');
  try {
    const city = world.city('hundred', { 'city.yaml': sleepers(AGENTS) });
    await world.ok(['--city', city, 'start'], { timeoutMs: 180_000 });
    const main = join(PROJECT_ROOT, 'dist', 'main.js');
    const commands = {
      bare: ['-e', '0'],
      version: [main, 'version'],
      help: [main, '--help'],
      status: [main, '--city', city, 'status'],
    };
    const times = new Map<string, number[]>(Object.keys(commands).map((name) => [name, []]));
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [name, args] of Object.entries(commands)) times.get(name)?.push(timed(args, world.env));
    }
    const of = (name: string) => median(times.get(name) ?? []);
    const bare = of('bare');
    const row = (what: string, name: string): Row => ({
      what,
      bar: `${START_BAR} x bare node`,
      measured: `${(of(name) / bare).toFixed(2)} x (${ms(of(name))})`,
      floor: `bare node ${ms(bare)}`,
      met: of(name) <= bare * START_BAR,
    });
    return [
      row('gc version', 'version'),
      row('gc --help', 'help'),
      {
        what: `gc status, ${AGENTS} agents`,
        bar: `bare node + ${STATUS_BAR_MS} ms`,
        measured: `+ ${ms(of('status') - bare)}`,
        floor: `bare node ${ms(bare)}`,
        met: of('status') - bare <= STATUS_BAR_MS,
      },
    ];
  } finally {
    await world.dispose();
  }
}

function timed(args: readonly string[], env: Readonly<Record<string, string>>): number {
  const started = performance.now();
  const ran = spawnSync(process.execPath, args, { env, stdio: 'ignore' });
  if (ran.status !== 0) throw new Error(`node ${args.join(' ')} exited ${ran.status}`);
  return performance.now() - started;
}
