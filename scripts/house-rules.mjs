// House rules that no linter knows: one import site per library, no ambient time, chance or environment inside, sizes.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const MAX_LINES = 400;
/** Files at the rim: they are what reads the process's surroundings. */
const RIM = [/^internal\/platform\//, /^cmd\//, /^conformance\//, /^internal\/runtime\/host\/main\.ts$/];
const AMBIENT =
  /\b(Date\.now\(|new Date\(\)|Math\.random\(|process\.(env|argv|exit|stdout|stderr|stdin|cwd)\b)/;
/** Written by a program, from `proto/`. */
const GENERATED = 'internal/protocol/generated/';
const LOOSE_TYPE = /\bas any\b|: any\b|<any>/;
/** What the oldest Node that is supported does not have. */
const TOO_NEW =
  /\b(?:Map|Object)\.groupBy\(|\bPromise\.(?:withResolvers|try)\(|\bArray\.fromAsync\(|\bimport\.meta\.main\b/;
const LOOSE_END = /@ts-(ignore|expect-error|nocheck)|biome-ignore|\b(TODO|FIXME|XXX)\b/;
const IMPORT = /^\s*(?:import|export)\b[^'"]*from\s+'([^'.][^']*)'|import\('([^'.][^']*)'\)/gm;

const problems = [];
const sites = new Map();

for (const file of ['cmd', 'internal', 'conformance'].flatMap((dir) => walk(join(root, dir)))) {
  const path = relative(root, file);
  if (path.startsWith(GENERATED)) continue;
  const text = readFileSync(file, 'utf8');
  const isTest = /\.test\.ts$|\/testing\//.test(path);
  const lines = text.split('\n');
  lines.forEach((line, index) => {
    const code = line.replace(/^\s*(\*|\/\/|\/\*).*$/, '');
    if (LOOSE_TYPE.test(code) || LOOSE_END.test(line))
      problems.push(`${path}:${index + 1} loose end: ${line.trim()}`);
    if (TOO_NEW.test(code)) problems.push(`${path}:${index + 1} too new for Node 20: ${line.trim()}`);
    if (!isTest && AMBIENT.test(code) && !RIM.some((rim) => rim.test(path))) {
      problems.push(`${path}:${index + 1} ambient state inside: ${line.trim()}`);
    }
  });
  if (!isTest && lines.length > MAX_LINES)
    problems.push(`${path} has ${lines.length} lines (limit ${MAX_LINES})`);
  if (isTest) continue;
  for (const match of text.matchAll(IMPORT)) {
    const name = match[1] ?? match[2];
    if (name.startsWith('node:')) continue;
    const library = name.startsWith('@') ? name.split('/').slice(0, 2).join('/') : name.split('/')[0];
    sites.set(library, (sites.get(library) ?? new Set()).add(path));
  }
}
for (const [library, files] of sites) {
  if (files.size > 1)
    problems.push(`${library} is imported in ${files.size} places: ${[...files].join(', ')}`);
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error(`${problems.length} house rule(s) broken`);
  process.exit(1);
}

function walk(dir) {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return walk(path);
    return entry.name.endsWith('.ts') ? [path] : [];
  });
}
