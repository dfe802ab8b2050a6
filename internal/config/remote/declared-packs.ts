import { join, resolve } from 'node:path';
import { GcError } from '../../platform/errors.ts';
import type { SourcePosition } from '../city.ts';
import { findManifest } from '../compose/pack-manifest.ts';
import { Look } from '../document/look.ts';
import { findCityFile, pathKind, readDocument } from '../document/read-source.ts';
import {
  isMap,
  locate,
  type SourceDocument,
  shownPosition,
  type ValuePath,
} from '../document/source-document.ts';
import type { RawPackSource } from '../schema/schema-import.ts';

/** One place that asks for a pack, read without judging the rest of the file: it must work while packs are missing. */
export interface DeclaredPack {
  readonly kind: 'import' | 'include';
  /** The binding of an import; `''` for an include. */
  readonly name: string;
  /** As written; it may be the name of one of `[packs]`. */
  readonly source: string;
  readonly version: string;
  /** `the city`, `rig "api"`, `pack "x"` */
  readonly owner: string;
  readonly position: SourcePosition;
  /** Where it stands in its file. */
  readonly path: ValuePath;
  /** What relative sources start from. */
  readonly baseDir: string;
  /** It is about to be written, and has no place yet. */
  readonly isNew?: boolean;
}

/** `[packs.<name>]` */
export interface NamedPack extends RawPackSource {
  readonly position: SourcePosition;
}

/** What the files of a city itself ask for. */
export interface CityPacks {
  readonly cityFile: string;
  /** The manifest beside the city file. */
  readonly packFile: string | undefined;
  /** The root pack's first. */
  readonly declared: readonly DeclaredPack[];
  readonly named: ReadonlyMap<string, NamedPack>;
  /** Sources that rigs to come will include. */
  readonly forNewRigs: ReadonlySet<string>;
}

/** Reads a city's file, its fragments and its own manifest. @throws GcError `config-unreadable` */
export async function cityPacks(cityRoot: string): Promise<CityPacks> {
  const found = await findCityFile(cityRoot);
  if (found.kind === 'missing') {
    const [problem] = found.problems;
    throw new GcError('config-unreadable', `${found.file}: ${problem?.message ?? 'not found'}`, {
      ...(problem?.hint === undefined ? {} : { next: problem.hint }),
    });
  }
  const city = await readFileOf(found.file, cityRoot);
  const packFile = findManifest(cityRoot, new Look())?.file;
  const own =
    packFile === undefined ? [] : importsOf(await readFileOf(packFile, cityRoot), [], 'the city', cityRoot);
  const named = new Map(namedIn(city));
  const forNewRigs = new Set(newRigIncludes(city));
  const declared = [...own, ...importsOf(city, [], 'the city', cityRoot), ...deploymentOf(city, cityRoot)];
  for (const path of localFragments(city, cityRoot)) {
    if ((await pathKind(path)) !== 'file') continue;
    const fragment = await readFileOf(path, cityRoot);
    declared.push(...deploymentOf(fragment, cityRoot));
    for (const [name, pack] of namedIn(fragment)) named.set(name, pack);
    for (const source of newRigIncludes(fragment)) forNewRigs.add(source);
  }
  return { cityFile: found.file, packFile, declared, named, forNewRigs };
}

/** What the manifest of a pack asks for; nothing when there is none. @throws GcError `config-unreadable` */
export async function packsOfPack(dir: string, cityRoot: string): Promise<readonly DeclaredPack[]> {
  const file = findManifest(dir, new Look())?.file;
  if (file === undefined) return [];
  const document = await readFileOf(file, cityRoot);
  const pack = mapAt(document.data, 'pack');
  const owner =
    typeof pack['name'] === 'string' ? `pack "${pack['name']}"` : shownPosition(cityRoot, startOf(file));
  return [
    ...includesOf(document, pack['includes'], ['pack', 'includes'], owner, dir),
    ...importsOf(document, [], owner, dir),
  ];
}

