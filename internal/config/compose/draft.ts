import { nearest } from '../document/nearest.ts';
import type { ProblemList } from '../document/problems.ts';
import { isMap, locate, type SourceDocument, type ValuePath } from '../document/source-document.ts';
import { type CheckedPlace, checkSchema, placeText } from '../schema/check-schema.ts';
import type { RawAgent, RawNamedSession } from '../schema/schema-agent.ts';
import { LISTS, SECTION_ALIASES, SECTIONS } from '../schema/schema-city.ts';
import { providerSchema, type RawProvider } from '../schema/schema-provider.ts';
import type { RawRig } from '../schema/schema-sections.ts';
import type { z } from '../schema/zod.ts';

/** A table of the file that holds together, and where it stands. */
export interface Entry<T> extends CheckedPlace {
  readonly value: T;
}

/** An agent of the city file (`root` undefined) or of a folder under `agents/`. */
export interface AgentEntry extends Entry<RawAgent> {
  /** The agent's own folder under `agents/`, absolute, when it was declared there. */
  readonly folder: string | undefined;
  /** Files found by convention; they stand in for the keys of the same meaning. */
  readonly found: { readonly prompt?: string; readonly overlay?: string; readonly namepool?: string };
}

export type Sections = { readonly [Name in keyof typeof SECTIONS]: z.infer<(typeof SECTIONS)[Name]> };

/** Everything read from the files, checked key by key but not yet as a whole. */
export interface Draft {
  readonly document: SourceDocument;
  readonly sections: Sections;
  /** Section or list -> the spelling that the file uses. */
  readonly spelling: ReadonlyMap<string, string>;
  readonly agents: readonly AgentEntry[];
  readonly namedSessions: readonly Entry<RawNamedSession>[];
  readonly rigs: readonly Entry<RawRig>[];
  readonly providers: ReadonlyMap<string, Entry<RawProvider>>;
  /** Names whose declaration is too broken to use: references to them are not reported a second time. */
  readonly broken: {
    readonly agents: ReadonlySet<string>;
    readonly rigs: ReadonlySet<string>;
    readonly providers: ReadonlySet<string>;
  };
}

export const CITY_LABEL = 'the city file';

const COMPOSITION_HINT =
  'packs, imports, includes and patches are not supported yet by this version: write the agents into the city file';
const SERVICES_HINT = 'services are not supported yet by this version';

/** Keys of the format that a later version brings, by the section they stand in (`''`: top level). */
const UNSUPPORTED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '': {
    include: COMPOSITION_HINT,
    packs: COMPOSITION_HINT,
    imports: COMPOSITION_HINT,
    patches: COMPOSITION_HINT,
    pack: COMPOSITION_HINT,
    service: SERVICES_HINT,
    services: SERVICES_HINT,
  },
  workspace: { includes: COMPOSITION_HINT, default_rig_includes: COMPOSITION_HINT },
  rigs: {
    includes: COMPOSITION_HINT,
    imports: COMPOSITION_HINT,
    overrides: COMPOSITION_HINT,
    patches: COMPOSITION_HINT,
  },
};

/** Checks the parsed city file section by section. Agents of folders are added later. */
export function draftCity(document: SourceDocument, problems: ProblemList): Draft {
  const root: CheckedPlace = { document, path: [], rootLabel: CITY_LABEL };
  const spelling = new Map<string, string>();
  const raw = canonicalSections(root, spelling, problems);
  const sections: Partial<Record<string, unknown>> = {};
  for (const [name, schema] of Object.entries(SECTIONS)) {
    const written = spelling.get(name);
    const data = raw.get(name);
    if (written === undefined || data === undefined) {
      sections[name] = {};
      continue;
    }
    const place = { ...root, path: [written] };
    sections[name] =
      checkSchema(schema, withoutUnsupported(name, data, place, problems), place, problems) ?? {};
  }
  const list = <T>(name: keyof typeof LISTS): ListResult<T> =>
    checkList<T>(name, raw.get(name), { ...root, path: [spelling.get(name) ?? name] }, problems);
  const agents = list<RawAgent>('agents');
  const rigs = list<RawRig>('rigs');
  const providers = checkProviders(
    raw.get('providers'),
    { ...root, path: [spelling.get('providers') ?? 'providers'] },
    problems,
  );
  return {
    document,
    sections: sections as Sections,
    spelling,
    agents: agents.entries.map((entry) => ({ ...entry, folder: undefined, found: {} })),
    namedSessions: list<RawNamedSession>('named_sessions').entries,
    rigs: rigs.entries,
    providers: providers.entries,
    broken: { agents: agents.broken, rigs: rigs.broken, providers: providers.broken },
  };
}

