import { basename, join } from 'node:path';
import type { Look } from '../document/look.ts';
import { didYouMean, nearest } from '../document/nearest.ts';
import type { ProblemList } from '../document/problems.ts';
import { readDocument } from '../document/read-source.ts';
import { isMap, locate, type SourceDocument } from '../document/source-document.ts';
import { checkSchema } from '../schema/check-schema.ts';
import type { RawAgent, RawNamedSession } from '../schema/schema-agent.ts';
import { MAPS } from '../schema/schema-city.ts';
import type { RawImport } from '../schema/schema-import.ts';
import {
  MAX_PACK_SCHEMA,
  PACK_LISTS,
  PACK_TABLES,
  type RawCommand,
  type RawDoctor,
  type RawPackMeta,
} from '../schema/schema-pack.ts';
import type { RawProvider } from '../schema/schema-provider.ts';
import type { RawService } from '../schema/schema-service.ts';
import type { z } from '../schema/zod.ts';
import {
  type AgentEntry,
  type Belonging,
  checkList,
  checkMap,
  draftPatches,
  type Patches,
  type RawSections,
  type ServiceEntry,
  type SessionEntry,
} from './draft.ts';
import type { Entry } from './entry.ts';

export const PACK_FILES = ['pack.toml', 'pack.yaml', 'pack.yml'] as const;

/** What a pack's own file says, checked key by key. */
export interface PackManifest {
  readonly file: string;
  readonly text: string;
  readonly document: SourceDocument;
  readonly name: string;
  readonly meta: Entry<RawPackMeta>;
  readonly imports: ReadonlyMap<string, Entry<RawImport>>;
  readonly agentDefaults: Entry<RawSections['agent_defaults']>;
  readonly hasAgentDefaults: boolean;
  readonly formulasDir: string;
  readonly agents: readonly AgentEntry[];
  readonly brokenAgents: ReadonlySet<string>;
  readonly namedSessions: readonly SessionEntry[];
  readonly services: readonly ServiceEntry[];
  readonly providers: ReadonlyMap<string, Entry<RawProvider>>;
  readonly patches: Patches;
  readonly commands: readonly Entry<RawCommand>[];
  readonly doctors: readonly Entry<RawDoctor>[];
  readonly sessionLive: readonly string[];
}

export interface ManifestFile {
  readonly file: string;
  readonly second: string | undefined;
}

/** The manifest in a folder, if there is one. */
export function findManifest(dir: string, look: Look): ManifestFile | undefined {
  const found: string[] = [];
  for (const name of PACK_FILES) if (look.kind(join(dir, name)) === 'file') found.push(join(dir, name));
  const [file, second] = found;
  return file === undefined ? undefined : { file, second };
}

/**
 * Reads a pack manifest. `isRoot`: it stands beside the city file and describes the city itself.
 * `undefined` when it cannot be used; the reasons are among the problems.
 */
export async function readManifest(
  { file, second }: ManifestFile,
  dir: string,
  isRoot: boolean,
  problems: ProblemList,
): Promise<PackManifest | undefined> {
  const start = { file, line: 1, column: 1 };
  if (second !== undefined) {
    problems.error(
      'two-manifests',
      `the pack has both ${basename(file)} and ${basename(second)}`,
      start,
      'keep the one that is meant',
    );
    return undefined;
  }
  const { parsed, text } = await readDocument(file);
  if (parsed.kind === 'unreadable') {
    problems.add(parsed.problems);
    return undefined;
  }
  problems.add(parsed.warnings);
  const { document } = parsed;
  const who = isRoot ? `city ${basename(file)}` : basename(file);
  if (!isMap(document.data)) {
    problems.error('wrong-type', `${who} must be a map of tables ([pack] ...)`, start);
    return undefined;
  }
  const name = nameIn(document.data) ?? basename(dir);
  const layer = isRoot ? basename(file) : `pack ${name}`;
  const root: Entry<unknown> = {
    document,
    path: [],
    rootLabel: isRoot ? who : `pack "${name}"`,
    layer,
    value: document.data,
    ...(document.format === 'toml' ? { unknownKeys: 'note' as const } : {}),
  };
  const meta = checkMeta(document.data['pack'], root, who, problems);
  if (!meta) return undefined;
  return { file, text, document, name, meta, ...contentOf(root, document.data, name, dir, isRoot, problems) };
}

function nameIn(data: Record<string, unknown>): string | undefined {
  const pack = data['pack'];
  const name = isMap(pack) ? pack['name'] : undefined;
  return typeof name === 'string' && name !== '' ? name : undefined;
}

