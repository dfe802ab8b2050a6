import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';

const ROOT = join(import.meta.dirname, '../../../..');
const BANNER =
  "import{createRequire as __gcRequire}from'node:module';const require=__gcRequire(import.meta.url),__filename=import.meta.filename,__dirname=import.meta.dirname;";

/**
 * The session host as one file, as the program ships it: from its sources it takes seconds to load what speaks to a
 * cluster. Native modules are found from where it lies.
 */
export async function bundledHost(): Promise<{ readonly command: readonly string[]; remove(): void }> {
  const dir = join(ROOT, 'node_modules/.cache/gc-k8s-host');
  mkdirSync(dir, { recursive: true });
  const file = join(dir, `host-${process.pid}.mjs`);
  await build({
    entryPoints: [join(ROOT, 'internal/runtime/host/main.ts')],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['better-sqlite3', 'node-pty'],
    banner: { js: BANNER },
    logLevel: 'error',
  });
  return { command: [process.execPath, file], remove: () => rmSync(file, { force: true }) };
}
