import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { dirname, extname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { didYouMean } from '../../../internal/config/document/nearest.ts';
import { setValue } from '../../../internal/config/edit/document-edit.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import type { Context } from '../context.ts';
import { withIgnored } from '../rig/beads-ignore.ts';
import { CITY_FILES } from './find-city.ts';
import type { NewEntry } from './make-files.ts';

/** Folders that a city made from another one always has. Source: Gas City convention folders. */
const CONVENTION_DIRS = [
  'agents',
  'commands',
  'doctor',
  'formulas',
  'orders',
  'template-fragments',
  'overlays',
  'assets',
] as const;

const IGNORED = ['.gc/', '.beads/*', '!.beads/config.yaml', '!.beads/metadata.json', '.runtime/'] as const;

/** A folder that is a sample only under this name: there it is not taken for a city. */
const SAMPLE_FILES = ['example-city.yaml', 'example-city.yml', 'example-city.toml'] as const;

/** A city to be copied. */
export interface SourceCity {
  /** Absolute, symlinks resolved. */
  readonly dir: string;
  /** Its city file, relative to `dir`. */
  readonly file: string;
}

/** A folder, or the name of an example that comes with the program. @throws GcError `no-such-source`, `source-without-city` */
export function findSource(context: Context, from: string): SourceCity {
  const folder = resolve(context.cwd, from);
  const examples = examplesFolder(context);
  const isName = /^[a-z0-9-]+$/.test(from);
  const shipped = isName && examples !== undefined ? join(examples, from) : undefined;
  const found = [folder, shipped].find((dir) => dir !== undefined && isFolder(dir));
  if (found === undefined) {
    const names = examples === undefined ? [] : exampleNames(examples);
    throw new GcError(
      'no-such-source',
      `there is no folder ${folder}${isName ? didYouMean(from, names) : ''}`,
      {
        next: `gc init --from <folder${names.length > 0 ? `, or an example: ${names.join(', ')}` : ''}>`,
      },
    );
  }
  const file = [...CITY_FILES, ...SAMPLE_FILES].find((name) => existsSync(join(found, name)));
  if (file === undefined) {
    throw new GcError('source-without-city', `source "${from}" has no city.yaml or city.toml`, {
      next: 'name the folder of a city: gc init --from <folder>',
    });
  }
  return { dir: realpathSync(found), file };
}

/** `examples/` beside the installed program; `undefined` when this installation has none. */
export function examplesFolder(context: Context): string | undefined {
  for (let dir = dirname(context.self.at(-1) ?? '.'); ; dir = dirname(dir)) {
    if (existsSync(join(dir, 'examples', 'quickstart'))) return join(dir, 'examples');
    if (dirname(dir) === dir) return undefined;
  }
}

function exampleNames(examples: string): readonly string[] {
  return readdirSync(examples).filter((name) =>
    [...CITY_FILES, ...SAMPLE_FILES].some((file) => existsSync(join(examples, name, file))),
  );
}

/** Everything of the copy, the city file last. @throws GcError `source-leaves-itself`, `source-holds-target`, `odd-file` */
export async function copyOf(
  source: SourceCity,
  root: string,
  name: string,
): Promise<ReadonlyMap<string, NewEntry>> {
  if (`${root}${sep}`.startsWith(`${source.dir}${sep}`)) {
    throw new GcError('source-holds-target', `${root} is inside the source ${source.dir}`, {
      next: 'choose a folder outside of it',
    });
  }
  const entries = new Map<string, NewEntry>();
  collect(source.dir, '', entries);
  entries.delete(source.file);
  const ignored = entries.get('.gitignore');
  const before = ignored?.kind === 'file' ? ignored.content.toString() : '';
  entries.delete('.gitignore');
  const text = readFileSync(join(source.dir, source.file), 'utf8');
  return cityAround(root, { text, name, file: `city${extname(source.file)}` }, entries, before);
}

/** What a city file needs around it: folders, `.gitignore`, and itself at the end under its new name. */
export async function cityAround(
  root: string,
  city: { readonly text: string; readonly name: string; readonly file: string },
  entries: ReadonlyMap<string, NewEntry> = new Map(),
  ignoredBefore = '',
): Promise<ReadonlyMap<string, NewEntry>> {
  const all = new Map(entries);
  for (const dir of CONVENTION_DIRS) if (!all.has(dir)) all.set(dir, { kind: 'folder' });
  const file = join(root, '.gitignore');
  const own = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  const content = withIgnored(own ?? ignoredBefore, IGNORED);
  all.set('.gitignore', { kind: 'file', content, ...(own === undefined ? {} : { replaces: own }) });
  const named = await setValue(city.text, city.file, ['workspace', 'name'], city.name);
  all.set(city.file, { kind: 'file', content: named });
  return all;
}

/** Left out: state and history of the source at its top, and Go tests, which a Gas City tree may hold. */
function isLeftOut(path: string): boolean {
  return path === '.gc' || path === '.git' || path.endsWith('_test.go');
}

function collect(source: string, inner: string, entries: Map<string, NewEntry>): void {
  for (const item of readdirSync(join(source, inner)).sort()) {
    const path = join(inner, item);
    if (isLeftOut(path)) continue;
    const full = join(source, path);
    const info = lstatSync(full);
    if (info.isSymbolicLink()) entries.set(path, { kind: 'link', target: linkTarget(source, path) });
    else if (info.isDirectory()) {
      entries.set(path, { kind: 'folder' });
      collect(source, path, entries);
    } else if (info.isFile()) {
      // Shipped files may be read-only; a copy is there to be changed.
      entries.set(path, { kind: 'file', content: readFileSync(full), mode: (info.mode & 0o777) | 0o600 });
    } else {
      throw new GcError('odd-file', `${full} is neither file, folder nor link`, {
        next: 'remove it from the source',
      });
    }
  }
}

/** Where a link of the copy points: as written, or into the copy where it was absolute. */
function linkTarget(source: string, path: string): string {
  const full = join(source, path);
  const written = readlinkSync(full);
  const target = resolve(dirname(full), written);
  // A link to a link that leaves is one that leaves; where nothing is, its spelling counts.
  const real = existsSync(full) ? realpathSync(full) : target;
  if ([target, real].every((place) => `${place}${sep}`.startsWith(`${source}${sep}`))) {
    return isAbsolute(written) ? relative(dirname(full), target) : written;
  }
  throw new GcError('source-leaves-itself', `${full} is a link to ${written}, outside of the source`, {
    next: 'replace the link by what it points to',
  });
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
