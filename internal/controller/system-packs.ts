import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { ensurePrivateDir } from '../platform/atomic-file.ts';
import { codeOf, GcError, messageOf } from '../platform/errors.ts';
import { systemIds } from '../platform/ids.ts';
import type { Environment } from '../platform/paths.ts';
import { parseTexts } from './json-text.ts';

/** Folders of the program by the name under which a city gets them. */
const PACKS: Readonly<Record<string, string>> = {
  core: 'packs/core',
  bd: 'packs/bd',
  dolt: 'packs/dolt',
  maintenance: 'examples/gastown/packs/maintenance',
  gastown: 'examples/gastown/packs/gastown',
};

const EXECUTABLE_ENDINGS = /\.(sh|py|bash)$/;
const EXECUTABLE = 0o755;
const PLAIN = 0o644;
const FOLDER = 0o755;
/** What was written, and with which content: the proof that a file which the program no longer has is ours. */
const RECORD = '.installed.json';

export interface SystemPacksOptions {
  /** The city's folder, absolute. */
  readonly cityRoot: string;
  /** The program's folder: `packs` and `examples` are in it. */
  readonly programRoot: string;
  readonly signal?: AbortSignal;
}

export interface InstalledPacks {
  /** Relative to `.gc/system/packs`. */
  readonly written: readonly string[];
  readonly removed: readonly string[];
}

/** The folder that the packs of a program are in, from its main file upward; `undefined` when it brings none. */
export function programRootOf(mainFile: string): string | undefined {
  if (!isAbsolute(mainFile)) return undefined;
  // What is on the PATH may be a link to it.
  const main = existsSync(mainFile) ? realpathSync(mainFile) : mainFile;
  for (let dir = dirname(main); ; dir = dirname(dir)) {
    if (existsSync(join(dir, 'packs', 'core', 'pack.toml'))) return dir;
    if (dirname(dir) === dir) return undefined;
  }
}

/**
 * Brings `.gc/system/packs` of a city to what this program has: only files that differ are written, each whole or not at
 * all; a file that was written here, is unchanged since and is no longer brought is removed. No link is followed.
 * Repeating it writes nothing. Source: Gas City system packs.
 * @throws GcError `system-packs` when something that is not ours is in the way, Node's errors of reading and writing
 */
export async function installSystemPacks({
  cityRoot,
  programRoot,
  signal,
}: SystemPacksOptions): Promise<InstalledPacks> {
  const target = join(cityRoot, '.gc', 'system', 'packs');
  ensurePrivateDir(join(cityRoot, '.gc'));
  makeFolder(dirname(target));
  makeFolder(target);
  const before = readRecord(join(target, RECORD));
  const now: Record<string, string> = {};
  const written: string[] = [];
  for (const [name, source] of Object.entries(PACKS)) {
    await setImmediate(); // many small files: read at once they cost least, and others run in between
    for (const path of filesIn(join(programRoot, source))) {
      signal?.throwIfAborted();
      const content = readFileSync(join(programRoot, source, path));
      const relative = `${name}/${path}`;
      now[relative] = digestOf(content);
      if (writeIfDifferent(target, relative, content)) written.push(relative);
    }
  }
  const removed: string[] = [];
  for (const [path, digest] of Object.entries(before)) {
    if (path in now || !isAsWritten(target, path, digest)) continue;
    rmSync(join(target, path), { force: true });
    removeEmpty(target, dirname(path));
    removed.push(path);
  }
  if (JSON.stringify(before) !== JSON.stringify(now)) {
    replaceFile(join(target, RECORD), `${JSON.stringify(now)}\n`, PLAIN);
  }
  return { written, removed };
}

/**
 * The same for a city that is about to start or was just made; what fails is said and stops nothing. With
 * `GC_BOOTSTRAP=skip`, and for a program that brings no packs, nothing happens. `program`: its main file.
 */