/** Source of the words: Gas City pack validation. */
function checkMeta(
  data: unknown,
  root: Entry<unknown>,
  who: string,
  problems: ProblemList,
): Entry<RawPackMeta> | undefined {
  const { document } = root;
  const at = (key?: string) => locate(document, key === undefined ? ['pack'] : ['pack', key], 'value');
  const refuse = (code: string, message: string, key?: string, hint?: string) => {
    problems.error(code, `${who}: ${message}`, at(key), hint);
    return undefined;
  };
  if (!isMap(data)) {
    return refuse(
      'missing-key',
      '[pack] name is required',
      undefined,
      'a pack starts with: [pack] name, schema = 2',
    );
  }
  const value = checkSchema(PACK_TABLES.pack, data, { ...root, path: ['pack'] }, problems);
  if (!value) return undefined;
  // One of a wrong type has been told.
  const isWrong = (key: 'name' | 'schema') => value[key] === undefined && data[key] !== undefined;
  if (isWrong('name') || isWrong('schema')) return undefined;
  if (!value.name) return refuse('missing-key', '[pack] name is required', 'name');
  if (!value.schema) return refuse('missing-key', '[pack] schema is required', 'schema', 'write: schema = 2');
  if (value.schema > MAX_PACK_SCHEMA || value.schema < 0) {
    return refuse(
      'pack-schema',
      `[pack] schema ${value.schema} not supported (max ${MAX_PACK_SCHEMA})`,
      'schema',
    );
  }
  (value.requires ?? []).forEach(({ scope, agent }, index) => {
    const path = ['pack', 'requires', index];
    if (!agent) {
      const message = `${who}: [pack] requires[${index}]: agent is required`;
      problems.error('missing-key', message, locate(document, path));
    } else if (scope !== 'city' && scope !== 'rig') {
      const message = `${who}: [pack] requires[${index}]: scope must be "city" or "rig", got "${scope ?? ''}"`;
      problems.error('bad-value', message, locate(document, [...path, 'scope'], 'value'));
    }
  });
  return { ...root, path: ['pack'], value };
}

const KEYS: Readonly<Record<string, string>> = {
  agent: 'agents',
  named_session: 'named_sessions',
  service: 'services',
  doctor: 'doctors',
  command: 'commands',
  provider: 'providers',
};

function contentOf(
  root: Entry<unknown>,
  data: Record<string, unknown>,
  name: string,
  dir: string,
  isRoot: boolean,
  problems: ProblemList,
) {
  const known = new Set([...Object.keys(PACK_TABLES), ...Object.keys(PACK_LISTS), 'providers']);
  const spelled = new Map<string, string>();
  for (const [key, value] of Object.entries(data)) {
    const canonical = key === 'agents' && isMap(value) ? 'agent_defaults' : (KEYS[key] ?? key);
    if (known.has(canonical) && !spelled.has(canonical)) spelled.set(canonical, key);
    else reportKey(key, spelled.get(canonical), known, root, problems);
  }
  const raw = (canonical: string) => data[spelled.get(canonical) ?? canonical];
  const at = (canonical: string): Entry<unknown> => ({
    ...root,
    path: [spelled.get(canonical) ?? canonical],
  });
  const list = <T>(canonical: keyof typeof PACK_LISTS) =>
    checkList<T>(PACK_LISTS[canonical], raw(canonical), at(canonical), problems);
  const table = <Schema extends z.ZodType>(canonical: string, schema: Schema) =>
    raw(canonical) === undefined ? undefined : checkSchema(schema, raw(canonical), at(canonical), problems);
  const own: Belonging = { binding: '', packName: isRoot ? '' : name, sourceDir: dir };
  const agents = list<RawAgent>('agents');
  return {
    imports: checkMap<RawImport>(MAPS.imports, raw('imports'), at('imports'), problems).entries,
    agentDefaults: {
      ...at('agent_defaults'),
      value: table('agent_defaults', PACK_TABLES.agent_defaults) ?? {},
    },
    hasAgentDefaults: raw('agent_defaults') !== undefined,
    formulasDir: table('formulas', PACK_TABLES.formulas)?.dir ?? '',
    agents: agents.entries.map((entry) => ({ ...entry, ...own, folder: undefined, found: {} })),
    brokenAgents: agents.broken,
    namedSessions: list<RawNamedSession>('named_sessions').entries.map((entry) => ({ ...entry, ...own })),
    services: list<RawService>('services').entries.map((entry) => ({ ...entry, ...own })),
    providers: checkMap<RawProvider>(MAPS.providers, raw('providers'), at('providers'), problems).entries,
    patches: draftPatches(raw('patches'), at('patches'), dir, problems),
    commands: list<RawCommand>('commands').entries,
    doctors: list<RawDoctor>('doctors').entries,
    sessionLive: table('global', PACK_TABLES.global)?.session_live ?? [],
  };
}

function reportKey(
  key: string,
  other: string | undefined,
  known: ReadonlySet<string>,
  root: Entry<unknown>,
  problems: ProblemList,
): void {
  const place = locate(root.document, [key]);
  if (other !== undefined) {
    problems.error(
      'two-spellings',
      `"${key}" and "${other}" are two spellings of one section`,
      place,
      'keep one',
    );
    return;
  }
  const meant = nearest(key, known) === undefined ? '' : didYouMean(key, known);
  problems[root.unknownKeys ?? 'error'](
    'unknown-key',
    `unknown key "${key}" in ${root.rootLabel}${meant}`,
    place,
  );
}

/** What only the city's own manifest may say. The original drops it in silence. */
export function noteIgnored(manifest: PackManifest, problems: ProblemList): void {
  const { document, name, patches, hasAgentDefaults, agentDefaults } = manifest;
  const [rig] = patches.rigs;
  const [provider] = patches.providers;
  const ignored = [
    ...(rig ? [{ what: 'patches.rigs', path: rig.path.slice(0, -1) }] : []),
    ...(provider ? [{ what: 'patches.providers', path: provider.path.slice(0, -1) }] : []),
    ...(hasAgentDefaults ? [{ what: 'agent_defaults', path: agentDefaults.path }] : []),
  ];
  for (const { what, path } of ignored) {
    const message = `${what} in pack "${name}" has no effect`;
    problems.note('ignored-key', message, locate(document, path), 'write it into the city');
  }
}
