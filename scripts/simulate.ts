/**
 * `npx tsx scripts/simulate.ts [--runs 10000] [--from SEED]`: whole cities on a fake clock, with everything that can go wrong,
 * by the thousand. A failing seed is printed; `--seed S --trace` tells its story again, `--shrink` with as few steps as it can.
 * `--repeat` runs each seed twice, `--mutant all` proves that broken controllers are found out.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** Below `node_modules`, where the native modules are found. */
const bundles = join(root, 'node_modules', '.cache', 'gc-simulation');
/** Databases in memory where the system has a folder for that. */
const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const COMMONJS =
  "import{createRequire as __gcRequire}from'node:module';const require=__gcRequire(import.meta.url),__filename=import.meta.filename,__dirname=import.meta.dirname;";

mkdirSync(bundles, { recursive: true });
const bundle = mkdtempSync(join(bundles, 'run-'));
const dir = mkdtempSync(join(memory, 'gc-simulation-'));
try {
  const outfile = join(bundle, 'main.mjs');
  await build({
    entryPoints: [join(root, 'internal/controller/testing/simulation/main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    external: ['better-sqlite3', 'node-pty'],
    sourcemap: 'inline',
    logLevel: 'error',
    banner: { js: COMMONJS },
  });
  const args = [
    '--enable-source-maps',
    '--stack-trace-limit=8',
    outfile,
    '--dir',
    dir,
    ...process.argv.slice(2),
  ];
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  // So that its databases do not stay in memory.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill('SIGKILL'));
  const [code] = await once(child, 'close');
  process.exitCode = typeof code === 'number' ? code : 1;
} finally {
  rmSync(bundle, { recursive: true, force: true });
  rmSync(dir, { recursive: true, force: true });
}
