import { basename, dirname, join } from 'node:path';
import { codeOf, messageOf } from '../platform/errors.ts';
import type { Environment } from '../platform/paths.ts';
import type { Agent, City, ConfigProblem, Rig } from './city.ts';
import { readAgentFolders } from './compose/agent-folders.ts';
import { buildAgent, buildNamedSession, buildRig } from './compose/build-agents.ts';
import { buildProvider, buildSections } from './compose/build-sections.ts';
import type { BuiltAgent } from './compose/built-agent.ts';
import { type AgentEntry, type Draft, draftCity } from './compose/draft.ts';
import { checkPackFile } from './compose/pack-file.ts';
import { provenanceOf } from './compose/provenance.ts';
import { revisionOf, watchSet } from './compose/revision.ts';
import { ProblemList } from './document/problems.ts';
import { CITY_FILE_NAMES, findCityFile, pathKind, readDocument } from './document/read-source.ts';
import { locate, type SourceDocument } from './document/source-document.ts';
import { dependencyOf } from './validate/dependencies.ts';
import { validateAgents, warnHooks } from './validate/validate-agents.ts';
import { validateProviders } from './validate/validate-providers.ts';
import { validateNamedSessions, validateRigs, validateSessionNames } from './validate/validate-sessions.ts';
import { validateInlineTemplates, validatePrompts } from './validate/validate-templates.ts';

export type LoadResult =
  | {
      readonly kind: 'ok';
      readonly city: City;
      /** As below: warnings have frames too. */
      readonly texts: ReadonlyMap<string, string>;
      readonly watch: readonly string[];
    }
  | {
      readonly kind: 'invalid';
      /** The city file, or where one was looked for. */
      readonly file: string;
      /** All of them, errors first. */
      readonly problems: readonly ConfigProblem[];
      /** Texts that were read, by file: for code frames. */
      readonly texts: ReadonlyMap<string, string>;
      readonly watch: readonly string[];
    };

export interface LoadOptions {
  /** Only `HOME` is used, for `~` in rig paths. */
  readonly env: Environment;
}

/**
 * Reads and checks a city: its file (`city.yaml`, `city.yml` or `city.toml`), `agents/`, prompts. Never throws for what
 * a person wrote: every problem is in the answer, each with its place.
 */
export async function loadCity(dirOrFile: string, options: LoadOptions): Promise<LoadResult> {
  const found = await findCityFile(dirOrFile);
  if (found.kind === 'missing') {
    const watch = CITY_FILE_NAMES.map((name) => join(found.file, name));
    return { kind: 'invalid', file: found.file, problems: found.problems, texts: new Map(), watch };
  }
  const { file } = found;
  const root = dirname(file);
  const problems = new ProblemList();
  const texts = new Map<string, string>();
  const sources = [file];
  const { parsed, text } = await readDocument(file);
  texts.set(file, text);
  const invalid = (): LoadResult => ({
    kind: 'invalid',
    file,
    problems: problems.sorted(),
    texts,
    watch: watchSet(root, sources),
  });
  if (parsed.kind === 'unreadable') {
    problems.add(parsed.problems);
    return invalid();
  }
  problems.add(parsed.warnings);
  if (isEmpty(parsed.document)) {
    problems.error(
      'empty',
      'the city file is empty',
      { file, line: 1, column: 1 },
      'make a city with: gc init',
    );
    return invalid();
  }
  try {
    const city = await assemble(parsed.document, root, options, problems, sources, texts);
    if (problems.hasErrors) return invalid();
    const revision = await revisionOf(root, city.sources);
    return {
      kind: 'ok',
      city: { ...city, revision, warnings: problems.warnings },
      texts,
      watch: watchSet(root, city.sources),
    };
  } catch (error) {
    // A folder that cannot be listed may hold agents: never load a city without them.
    const path = pathOf(error);
    if (path === undefined) throw error;
    problems.error('unreadable', `cannot be read: ${messageOf(error)}`, { file: path, line: 1, column: 1 });
    return invalid();
  }
}

/** The path that a system error is about. */
function pathOf(error: unknown): string | undefined {
  const hasPath = codeOf(error) !== undefined && error instanceof Error && 'path' in error;
  return hasPath && typeof error.path === 'string' ? error.path : undefined;
}

