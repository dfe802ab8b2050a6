import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { ensurePrivateDir } from '../platform/atomic-file.ts';
import { codeOf, GcError, messageOf } from '../platform/errors.ts';
import type { Ids } from '../platform/ids.ts';

export interface BundleOptions {
  /** gc's home. */
  readonly home: string;
  /** Executable and first arguments of this program; the last is its main file. */
  readonly self: readonly string[];
  readonly version: string;
  readonly now: number;
  readonly ids: Pick<Ids, 'hex'>;
}

/** Packages that a bundle cannot contain; of each, only what runs is copied. */
const NATIVE_PACKAGES = ['better-sqlite3', 'node-pty'];
const RUNTIME_DEPENDENCIES: Readonly<Record<string, readonly string[]>> = {
  'better-sqlite3': ['bindings'],
  bindings: ['file-uri-to-path'],
};
const NOT_RUN = new Set([
  'deps',
  'src',
  'third_party',
  'scripts',
  'typings',
  'test',
  'obj',
  'obj.target',
  '.deps',
  'node_modules',
]);
const KEPT_VERSIONS = 5;
/** A copy that has been in the making for longer was left by a start that died. */
const STAGED_MAX_AGE_MS = 3_600_000;
const HASH_DIGITS = 12;

/**
 * The command line that runs this same program from a private, versioned copy under gc's home, made on first use: an
 * upgrade or removal of the installed program then takes nothing away from a process that runs for weeks or from the
 * helpers that it starts. Unbundled sources and a program that already runs from a copy are answered unchanged.
 */
export function copiedProgram(options: BundleOptions): readonly string[] {
  const main = options.self.at(-1);
  if (main === undefined || basename(main) !== 'main.js' || !existsSync(main)) return options.self;
  const source = dirname(realpathSync(main));
  const versions = versionsDir(options.home);
  ensurePrivateDir(versions);
  if (dirname(source) === realpathSync(versions)) return options.self;
  const packages = nativePackages(source);
  const target = join(versions, `${options.version}-${fingerprint(source, packages)}`);
  if (!existsSync(target)) copyInto(target, source, packages, options);
  const seconds = options.now / 1_000;
  utimesSync(target, seconds, seconds);
  dropOldVersions(versions, target, options.now);
  return [...options.self.slice(0, -1), join(target, 'main.js')];
}

function versionsDir(home: string): string {
  return join(home, 'versions');
}

function copyInto(
  target: string,
  source: string,
  packages: ReadonlyMap<string, string>,
  { version, ids }: BundleOptions,
): void {
  const staged = join(dirname(target), `.${ids.hex(6)}`);
  try {
    cpSync(source, staged, { recursive: true });
    writeFileSync(
      join(staged, 'package.json'),
      JSON.stringify({ name: 'gas-city', version, type: 'module' }),
    );
    for (const [name, folder] of packages) {
      const to = join(staged, 'node_modules', name);
      mkdirSync(dirname(to), { recursive: true });
      cpSync(folder, to, {
        recursive: true,
        dereference: true,
        filter: (path) => runs(relative(folder, path)),
      });
    }
    renameSync(staged, target);
  } catch (error) {
    // Somebody else made the same copy meanwhile.
    if (existsSync(target)) return;
    throw new GcError('program-copy-failed', `cannot copy the program to ${target}: ${messageOf(error)}`, {
      cause: error,
      next: 'check the permissions of that folder and the space on its disk',
    });
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

/** Compiled code, scripts and manifests; no sources, objects, maps or other platforms' binaries. */
function runs(path: string): boolean {
  const parts = path.split('/');
  if (parts.some((part) => NOT_RUN.has(part))) return false;
  if (parts[0] === 'prebuilds' && parts[1] !== undefined)
    return parts[1] === `${process.platform}-${process.arch}`;
  return !/\.(map|a|o|mk|pdb|d\.ts)$/.test(path) && basename(path) !== 'test_extension.node';
}

/** Where each native package and what it needs is installed, as seen from the bundle. */
function nativePackages(source: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const visit = (name: string, from: string) => {
    const manifest = createRequire(join(from, 'package.json')).resolve(`${name}/package.json`);
    found.set(name, dirname(manifest));
    for (const dependency of RUNTIME_DEPENDENCIES[name] ?? []) visit(dependency, dirname(manifest));
  };
  for (const name of NATIVE_PACKAGES) visit(name, source);
  return found;
}

function fingerprint(source: string, packages: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256');
  const visit = (folder: string) => {
    for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    )) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) visit(path);
      else hash.update(relative(source, path)).update('\0').update(readFileSync(path)).update('\0');
    }
  };
  visit(source);
  // The same version built for another Node has another binary.
  for (const folder of packages.values()) {
    hash.update(readFileSync(join(folder, 'package.json'))).update(process.versions.modules);
    for (const binary of binariesOf(folder))
      hash.update(`${statSync(binary).size}:${statSync(binary).mtimeMs}`);
  }
  return hash.digest('hex').slice(0, HASH_DIGITS);
}

function binariesOf(folder: string): readonly string[] {
  const release = join(folder, 'build', 'Release');
  if (!existsSync(release)) return [];
  return readdirSync(release)
    .filter((name) => name.endsWith('.node'))
    .map((name) => join(release, name));
}

/** Keeps the newest few copies and every one that a living process runs from. */
function dropOldVersions(versions: string, current: string, now: number): void {
  // What is still being copied (its name begins with a dot) belongs to another start, which may have just ended it.
  const others = readdirSync(versions)
    .map((name) => ({ name, path: join(versions, name) }))
    .flatMap(({ name, path }) => {
      const found = statSync(path, { throwIfNoEntry: false });
      return found && path !== current
        ? [{ path, changed: found.mtimeMs, isStaged: name.startsWith('.') }]
        : [];
    });
  const abandoned = others.filter((o) => o.isStaged && now - o.changed > STAGED_MAX_AGE_MS);
  const outdated = others
    .filter((o) => !o.isStaged)
    .sort((a, b) => b.changed - a.changed)
    .slice(KEPT_VERSIONS - 1);
  const old = [...abandoned, ...outdated].map((o) => o.path);
  if (old.length === 0) return;
  const running = commandLines();
  if (!running) return;
  for (const path of old) {
    if (!running.some((line) => line.includes(path))) rmSync(path, { recursive: true, force: true });
  }
}

/** Command lines of all processes; `undefined` where they cannot be read, and then nothing is dropped. */
function commandLines(): readonly string[] | undefined {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => commandLine(pid));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // it ended, or belongs to somebody else, who does not run our copy
  }
}
