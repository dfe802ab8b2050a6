import { nearest } from '../document/nearest.ts';
import type { ProblemList } from '../document/problems.ts';
import { isMap, locate, type SourceDocument, type ValuePath } from '../document/source-document.ts';
import { type CheckedPlace, checkSchema, placeText } from '../schema/check-schema.ts';
import type { RawAgent, RawNamedSession } from '../schema/schema-agent.ts';
import { LISTS, MAPS, SECTION_ALIASES, SECTIONS } from '../schema/schema-city.ts';
import type { RawImport, RawPackSource } from '../schema/schema-import.ts';
import type { RawAgentPatch, RawProviderPatch, RawRigPatch } from '../schema/schema-patch.ts';
import type { RawProvider } from '../schema/schema-provider.ts';
import type { RawRig } from '../schema/schema-sections.ts';
import type { RawService } from '../schema/schema-service.ts';
import type { z } from '../schema/zod.ts';
import type { Entry } from './entry.ts';

/** What every agent, session and service knows about where it came from. */
export interface Belonging {
  /** The import that brought it; `''` for the city's own. */
  readonly binding: string;
  readonly packName: string;
  /** Absolute: what `{{.ConfigDir}}` means, and where relative paths start. */
  readonly sourceDir: string;
}

/** An agent of a file (`folder` undefined) or of a folder under `agents/`. */
export interface AgentEntry extends Entry<RawAgent>, Belonging {
  /** The agent's own folder under `agents/`, absolute, when it was declared there. */
  readonly folder: string | undefined;
  /** Files found by convention; they stand in for the keys of the same meaning. */
  readonly found: { readonly prompt?: string; readonly overlay?: string; readonly namepool?: string };
  readonly implicit?: true;
  /** Who changed `sleep_after_idle` last. */
  readonly sleepSource?: 'agent_patch' | 'rig_override';
}

export interface SessionEntry extends Entry<RawNamedSession>, Belonging {}
export interface ServiceEntry extends Entry<RawService>, Belonging {}

/** A change of an agent with the folder that relative paths in it start from. */
export interface PatchEntry<T> extends Entry<T> {
  readonly sourceDir: string;
}

export type RawSections = { readonly [Name in keyof typeof SECTIONS]: z.infer<(typeof SECTIONS)[Name]> };
export type Sections = { readonly [Name in keyof typeof SECTIONS]: Entry<RawSections[Name]> };

/** Names whose declaration is too broken to use: references to them are not reported a second time. */
export interface BrokenNames {
  readonly agents: ReadonlySet<string>;
  readonly rigs: ReadonlySet<string>;
  readonly providers: ReadonlySet<string>;
}

/** Everything read from the files, checked key by key but not yet as a whole. */
export interface Draft {
  readonly document: SourceDocument;
  readonly layer: string;
  readonly sections: Sections;
  /** The sections that the file really has. */
  readonly written: ReadonlySet<keyof Sections>;
  readonly include: readonly Entry<string>[];
  readonly imports: ReadonlyMap<string, Entry<RawImport>>;
  readonly packSources: ReadonlyMap<string, Entry<RawPackSource>>;
  readonly agents: readonly AgentEntry[];
  readonly namedSessions: readonly SessionEntry[];
  readonly rigs: readonly Entry<RawRig>[];
  readonly services: readonly ServiceEntry[];
  readonly providers: ReadonlyMap<string, Entry<RawProvider>>;
  readonly patches: Patches;
  readonly broken: BrokenNames;
}

export interface Patches {
  readonly agents: readonly PatchEntry<RawAgentPatch>[];
  readonly rigs: readonly Entry<RawRigPatch>[];
  readonly providers: readonly Entry<RawProviderPatch>[];
}

export const CITY_LABEL = 'the city file';

export interface DraftOptions {
  /** What the file is called in sentences about it. */
  readonly rootLabel: string;
  readonly layer: string;
  /** Absolute: where relative paths of its agents start. */
  readonly sourceDir: string;
}