/** Top-level keys under their own names; unknown, unsupported and doubly spelled ones are reported. */
function canonicalSections(
  root: CheckedPlace,
  spelling: Map<string, string>,
  problems: ProblemList,
): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>();
  if (!isMap(root.document.data)) {
    problems.error(
      'wrong-type',
      'a city file is a map of sections (workspace, agents, named_sessions ...)',
      locate(root.document, [], 'value'),
    );
    return found;
  }
  const data = withoutUnsupported('', root.document.data, root, problems);
  const known = [...Object.keys(SECTIONS), ...Object.keys(LISTS), 'providers'];
  for (const [key, value] of Object.entries(isMap(data) ? data : {})) {
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
    found.set(name, value);
  }
  return found;
}

function reportUnknownTop(
  key: string,
  known: readonly string[],
  root: CheckedPlace,
  problems: ProblemList,
): void {
  const section = nearest(key, [...known, 'agent', 'named_session']);
  const ofWorkspace = nearest(key, Object.keys(SECTIONS.workspace.shape));
  const meant = section ?? (ofWorkspace === undefined ? undefined : `workspace.${ofWorkspace}`);
  problems.error(
    'unknown-key',
    `unknown key "${key}" in ${CITY_LABEL}${meant === undefined ? '' : `; did you mean "${meant}"?`}`,
    locate(root.document, [key]),
  );
}

function canonicalName(key: string, value: unknown): string {
  if (key === 'agents' && isMap(value)) return 'agent_defaults';
  if (key === 'provider' && !isMap(value)) return key;
  return SECTION_ALIASES[key] ?? key;
}

function withoutUnsupported(
  section: string,
  data: unknown,
  place: CheckedPlace,
  problems: ProblemList,
): unknown {
  const unsupported = UNSUPPORTED[section];
  if (!unsupported || !isMap(data)) return data;
  const rest = { ...data };
  for (const [key, hint] of Object.entries(unsupported)) {
    if (!Object.hasOwn(rest, key)) continue;
    const value = rest[key];
    delete rest[key];
    const isEmpty = Array.isArray(value)
      ? value.length === 0
      : isMap(value) && Object.keys(value).length === 0;
    if (isEmpty) continue;
    problems.error(
      'unsupported-key',
      `"${key}" in ${placeText(place)} is not supported yet`,
      locate(place.document, [...place.path, key]),
      hint,
    );
  }
  return rest;
}

interface ListResult<T> {
  readonly entries: readonly Entry<T>[];
  readonly broken: ReadonlySet<string>;
}

function checkList<T>(
  name: keyof typeof LISTS,
  data: unknown,
  place: CheckedPlace,
  problems: ProblemList,
): ListResult<T> {
  const broken = new Set<string>();
  const entries: Entry<T>[] = [];
  if (data === undefined) return { entries, broken };
  if (!Array.isArray(data)) {
    const shown = data === null ? 'has no value' : 'must be a list';
    problems.error('wrong-type', `${placeText(place)} ${shown}`, locate(place.document, place.path, 'value'));
    return { entries, broken };
  }
  data.forEach((item: unknown, index) => {
    const here: CheckedPlace = { ...place, path: [...place.path, index] };
    const value = checkSchema(LISTS[name], withoutUnsupported(name, item, here, problems), here, problems);
    // The schema of this list is what T stands for; the table above pairs them.
    if (value !== undefined) entries.push({ ...here, value: value as T });
    else if (isMap(item) && typeof item['name'] === 'string') broken.add(item['name']);
  });
  return { entries, broken };
}

function checkProviders(
  data: unknown,
  place: CheckedPlace,
  problems: ProblemList,
): { entries: ReadonlyMap<string, Entry<RawProvider>>; broken: ReadonlySet<string> } {
  const entries = new Map<string, Entry<RawProvider>>();
  const broken = new Set<string>();
  if (data === undefined) return { entries, broken };
  if (!isMap(data)) {
    problems.error(
      'wrong-type',
      `${placeText(place)} must be a map of names to providers`,
      locate(place.document, place.path, 'value'),
    );
    return { entries, broken };
  }
  for (const [name, written] of Object.entries(data)) {
    const path: ValuePath = [...place.path, name];
    const value = checkSchema(providerSchema, written, { ...place, path }, problems);
    if (value === undefined) broken.add(name);
    else entries.set(name, { ...place, path, value });
  }
  return { entries, broken };
}
