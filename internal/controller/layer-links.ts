import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import type { City } from '../config/city.ts';
import { formulaFiles } from '../config/formula/formula-files.ts';
import { ensurePrivateDirFor, writeFileAtomic } from '../platform/atomic-file.ts';
import { codeOf, messageOf } from '../platform/errors.ts';
import { systemIds } from '../platform/ids.ts';
import { excludeFromGit } from './git-exclude.ts';
import { parseObject, parseTexts } from './json-text.ts';

const FORMULAS = join('.beads', 'formulas');
const SCRIPTS = 'scripts';
const RECORD_MODE = 0o600;

/** Links by their path in one folder, with what each names. */
type Links = ReadonlyMap<string, string>;

/**
 * Links the formulas and scripts of a city's layers into the folders of the city and its rigs: each formula into
 * `.beads/formulas/` under both of its file names, each script of a pack into `scripts/`, later layers winning. What is
 * not a link of ours stays; our links that nothing wants any more go, with the folders that they leave empty. Repeating
 * it changes nothing. In a git repository the links are kept out of its status. Answers what is wrong, as lines for
 * people. Source: Gas City ResolveFormulas and ResolveScripts.
 */
export async function linkLayers(city: City): Promise<readonly string[]> {
  const recordFile = join(city.root, '.gc', 'runtime', 'layer-links.json');
  const before = readRecord(recordFile);
  const owned = ownedFolders(city);
  const wanted = await wantedLinks(city);
  const problems: string[] = [];
  const now: Record<string, Record<string, string>> = {};
  for (const root of new Set([...wanted.keys(), ...Object.keys(before)])) {
    if (!isFolder(root)) continue;
    const links = wanted.get(root) ?? new Map();
    try {
      const made = bringIntoLine(root, links, before[root] ?? {}, owned);
      if (made.size > 0) now[root] = Object.fromEntries([...made].sort(byPath));
      // Beside the links, what sessions that work there are given.
      const others = city.rigs.some(({ path }) => path === root) ? ['.gc'] : [];
      await excludeFromGit(city.root, root, [...made.keys(), ...others].sort());
    } catch (error) {
      problems.push(`formulas and scripts of packs are not linked into ${root}: ${messageOf(error)}`);
      if (before[root]) now[root] = before[root];
    }
  }
  const text = `${JSON.stringify(now, null, 1)}\n`;
  if (text !== `${JSON.stringify(before, null, 1)}\n`) {
    ensurePrivateDirFor(recordFile);
    await writeFileAtomic(recordFile, text, RECORD_MODE);
  }
  return problems;
}

/** Per folder of the city and its rigs: what is to be linked there. Rigs do not take the scripts of the city's packs. */
async function wantedLinks({ root, rigs, layers }: City): Promise<ReadonlyMap<string, Links>> {
  const wanted = new Map<string, Links>();
  wanted.set(root, await linksOf(layers.formulas.city, layers.scripts.city));
  for (const { name, path } of rigs) {
    const formulas = layers.formulas.rigs[name] ?? layers.formulas.city;
    const links = await linksOf(formulas, layers.scripts.rigs[name] ?? []);
    // Two rigs may share a folder.
    wanted.set(path, new Map([...(wanted.get(path) ?? []), ...links]));
  }
  return wanted;
}

async function linksOf(formulas: readonly string[], scripts: readonly string[]): Promise<Links> {
  const links = new Map<string, string>();
  for (const [name, file] of await formulaFiles(formulas)) {
    links.set(join(FORMULAS, `${name}.toml`), file);
    links.set(join(FORMULAS, `${name}.formula.toml`), file);
  }
  for (const layer of scripts) {
    for (const path of filesIn(layer, '')) {
      // What one layer has as a file, another may have as a folder: the later one is right.
      for (const other of [...links.keys()]) {
        const mine = join(SCRIPTS, path);
        if (other.startsWith(mine + sep) || mine.startsWith(other + sep)) links.delete(other);
      }
      links.set(join(SCRIPTS, path), join(layer, path));
    }
  }
  return links;
}

/** Files below a folder; links to folders are not followed. */
function filesIn(root: string, inner: string): readonly string[] {
  return readdirSync(join(root, inner), { withFileTypes: true })
    .filter(({ name }) => !name.startsWith('.'))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(inner, entry.name);
      if (entry.isDirectory()) return filesIn(root, path);
      return entry.isFile() || isFile(join(root, path)) ? [path] : [];
    });
}

