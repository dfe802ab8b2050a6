// `npm start`: builds, copies the quick-start city into a scratch folder of yours and starts it.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const city = join(root, '.scratch', 'quickstart');

const run = (...args) => {
  const done = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  if (done.status !== 0) process.exit(done.status ?? 1);
};

run(join(root, 'scripts', 'build.mjs'));
if (!existsSync(city)) {
  mkdirSync(dirname(city), { recursive: true });
  cpSync(join(root, 'examples', 'quickstart'), city, { recursive: true });
}
run(join(root, 'dist', 'main.js'), '--city', city, 'start');