export async function provideSystemPacks(options: {
  readonly cityRoot: string;
  readonly program: string;
  readonly env: Environment;
  readonly log: (line: string) => void;
}): Promise<void> {
  const programRoot = options.env['GC_BOOTSTRAP'] === 'skip' ? undefined : programRootOf(options.program);
  if (programRoot === undefined) return;
  try {
    await installSystemPacks({ cityRoot: options.cityRoot, programRoot });
  } catch (error) {
    options.log(`warning: the system packs could not be written: ${messageOf(error)}`);
  }
}

/** Plain files below a folder, sorted; links and other things are left out. */
function filesIn(root: string, inner = ''): readonly string[] {
  const files: string[] = [];
  for (const entry of readdirSync(join(root, inner), { withFileTypes: true })) {
    const path = inner === '' ? entry.name : `${inner}/${entry.name}`;
    if (entry.isDirectory()) files.push(...filesIn(root, path));
    else if (entry.isFile()) files.push(path);
  }
  return files.sort();
}

function writeIfDifferent(target: string, path: string, content: Buffer): boolean {
  const file = join(target, path);
  const mode = EXECUTABLE_ENDINGS.test(path) ? EXECUTABLE : PLAIN;
  makeFolders(target, dirname(path));
  const there = lstatOf(file);
  if (there?.isDirectory()) throw inTheWay(file, 'a folder');
  // Rewritten in place it would change what a link names: a link is replaced like a file that differs.
  if (there?.isFile() && content.equals(readFileSync(file))) {
    if ((there.mode & 0o777) !== mode) chmodSync(file, mode);
    return false;
  }
  replaceFile(file, content, mode);
  return true;
}

/** Not flushed to the disk: what a power failure takes is written again at the next start. */
function replaceFile(file: string, content: Buffer | string, mode: number): void {
  const temporary = `${file}.${systemIds.hex(6)}.tmp`;
  try {
    writeFileSync(temporary, content, { flag: 'wx', mode });
    chmodSync(temporary, mode); // whatever the umask says
    renameSync(temporary, file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function makeFolders(target: string, inner: string): void {
  let dir = target;
  for (const part of inner.split('/')) {
    dir = join(dir, part);
    makeFolder(dir);
  }
}

function makeFolder(dir: string): void {
  const there = lstatOf(dir);
  if (there?.isDirectory()) return;
  if (there) throw inTheWay(dir, there.isSymbolicLink() ? 'a link' : 'no folder');
  mkdirSync(dir, { recursive: true, mode: FOLDER });
}

function inTheWay(path: string, what: string): GcError {
  return new GcError('system-packs', `${path} is ${what}`, {
    next: `move it away; to keep the system packs out of a city set GC_BOOTSTRAP=skip`,
  });
}

function isAsWritten(target: string, path: string, digest: string): boolean {
  const parts = path.split('/');
  if (parts.includes('..') || parts.includes('')) return false;
  for (let depth = 1; depth < parts.length; depth += 1) {
    if (!lstatOf(join(target, ...parts.slice(0, depth)))?.isDirectory()) return false;
  }
  const file = join(target, path);
  return lstatOf(file)?.isFile() === true && digestOf(readFileSync(file)) === digest;
}

function removeEmpty(target: string, inner: string): void {
  for (let dir = inner; dir !== '.'; dir = dirname(dir)) {
    try {
      rmdirSync(join(target, dir));
    } catch (error) {
      const code = codeOf(error);
      if (code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOENT') return;
      throw error;
    }
  }
}

function readRecord(file: string): Readonly<Record<string, string>> {
  return lstatOf(file)?.isFile() ? (parseTexts(readFileSync(file, 'utf8')) ?? {}) : {};
}

function lstatOf(path: string) {
  return lstatSync(path, { throwIfNoEntry: false });
}

const digestOf = (content: Buffer): string => createHash('sha256').update(content).digest('hex');