/** Checks a parsed city file, or a fragment of one, section by section. Agents of folders and packs are added later. */
export function draftCity(document: SourceDocument, options: DraftOptions, problems: ProblemList): Draft {
  const { layer, sourceDir, rootLabel } = options;
  const root: Entry<unknown> = {
    document,
    path: [],
    rootLabel,
    layer,
    value: document.data,
    ...(document.format === 'toml' ? { unknownKeys: 'warning' as const } : {}),
  };
  const { raw, spelling } = canonicalSections(root, problems);
  const at = (name: string): Entry<unknown> => ({ ...root, path: [spelling.get(name) ?? name] });
  const sections = Object.entries(SECTIONS).map(([name, schema]) => {
    const data = raw.get(name);
    const value = data === undefined ? {} : (checkSchema(schema, data, at(name), problems) ?? {});
    return [name, { ...at(name), value }] as const;
  });
  const list = <T>(name: keyof typeof LISTS): ListResult<T> =>
    checkList<T>(LISTS[name], raw.get(name), at(name), problems);
  const map = <T>(name: keyof typeof MAPS): MapResult<T> =>
    checkMap<T>(MAPS[name], raw.get(name), at(name), problems);
  const own: Belonging = { binding: '', packName: '', sourceDir };
  const agents = list<RawAgent>('agents');
  const rigs = list<RawRig>('rigs');
  const providers = map<RawProvider>('providers');
  return {
    document,
    layer,
    // The schemas of the table above are what the type says.
    sections: Object.fromEntries(sections) as unknown as Sections,
    written: new Set([...raw.keys()].filter((name): name is keyof Sections => name in SECTIONS)),
    include: list<string>('include').entries,
    imports: map<RawImport>('imports').entries,
    packSources: map<RawPackSource>('packs').entries,
    agents: agents.entries.map((entry) => ({ ...entry, ...own, folder: undefined, found: {} })),
    namedSessions: list<RawNamedSession>('named_sessions').entries.map((entry) => ({ ...entry, ...own })),
    rigs: rigs.entries,
    services: list<RawService>('services').entries.map((entry) => ({ ...entry, ...own })),
    providers: providers.entries,
    patches: draftPatches(raw.get('patches'), at('patches'), sourceDir, problems),
    broken: { agents: agents.broken, rigs: rigs.broken, providers: providers.broken },
  };
}

/** The `patches` table of a city file, a fragment or a pack. */
export function draftPatches(
  data: unknown,
  place: Entry<unknown>,
  sourceDir: string,
  problems: ProblemList,
): Patches {
  if (data === undefined) return { agents: [], rigs: [], providers: [] };
  if (!isMap(data)) {
    wrongShape(place, 'must be a map of agent, rigs and providers', problems);
    return { agents: [], rigs: [], providers: [] };
  }
  const known = ['agent', 'agents', 'rigs', 'providers'];
  for (const key of Object.keys(data)) {
    if (known.includes(key)) continue;
    const close = nearest(key, known);
    problems[place.unknownKeys ?? 'error'](
      'unknown-key',
      `unknown key "${key}" in ${placeText(place)}${close === undefined ? '' : `; did you mean "${close}"?`}`,
      locate(place.document, [...place.path, key]),
    );
  }
  const list = <T>(key: string, name: keyof typeof LISTS) =>
    checkList<T>(LISTS[name], data[key], { ...place, path: [...place.path, key] }, problems).entries;
  const agents = [
    ...list<RawAgentPatch>('agent', 'agent_patches'),
    ...list<RawAgentPatch>('agents', 'agent_patches'),
  ];
  return {
    agents: agents.map((entry) => ({ ...entry, sourceDir })),
    rigs: list<RawRigPatch>('rigs', 'rig_patches'),
    providers: list<RawProviderPatch>('providers', 'provider_patches'),
  };
}

const FILE_TABLES = ['patches'] as const;

