import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { City } from '../city.ts';
import { didYouMean } from '../document/nearest.ts';
import { isToml, parseText, pathKind, readDocument } from '../document/read-source.ts';
import { isMap, type SourceDocument, type ValuePath, valueAt } from '../document/source-document.ts';
import { qualifiedName } from '../qualified-name.ts';
import { EditError, unreadable } from './edit-error.ts';
import { newManifest, suspendedText } from './text-edit.ts';

/** What an edit needs from outside. */
export interface EditIo {
  /** One editor of a file at a time, over all processes. */
  withLock<T>(file: string, work: () => Promise<T>): Promise<T>;
  /** Whole or not at all; the file's mode stays. */
  write(file: string, text: string): Promise<void>;
  remove(file: string): Promise<void>;
}

export type SuspendTarget =
  | { readonly kind: 'workspace' }
  /** `[dir/][binding.]name` */
  | { readonly kind: 'agent'; readonly qualifiedName: string }
  | { readonly kind: 'rig'; readonly name: string };

export type EditedCity = Pick<City, 'file' | 'agents' | 'rigs'>;

export interface EditResult {
  readonly file: string;
  /** `false`: it was so already. */
  readonly changed: boolean;
}

const AGENT_MANIFESTS = ['agent.toml', 'agent.yaml', 'agent.yml'] as const;
const NEXT = 'edit the file by hand: set "suspended" there';

/**
 * Sets or clears `suspended` where the agent, the rig or the workspace is declared, and touches nothing else: comments and
 * layout stay, and setting then clearing gives back the same bytes. An edit that cannot be made that way is refused.
 * @throws EditError
 */
export async function setSuspended(
  city: EditedCity,
  target: SuspendTarget,
  suspended: boolean,
  io: EditIo,
): Promise<EditResult> {
  const place = await placeOf(city, target);
  return io.withLock(place.file, async () => {
    if (place.isNew) return editNewManifest(place.file, suspended, io);
    const document = await readFresh(place.file);
    const path = pathOf(document, target, place.isManifest);
    const text = edited(document, path, suspended);
    if (text === undefined) return { file: place.file, changed: false };
    await verify(document, path, suspended, text);
    if (place.isManifest && text.trim() === '') await io.remove(place.file);
    else await io.write(place.file, text);
    return { file: place.file, changed: true };
  });
}

/** Where something of a city is declared. */
export interface DeclaredPlace {
  readonly file: string;
  readonly isManifest: boolean;
  /** An agent folder without a manifest: the edit makes one. */
  readonly isNew: boolean;
}

/** @throws EditError `rig-not-found`, `agent-not-found` */
export async function placeOf(city: EditedCity, target: SuspendTarget): Promise<DeclaredPlace> {
  if (target.kind === 'workspace') return { file: city.file, isManifest: false, isNew: false };
  if (target.kind === 'rig') {
    const rig = city.rigs.find(({ name }) => name === target.name);
    if (rig) return { file: rig.source.file, isManifest: false, isNew: false };
    const names = city.rigs.map(({ name }) => name);
    throw new EditError('rig-not-found', `rig "${target.name}" not found${didYouMean(target.name, names)}`, {
      next: 'gc rig list',
    });
  }
  const agent = city.agents.find((candidate) => candidate.qualifiedName === target.qualifiedName);
  if (!agent) {
    const names = city.agents.map((candidate) => candidate.qualifiedName);
    throw new EditError(
      'agent-not-found',
      `agent "${target.qualifiedName}" not found${didYouMean(target.qualifiedName, names)}`,
      {
        next: 'gc agent list',
      },
    );
  }
  const { file } = agent.source;
  if ((await pathKind(file)) !== 'folder') {
    // A fragment and the city's own pack manifest hold agents in a list, as the city file does.
    const isManifest = AGENT_MANIFESTS.some((name) => name === basename(file));
    return { file, isManifest, isNew: false };
  }
  for (const name of AGENT_MANIFESTS) {
    if ((await pathKind(join(file, name))) === 'file')
      return { file: join(file, name), isManifest: true, isNew: false };
  }
  return { file: join(file, isToml(city.file) ? 'agent.toml' : 'agent.yaml'), isManifest: true, isNew: true };
}

async function editNewManifest(file: string, suspended: boolean, io: EditIo): Promise<EditResult> {
  if (!suspended) return { file, changed: false };
  await io.write(file, newManifest(isToml(file) ? 'toml' : 'yaml'));
  return { file, changed: true };
}