async function readFileOf(file: string, cityRoot: string): Promise<SourceDocument> {
  const { parsed } = await readDocument(file);
  if (parsed.kind === 'parsed') return parsed.document;
  const [problem] = parsed.problems;
  const place = shownPosition(cityRoot, problem?.position ?? startOf(file));
  throw new GcError('config-unreadable', `${place}: ${problem?.message ?? 'cannot be read'}`, {
    next: problem?.hint ?? 'repair the file first',
  });
}

/** Rigs and `workspace.includes`: what a city file or a fragment adds beyond imports of its own. */
function deploymentOf(document: SourceDocument, cityRoot: string): DeclaredPack[] {
  const { data } = document;
  const workspace = mapAt(data, 'workspace');
  const list = ['workspace', 'includes'];
  const declared = includesOf(document, workspace['includes'], list, 'the city', cityRoot);
  const rigs = isMap(data) && Array.isArray(data['rigs']) ? data['rigs'] : [];
  rigs.forEach((rig: unknown, index) => {
    if (!isMap(rig)) return;
    const owner = `rig "${String(rig['name'] ?? index)}"`;
    declared.push(...includesOf(document, rig['includes'], ['rigs', index, 'includes'], owner, cityRoot));
    declared.push(...importsOf(document, ['rigs', index], owner, cityRoot));
  });
  return declared;
}

function newRigIncludes({ data }: SourceDocument): readonly string[] {
  const list = mapAt(data, 'workspace')['default_rig_includes'];
  return Array.isArray(list) ? list.filter((each): each is string => typeof each === 'string') : [];
}

function importsOf(
  document: SourceDocument,
  path: ValuePath,
  owner: string,
  baseDir: string,
): DeclaredPack[] {
  const holder = path.reduce<unknown>((at, key) => step(at, key), document.data);
  return Object.entries(mapAt(holder, 'imports')).flatMap(([name, value]) => {
    if (!isMap(value) || typeof value['source'] !== 'string') return [];
    const version = typeof value['version'] === 'string' ? value['version'] : '';
    const here = [...path, 'imports', name];
    const position = locate(document, here);
    return [{ kind: 'import', name, source: value['source'], version, owner, position, path: here, baseDir }];
  });
}

function includesOf(
  document: SourceDocument,
  list: unknown,
  path: ValuePath,
  owner: string,
  baseDir: string,
): DeclaredPack[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((source: unknown, index) => {
    if (typeof source !== 'string') return [];
    const here = [...path, index];
    const position = locate(document, here, 'value');
    return [{ kind: 'include', name: '', source, version: '', owner, position, path: here, baseDir }];
  });
}

function namedIn(document: SourceDocument): (readonly [string, NamedPack])[] {
  return Object.entries(mapAt(document.data, 'packs')).flatMap(([name, value]) => {
    if (!isMap(value) || typeof value['source'] !== 'string') return [];
    const text = (key: string) => (typeof value[key] === 'string' ? { [key]: value[key] } : {});
    const position = locate(document, ['packs', name]);
    return [[name, { source: value['source'], ...text('ref'), ...text('path'), position }] as const];
  });
}

/** Source: Gas City fragment paths. Remote fragments hold no packs of their own to fetch. */
function localFragments(document: SourceDocument, cityRoot: string): readonly string[] {
  const list = isMap(document.data) ? document.data['include'] : undefined;
  const paths = typeof list === 'string' ? [list] : Array.isArray(list) ? list : [];
  return paths
    .filter((path): path is string => typeof path === 'string' && !/^[a-z]+:\/\//i.test(path))
    .map((path) => (path.startsWith('//') ? join(cityRoot, path.slice(2)) : resolve(cityRoot, path)));
}

function step(at: unknown, key: string | number): unknown {
  if (Array.isArray(at) && typeof key === 'number') return at[key];
  return isMap(at) ? at[key] : undefined;
}

function mapAt(data: unknown, key: string): Record<string, unknown> {
  const value = isMap(data) ? data[key] : undefined;
  return isMap(value) ? value : {};
}

function startOf(file: string): SourcePosition {
  return { file, line: 1, column: 1 };
}