/** Top-level keys under their own names; unknown and doubly spelled ones are reported. */
function canonicalSections(root: Entry<unknown>, problems: ProblemList) {
  const raw = new Map<string, unknown>();
  const spelling = new Map<string, string>();
  if (!isMap(root.document.data)) {
    problems.error(
      'wrong-type',
      `${root.rootLabel} must be a map of sections (workspace, agents, named_sessions ...)`,
      locate(root.document, [], 'value'),
    );
    return { raw, spelling };
  }
  const lists = ['include', 'agents', 'named_sessions', 'rigs', 'services'];
  const known = [...Object.keys(SECTIONS), ...lists, ...Object.keys(MAPS), ...FILE_TABLES];
  for (const [key, value] of Object.entries(root.document.data)) {
    const name = canonicalName(key, value);
    if (!known.includes(name)) {
      reportUnknownTop(key, known, root, problems);
      continue;
    }
    const other = spelling.get(name);
    if (other !== undefined) {
      problems.error(
        'two-spellings',
        `"${key}" and "${other}" are two spellings of one section`,
        locate(root.document, [key]),
        `keep one of them`,
      );
      continue;
    }
    spelling.set(name, key);
    raw.set(name, value);
  }
  return { raw, spelling };
}

function reportUnknownTop(
  key: string,
  known: readonly string[],
  root: CheckedPlace,
  problems: ProblemList,
): void {
  const section = nearest(key, [...known, 'agent', 'named_session', 'service']);
  const ofWorkspace = nearest(key, Object.keys(SECTIONS.workspace.shape));
  const meant = section ?? (ofWorkspace === undefined ? undefined : `workspace.${ofWorkspace}`);
  problems[root.unknownKeys ?? 'error'](
    'unknown-key',
    `unknown key "${key}" in ${root.rootLabel}${meant === undefined ? '' : `; did you mean "${meant}"?`}`,
    locate(root.document, [key]),
  );
}

function canonicalName(key: string, value: unknown): string {
  if (key === 'agents' && isMap(value)) return 'agent_defaults';
  if (key === 'provider' && !isMap(value)) return key;
  return SECTION_ALIASES[key] ?? key;
}

interface ListResult<T> {
  readonly entries: readonly Entry<T>[];
  readonly broken: ReadonlySet<string>;
}

/** The items of a list, each checked for itself. */
export function checkList<T>(
  schema: z.ZodType,
  data: unknown,
  place: Entry<unknown>,
  problems: ProblemList,
): ListResult<T> {
  const broken = new Set<string>();
  const entries: Entry<T>[] = [];
  if (data === undefined) return { entries, broken };
  if (!Array.isArray(data)) {
    wrongShape(place, data === null ? 'has no value' : 'must be a list', problems);
    return { entries, broken };
  }
  data.forEach((item: unknown, index) => {
    const here = { ...place, path: [...place.path, index] };
    const value = checkSchema(schema, item, here, problems);
    // The caller pairs the schema with the type.
    if (value !== undefined) entries.push({ ...here, value: value as T });
    else if (isMap(item) && typeof item['name'] === 'string') broken.add(item['name']);
  });
  return { entries, broken };
}

interface MapResult<T> {
  readonly entries: ReadonlyMap<string, Entry<T>>;
  readonly broken: ReadonlySet<string>;
}

/** The values of a map, each checked for itself. */
export function checkMap<T>(
  schema: z.ZodType,
  data: unknown,
  place: Entry<unknown>,
  problems: ProblemList,
): MapResult<T> {
  const entries = new Map<string, Entry<T>>();
  const broken = new Set<string>();
  if (data === undefined) return { entries, broken };
  if (!isMap(data)) {
    wrongShape(place, 'must be a map of names', problems);
    return { entries, broken };
  }
  for (const [name, written] of Object.entries(data)) {
    const path: ValuePath = [...place.path, name];
    const value = checkSchema(schema, written, { ...place, path }, problems);
    // The caller pairs the schema with the type.
    if (value === undefined) broken.add(name);
    else entries.set(name, { ...place, path, value: value as T });
  }
  return { entries, broken };
}

function wrongShape(place: CheckedPlace, what: string, problems: ProblemList): void {
  problems.error('wrong-type', `${placeText(place)} ${what}`, locate(place.document, place.path, 'value'));
}