async function readFresh(file: string): Promise<SourceDocument> {
  const { parsed } = await readDocument(file);
  if (parsed.kind === 'parsed') return parsed.document;
  throw unreadable(file, parsed.problems);
}

function pathOf(document: SourceDocument, target: SuspendTarget, isManifest: boolean): ValuePath {
  switch (target.kind) {
    case 'workspace':
      return ['workspace'];
    case 'rig':
      return rigPath(document, target.name);
    case 'agent':
      return agentPath(document, target.qualifiedName, isManifest);
  }
}

/** Where a rig stands in a file. @throws EditError `rig-not-found`, `ambiguous-edit` */
export function rigPath(document: Pick<SourceDocument, 'data' | 'file'>, name: string): ValuePath {
  const found = ['rigs', 'rig'].flatMap((section) => {
    const list = valueAt(document.data, [section]);
    const items: readonly unknown[] = Array.isArray(list) ? list : [];
    return items.flatMap((item, index) => (isMap(item) && item['name'] === name ? [[section, index]] : []));
  });
  const [path, second] = found;
  if (!path)
    throw new EditError('rig-not-found', `rig "${name}" is not in ${document.file}`, { next: 'gc rig list' });
  if (second)
    throw new EditError('ambiguous-edit', `rig "${name}" is declared twice in ${document.file}`, {
      next: NEXT,
    });
  return path;
}

/** Where the agent stands in the file as it is now. @throws EditError `agent-not-found`, `ambiguous-edit` */
export function agentPath(
  document: Pick<SourceDocument, 'data' | 'file'>,
  name: string,
  isManifest: boolean,
): ValuePath {
  if (isManifest) return [];
  const found: ValuePath[] = [];
  for (const section of ['agents', 'agent']) {
    const list = valueAt(document.data, [section]);
    if (!Array.isArray(list)) continue;
    list.forEach((item: unknown, index) => {
      if (!isMap(item) || typeof item['name'] !== 'string') return;
      const dir = typeof item['dir'] === 'string' ? item['dir'] : '';
      if (qualifiedName(dir, '', item['name']) === name) found.push([section, index]);
    });
  }
  const [path, second] = found;
  if (!path) {
    throw new EditError('agent-not-found', `agent "${name}" is no longer in ${document.file}`, {
      next: 'gc reload',
    });
  }
  if (second)
    throw new EditError('ambiguous-edit', `agent "${name}" is declared twice in ${document.file}`, {
      next: NEXT,
    });
  return path;
}

function edited(document: SourceDocument, path: ValuePath, suspended: boolean): string | undefined {
  const current = valueAt(document.data, [...path, 'suspended']);
  if ((current ?? false) === suspended) return undefined;
  const text = suspendedText(
    {
      text: document.text,
      format: document.format,
      layout: document.layoutOf(path),
      isRoot: path.length === 0,
      current,
      isRig: path[0] === 'rigs' || path[0] === 'rig',
    },
    suspended,
  );
  if (text === undefined) throw ambiguous(document, path);
  return text;
}

function ambiguous(document: SourceDocument, path: ValuePath): EditError {
  return new EditError(
    'ambiguous-edit',
    `"suspended" of ${path.join('.') || 'the agent'} in ${document.file} cannot be changed without touching more`,
    { next: NEXT },
  );
}

/** The new text must mean the old data with exactly this one change. */
async function verify(
  document: SourceDocument,
  path: ValuePath,
  suspended: boolean,
  text: string,
): Promise<void> {
  const again = await parseAgain(document, text);
  const now = valueAt(again?.data, [...path, 'suspended']);
  const isRight = (now ?? false) === suspended;
  if (!again || !isRight || !isDeepStrictEqual(without(document.data, path), without(again.data, path))) {
    throw ambiguous(document, path);
  }
}

async function parseAgain(document: SourceDocument, text: string): Promise<SourceDocument | undefined> {
  const parsed = await parseText(document.file, text);
  return parsed.kind === 'parsed' ? parsed.document : undefined;
}

function without(data: unknown, path: ValuePath): unknown {
  const [segment, ...rest] = path;
  if (segment === undefined) {
    const { suspended: _suspended, ...others } = isMap(data) ? data : {};
    return others;
  }
  if (Array.isArray(data))
    return data.map((item: unknown, index) => (index === segment ? without(item, rest) : item));
  if (isMap(data)) return { ...data, [segment]: without(data[segment], rest) };
  return data;
}
