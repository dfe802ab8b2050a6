// The generated messages are those of proto/: made again into a scratch folder and compared.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const GENERATED = 'internal/protocol/generated';
const scratch = mkdtempSync(join(tmpdir(), 'gc-proto-'));
try {
  execFileSync('buf', ['generate', '--template', 'proto/buf.gen.yaml', '-o', scratch], { stdio: 'inherit' });
  const fresh = filesOf(join(scratch, GENERATED));
  const kept = filesOf(GENERATED);
  const stale = [...new Set([...fresh.keys(), ...kept.keys()])].filter(
    (file) => fresh.get(file) !== kept.get(file),
  );
  for (const file of stale) console.error(`${GENERATED}/${file} is not what proto/ says`);
  if (stale.length > 0) console.error('npm run proto');
  process.exitCode = stale.length > 0 ? 1 : 0;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function filesOf(folder) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.ts'));
  return new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}
