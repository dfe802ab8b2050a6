import { basename, join } from 'node:path';
import type { SourcePosition } from '../city.ts';
import type { ProblemList } from '../document/problems.ts';
import { namesIn, pathKind, readDocument } from '../document/read-source.ts';
import { locate, type SourceDocument } from '../document/source-document.ts';
import { type CheckedPlace, checkSchema } from '../schema/check-schema.ts';
import { agentManifestSchema, type RawAgent } from '../schema/schema-agent.ts';
import { MAX_NAME_LENGTH, NAME_PATTERN } from '../schema/schema-common.ts';
import type { AgentEntry, Draft } from './draft.ts';

export const AGENTS_FOLDER = 'agents';
const MANIFESTS = ['agent.toml', 'agent.yaml', 'agent.yml'] as const;
/** First one found wins. Source: Gas City pack discovery. */
const PROMPT_FILES = ['prompt.template.md', 'prompt.md.tmpl', 'prompt.md'] as const;

export interface FolderAgents {
  /** Declared by folders, in the order of their names. */
  readonly agents: readonly AgentEntry[];
  /** Agents of the city file, completed by the folder of their name where there is one without a manifest. */
  readonly completed: readonly AgentEntry[];
  readonly texts: ReadonlyMap<string, string>;
  /** Names of folders whose manifest is too broken to use. */
  readonly broken: ReadonlySet<string>;
}

/**
 * Reads `agents/<name>/`. A folder is an agent of its own unless the city file declares one of that name; then it
 * lends it prompt, overlay and name pool, and a manifest in it is a second declaration.
 */
export async function readAgentFolders(
  root: string,
  draft: Draft,
  problems: ProblemList,
): Promise<FolderAgents> {
  const texts = new Map<string, string>();
  const broken = new Set<string>();
  const agents: AgentEntry[] = [];
  const lent = new Map<string, AgentEntry['found']>();
  const declared = new Set([...draft.agents.map((entry) => entry.value.name), ...draft.broken.agents]);
  const home = join(root, AGENTS_FOLDER);
  for (const name of await namesIn(home)) {
    const folder = join(home, name);
    if (/^[._]/.test(name) || (await pathKind(folder)) !== 'folder') continue;
    const names = await namesIn(folder);
    const manifests = MANIFESTS.filter((file) => names.includes(file));
    const found = await conventionFiles(folder, names);
    const [manifest, second] = manifests;
    if (manifest === undefined && declared.has(name)) {
      lent.set(name, found);
      continue;
    }
    const at: SourcePosition = { file: manifest ? join(folder, manifest) : folder, line: 1, column: 1 };
    if (!NAME_PATTERN.test(name) || name.length > MAX_NAME_LENGTH) {
      problems.error(
        'bad-value',
        `the folder's name "${name}" is not a usable agent name`,
        at,
        'letters, digits, "_" and "-"; a folder that is no agent may start with "_" or "."',
      );
      broken.add(name);
      continue;
    }
    if (second !== undefined) {
      problems.error(
        'two-manifests',
        `agent "${name}" has both ${manifests.join(' and ')}`,
        at,
        'keep one of them',
      );
      broken.add(name);
      continue;
    }
    const entry = await readFolder(name, folder, manifest, found, texts, problems);
    if (entry) agents.push(entry);
    else broken.add(name);
  }
  const completed = draft.agents.map((entry) => ({ ...entry, found: lent.get(entry.value.name) ?? {} }));
  return { agents, completed, texts, broken };
}

async function conventionFiles(folder: string, names: readonly string[]): Promise<AgentEntry['found']> {
  const prompt = PROMPT_FILES.find((file) => names.includes(file));
  const hasOverlay = names.includes('overlay') && (await pathKind(join(folder, 'overlay'))) === 'folder';
  return {
    ...(prompt === undefined ? {} : { prompt: join(folder, prompt) }),
    ...(hasOverlay ? { overlay: join(folder, 'overlay') } : {}),
    ...(names.includes('namepool.txt') ? { namepool: join(folder, 'namepool.txt') } : {}),
  };
}

async function readFolder(
  name: string,
  folder: string,
  manifest: string | undefined,
  found: AgentEntry['found'],
  texts: Map<string, string>,
  problems: ProblemList,
): Promise<AgentEntry | undefined> {
  const rootLabel = `agent "${name}"`;
  if (manifest === undefined) {
    return { document: emptyDocument(folder), path: [], rootLabel, value: { name }, folder, found };
  }
  const file = join(folder, manifest);
  const { parsed, text } = await readDocument(file);
  texts.set(file, text);
  if (parsed.kind === 'unreadable') {
    problems.add(parsed.problems);
    return undefined;
  }
  problems.add(parsed.warnings);
  const place: CheckedPlace = { document: parsed.document, path: [], rootLabel };
  const data = parsed.document.data ?? {};
  const value = checkSchema(agentManifestSchema, data, place, problems);
  if (value === undefined) return undefined;
  const agent: RawAgent = { ...value, name };
  if (value.name !== undefined && value.name !== name) {
    problems.warning(
      'ignored-key',
      `name "${value.name}" is ignored: the folder "${basename(folder)}" gives the agent its name`,
      locate(parsed.document, ['name']),
    );
  }
  warnShadowed(place, agent, found, problems);
  return { ...place, value: agent, folder, found };
}

function warnShadowed(
  place: CheckedPlace,
  agent: RawAgent,
  found: AgentEntry['found'],
  problems: ProblemList,
): void {
  const pairs = [
    ['prompt_template', found.prompt],
    ['overlay_dir', found.overlay],
    ['namepool', found.namepool],
  ] as const;
  for (const [key, file] of pairs) {
    if (file === undefined || agent[key] === undefined) continue;
    problems.warning(
      'ignored-key',
      `${key} is ignored: ${basename(file)} in the agent's folder is used`,
      locate(place.document, [key]),
    );
  }
}

function emptyDocument(folder: string): SourceDocument {
  return {
    file: folder,
    format: 'toml',
    text: '',
    data: {},
    spanOf: () => undefined,
    layoutOf: () => undefined,
  };
}