/** What is linked in one folder now: what was wanted and is in nobody's way. */
function bringIntoLine(
  root: string,
  wanted: Links,
  recorded: Readonly<Record<string, string>>,
  owned: readonly string[],
): Links {
  const isOurs = (path: string, target: string) =>
    target === recorded[path] || owned.some((folder) => target.startsWith(folder + sep));
  const there = new Set([
    ...Object.keys(recorded),
    ...linksBelow(root, FORMULAS),
    ...linksBelow(root, SCRIPTS),
  ]);
  for (const path of there) {
    const target = wanted.has(path) ? undefined : linkTarget(root, path);
    if (target === undefined || !isOurs(path, target)) continue;
    rmSync(join(root, path), { force: true });
    removeEmpty(root, dirname(path));
  }
  const made = new Map<string, string>();
  for (const [path, target] of wanted) {
    const current = linkTarget(root, path);
    if (current === undefined && !isFree(root, path)) continue;
    if (current !== undefined && current !== target && !isOurs(path, current)) continue;
    if (current !== target) makeLink(root, path, target);
    made.set(path, target);
  }
  return made;
}

/** What a link names, absolute; `undefined` for anything else and for what can only be reached through a link. */
function linkTarget(root: string, path: string): string | undefined {
  if (!hasPlainParents(root, path)) return undefined;
  const file = join(root, path);
  if (!lstatOf(file)?.isSymbolicLink()) return undefined;
  return resolve(dirname(file), readlinkSync(file));
}

/** Nothing is there, and nothing but folders, or nothing yet, leads there. */
function isFree(root: string, path: string): boolean {
  return hasPlainParents(root, path) && lstatOf(join(root, path)) === undefined;
}

function hasPlainParents(root: string, path: string): boolean {
  const parts = path.split(sep);
  if (parts.includes('..')) return false;
  for (let depth = 1; depth < parts.length; depth += 1) {
    const found = lstatOf(join(root, ...parts.slice(0, depth)));
    if (found === undefined) return true;
    if (!found.isDirectory()) return false;
  }
  return true;
}

/** Who reads the folder meanwhile sees the old link or the new one. */
function makeLink(root: string, path: string, target: string): void {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  const temporary = `${file}.${systemIds.hex(6)}.tmp`;
  symlinkSync(target, temporary);
  try {
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function linksBelow(root: string, inner: string): readonly string[] {
  if (!hasPlainParents(root, join(inner, 'x'))) return [];
  if (lstatOf(join(root, inner)) === undefined) return [];
  return readdirSync(join(root, inner), { withFileTypes: true }).flatMap((entry) => {
    const path = join(inner, entry.name);
    if (entry.isDirectory()) return linksBelow(root, path);
    return entry.isSymbolicLink() ? [path] : [];
  });
}

/** Up to `scripts` and `.beads/formulas` themselves. */
function removeEmpty(root: string, inner: string): void {
  for (let dir = inner; dir !== '.' && dir !== dirname(FORMULAS); dir = dirname(dir)) {
    try {
      rmdirSync(join(root, dir));
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOENT') return;
      throw error;
    }
  }
}

/** A link into one of these is ours, also when the record of it was lost. */
function ownedFolders({ root, layers }: City): readonly string[] {
  const { formulas, scripts } = layers;
  const all = [formulas, scripts].flatMap(({ city, rigs }) => [city, ...Object.values(rigs)].flat());
  return [...new Set([...all, join(root, '.gc', 'system', 'packs'), join(root, '.gc', 'cache')])];
}

/** What was linked before, by folder. */
function readRecord(file: string): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const text = isFile(file) ? readFileSync(file, 'utf8') : undefined;
  const entries = Object.entries(parseObject(text) ?? {});
  return Object.fromEntries(entries.map(([root, links]) => [root, parseTexts(JSON.stringify(links)) ?? {}]));
}

const byPath = ([a]: readonly [string, string], [b]: readonly [string, string]) => (a < b ? -1 : 1);

const lstatOf = (path: string) => lstatSync(path, { throwIfNoEntry: false });

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