function isEmpty({ data }: SourceDocument): boolean {
  return data === null || data === undefined || (typeof data === 'object' && Object.keys(data).length === 0);
}

type Assembled = Omit<City, 'revision' | 'warnings'>;

async function assemble(
  document: SourceDocument,
  root: string,
  { env }: LoadOptions,
  problems: ProblemList,
  sources: string[],
  texts: Map<string, string>,
): Promise<Assembled> {
  const { file } = document;
  let draft = draftCity(document, problems);
  await checkPackFile(root, sources, problems);
  const folders = await readAgentFolders(root, draft, problems);
  for (const [path, text] of folders.texts) {
    sources.push(path);
    texts.set(path, text);
  }
  draft = withBroken(draft, folders.broken);
  const entries: readonly AgentEntry[] = [...folders.agents, ...folders.completed];
  const sections = buildSections(draft, basename(root));
  warnSections(draft, problems);
  const context = { root, defaults: sections.agentDefaults, problems, sources };
  const built: BuiltAgent[] = [];
  for (const entry of entries) built.push({ entry, agent: await buildAgent(entry, context) });
  const rigs = draft.rigs.map((entry) => buildRig(entry, root, env['HOME']));
  const providers = Object.fromEntries(
    [...draft.providers].map(([name, entry]) => [name, buildProvider(entry.value)]),
  );
  const namedSessions = draft.namedSessions.map(buildNamedSession);
  const agents = withDependencies(built.map(({ agent }) => agent));
  const checked = { ...sections, providers, rigs, root };
  validateRigs(rigs, checked, problems);
  await warnRigFolders(rigs, problems);
  validateProviders(draft, checked, problems);
  validateAgents(built, draft, checked, problems);
  validateNamedSessions(namedSessions, agents, draft.broken.agents, root, problems);
  validateSessionNames(checked, namedSessions, agents, problems);
  validateInlineTemplates(built, draft, problems);
  for (const [path, text] of await validatePrompts(built, checked, problems)) {
    sources.push(path);
    texts.set(path, text);
  }
  return {
    ...checked,
    file,
    agents,
    namedSessions,
    sources: [...new Set(sources)],
    provenance: provenanceOf(draft, {
      agents: entries,
      named_sessions: draft.namedSessions,
      rigs: draft.rigs,
    }),
  };
}

function withBroken(draft: Draft, agents: ReadonlySet<string>): Draft {
  return { ...draft, broken: { ...draft.broken, agents: new Set([...draft.broken.agents, ...agents]) } };
}

/** Dependencies by qualified name. Unknown ones are reported elsewhere. */
function withDependencies(agents: readonly Agent[]): readonly Agent[] {
  const known = new Set(agents.map((agent) => agent.qualifiedName));
  return agents.map((agent) => ({
    ...agent,
    dependsOn: agent.dependsOn.map((written) => dependencyOf(agent, written, known) ?? written),
  }));
}

async function warnRigFolders(rigs: readonly Rig[], problems: ProblemList): Promise<void> {
  for (const rig of rigs) {
    if ((await pathKind(rig.path)) === 'folder') continue;
    problems.warning('rig-not-found', `rig "${rig.name}": there is no folder ${rig.path}`, rig.source);
  }
}

function warnSections(draft: Draft, problems: ProblemList): void {
  const { workspace, daemon, agent_defaults: defaults } = draft.sections;
  const at = (section: string, key: string) =>
    locate(draft.document, [draft.spelling.get(section) ?? section, key]);
  warnHooks(workspace.install_agent_hooks ?? [], at('workspace', 'install_agent_hooks'), problems);
  for (const entry of draft.agents) {
    const place = locate(entry.document, [...entry.path, 'install_agent_hooks']);
    warnHooks(entry.value.install_agent_hooks ?? [], place, problems);
  }
  if (daemon.graph_workflows !== undefined) {
    problems.warning(
      'deprecated-key',
      'daemon.graph_workflows is the old name of daemon.formula_v2',
      at('daemon', 'graph_workflows'),
    );
  }
  for (const key of ['skills', 'mcp'] as const) {
    if (defaults[key] === undefined) continue;
    const place = at('agent_defaults', key);
    problems.warning(
      'deprecated-key',
      `agent_defaults.${key} is read by nothing any more`,
      place,
      'remove it',
    );
  }
}
