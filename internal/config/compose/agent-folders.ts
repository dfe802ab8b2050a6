import { basename, join } from 'node:path';
import type { SourcePosition } from '../city.ts';
import type { Look } from '../document/look.ts';
import type { ProblemList } from '../document/problems.ts';
import { readDocument } from '../document/read-source.ts';
import { locate, type SourceDocument } from '../document/source-document.ts';
import { checkSchema } from '../schema/check-schema.ts';
import { agentManifestSchema, type RawAgent } from '../schema/schema-agent.ts';
import { MAX_NAME_LENGTH, NAME_PATTERN } from '../schema/schema-common.ts';
import type { AgentEntry, Belonging } from './draft.ts';
import type { Entry } from './entry.ts';
import type { Guard } from './guard.ts';
import { isInside } from './outside.ts';

export const AGENTS_FOLDER = 'agents';
const MANIFESTS = ['agent.toml', 'agent.yaml', 'agent.yml'] as const;
/** First one found wins. Source: Gas City pack discovery. */
const PROMPT_FILES = ['prompt.template.md', 'prompt.md.tmpl', 'prompt.md'] as const;

export interface FolderAgents {
  /** Declared by folders, in the order of their names. */
  readonly agents: readonly AgentEntry[];
  /** What folders without a manifest lend to the agents of their name that a file declares. */
  readonly lent: ReadonlyMap<string, AgentEntry['found']>;
  readonly texts: ReadonlyMap<string, string>;
  /** Names of folders whose manifest is too broken to use. */
  readonly broken: ReadonlySet<string>;
}

export interface FolderOptions extends Belonging {
  readonly look: Look;
  /** `city.yaml`, `pack gastown`: who speaks in `agents/`. */
  readonly layer: string;
  /** Names that the manifest beside `agents/` declares. */
  readonly declared: ReadonlySet<string>;
  /** A pack's folders must not lead out of it. */
  readonly guard?: Guard;
}

/**
 * Reads `agents/<name>/`. A folder is an agent of its own unless the file beside it declares one of that name; then it
 * lends it prompt, overlay and name pool, and in a city a manifest in it is a second declaration.
 */
export async function readAgentFolders(
  root: string,
  options: FolderOptions,
  problems: ProblemList,
): Promise<FolderAgents> {
  const texts = new Map<string, string>();
  const broken = new Set<string>();
  const agents: AgentEntry[] = [];
  const lent = new Map<string, AgentEntry['found']>();
  const home = join(root, AGENTS_FOLDER);
  if (!isInside(home, options.guard, problems)) return { agents, lent, texts, broken };
  for (const name of options.look.names(home)) {
    const folder = join(home, name);
    if (/^[._]/.test(name) || options.look.kind(folder) !== 'folder') continue;
    if (!isInside(folder, options.guard, problems)) {
      broken.add(name);
      continue;
    }
    const names = options.look.names(folder);
    const manifests = MANIFESTS.filter((file) => names.includes(file));
    const found = conventionFiles(folder, names, options, problems);
    const [manifest, second] = manifests;
    const isDeclared = options.declared.has(name);
    if (isDeclared && (manifest === undefined || options.packName !== '')) {
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
    const entry = await readFolder(name, folder, manifest, found, options, texts, problems);
    if (entry) agents.push(entry);
    else broken.add(name);
  }
  return { agents, lent, texts, broken };
}

function conventionFiles(
  folder: string,
  all: readonly string[],
  { guard, look }: FolderOptions,
  problems: ProblemList,
): AgentEntry['found'] {
  const names = all.filter((name) => {
    const isConvention = [...PROMPT_FILES, 'overlay', 'namepool.txt'].includes(name);
    return !isConvention || isInside(join(folder, name), guard, problems);
  });
  const prompt = PROMPT_FILES.find((file) => names.includes(file));
  const hasOverlay = names.includes('overlay') && look.kind(join(folder, 'overlay')) === 'folder';
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
  options: FolderOptions,
  texts: Map<string, string>,
  problems: ProblemList,
): Promise<AgentEntry | undefined> {
  const { layer, binding, packName, sourceDir, guard } = options;
  const own = { rootLabel: `agent "${name}"`, layer, binding, packName, sourceDir };
  if (manifest === undefined) {
    return { ...own, document: emptyDocument(folder), path: [], value: { name }, folder, found };
  }
  const file = join(folder, manifest);
  if (!isInside(file, guard, problems)) return undefined;
  const { parsed, text } = await readDocument(file);
  texts.set(file, text);
  if (parsed.kind === 'unreadable') {
    problems.add(parsed.problems);
    return undefined;
  }
  problems.add(parsed.warnings);
  const data = parsed.document.data ?? {};
  const place: Entry<unknown> = {
    ...own,
    document: parsed.document,
    path: [],
    value: data,
    ...(parsed.document.format === 'toml' ? { unknownKeys: 'note' as const } : {}),
  };
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
  return { ...place, ...own, value: agent, folder, found };
}

function warnShadowed(
  place: Entry<unknown>,
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
