import { basename, dirname, join } from 'node:path';
import { codeOf, messageOf } from '../platform/errors.ts';
import { type Environment, gcHome } from '../platform/paths.ts';
import { isBeadProvider } from './bead-provider.ts';
import type { Agent, City, ConfigProblem, PackCommand, Rig } from './city.ts';
import { buildAgent, buildNamedSession, buildRig } from './compose/build-agents.ts';
import { buildProvider, buildSections } from './compose/build-sections.ts';
import { buildService } from './compose/build-service.ts';
import type { BuiltAgent } from './compose/built-agent.ts';
import { composeCity } from './compose/compose-city.ts';
import { CITY_LABEL, type Draft, draftCity } from './compose/draft.ts';
import { placeOf } from './compose/entry.ts';
import type { ReadLog } from './compose/pack-shelf.ts';
import { provenanceOf } from './compose/provenance.ts';
import { revisionOf, watchSet } from './compose/revision.ts';
import { Look } from './document/look.ts';
import { ProblemList } from './document/problems.ts';
import { CITY_FILE_NAMES, findCityFile, pathKind, readDocument } from './document/read-source.ts';
import type { SourceDocument } from './document/source-document.ts';
import { dependencyOf } from './validate/dependencies.ts';
import { validateAgents, warnHooks } from './validate/validate-agents.ts';
import { validateApi } from './validate/validate-api.ts';
import { validateProviders } from './validate/validate-providers.ts';
import { validateServices } from './validate/validate-services.ts';
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
  /**
   * `HOME` for `~` and fetched packs, `GC_HOME` for imports of this machine; `GC_BEADS` says before the city file where the
   * work is, and so which system packs are wanted.
   */
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
  const log: ReadLog = { look: new Look(), texts: new Map(), sources: new Set([file]) };
  const { texts } = log;
  const { parsed, text } = await readDocument(file);
  texts.set(file, text);
  const invalid = (): LoadResult => ({
    kind: 'invalid',
    file,
    problems: problems.sorted(),
    texts,
    watch: watchSet(root, [...log.sources]),
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
    const city = await assemble(parsed.document, root, options, problems, log);
    if (problems.hasErrors) return invalid();
    const revision = revisionOf(root, city.sources, texts);
    return {
      kind: 'ok',
      city: { ...city, revision, warnings: problems.warnings, notes: problems.notes },
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

type Assembled = Omit<City, 'revision' | 'warnings' | 'notes'>;

async function assemble(
  document: SourceDocument,
  root: string,
  { env }: LoadOptions,
  problems: ProblemList,
  log: ReadLog,
): Promise<Assembled> {
  const { file } = document;
  const labels = { rootLabel: CITY_LABEL, layer: basename(file), sourceDir: root };
  const home = env['HOME'] ?? root;
  const options = { root, home, gcHome: gcHome(env), beadProvider: env['GC_BEADS'] || undefined };
  const composed = await composeCity(draftCity(document, labels, problems), options, log, problems);
  const { draft, layers } = composed;
  const sections = withBeads(buildSections(draft, basename(root)), options.beadProvider);
  warnSections(draft, problems);
  const { guard } = composed;
  const context = {
    root,
    defaults: sections.agentDefaults,
    problems,
    sources: log.sources,
    guard,
    look: log.look,
  };
  const built: BuiltAgent[] = [];
  for (const entry of draft.agents) built.push({ entry, agent: await buildAgent(entry, context) });
  const rigs = draft.rigs.map((entry) => buildRig(entry, root, env['HOME']));
  const providers = Object.fromEntries(
    [...draft.providers].map(([name, entry]) => [name, buildProvider(entry.value)]),
  );
  const namedSessions = draft.namedSessions.map(buildNamedSession);
  const services = draft.services.map(buildService);
  const agents = withDependencies(built.map(({ agent }) => agent));
  const checked = { ...sections, providers, rigs, root, layers };
  validateRigs(rigs, checked, problems);
  await warnRigFolders(rigs, problems);
  validateApi(draft.sections.api, sections.api, problems);
  validateServices(draft.services, services, problems);
  validateProviders(draft, checked, problems);
  validateAgents(built, draft, checked, problems);
  validateNamedSessions(namedSessions, agents, draft.broken.agents, root, problems);
  validateSessionNames(checked, namedSessions, agents, problems);
  validateInlineTemplates(built, draft, problems);
  for (const [path, text] of await validatePrompts(built, checked, problems, log.look)) {
    log.sources.add(path);
    log.texts.set(path, text);
  }
  return {
    ...checked,
    file,
    agents,
    namedSessions,
    services,
    packs: composed.uses,
    commands: sortedCommands(composed.commands),
    doctors: composed.doctors,
    skillsDir: composed.skillsDir,
    mcpDir: composed.mcpDir,
    sources: [file, ...[...log.sources].filter((source) => source !== file)],
    provenance: provenanceOf(draft),
  };
}

function withBeads<S extends Pick<City, 'beads'>>(sections: S, provider: string | undefined): S {
  if (provider === undefined || !isBeadProvider(provider) || provider === sections.beads.provider)
    return sections;
  return { ...sections, beads: { provider, unused: sections.beads.provider } };
}

/** Shallow ones first, then by words; of two that are called the same the first stays. Source: Gas City pack commands. */
function sortedCommands(commands: readonly PackCommand[]): readonly PackCommand[] {
  const called = new Map<string, PackCommand>();
  for (const command of commands) {
    const name = [command.binding || command.packName, ...command.words].join(' ');
    if (!called.has(name)) called.set(name, command);
  }
  return [...called]
    .sort(([a, first], [b, second]) => first.words.length - second.words.length || (a < b ? -1 : 1))
    .map(([, command]) => ({ ...command, binding: command.binding || command.packName }));
}

/** Dependencies by qualified name. Unknown ones are reported elsewhere. */
function withDependencies(agents: readonly Agent[]): readonly Agent[] {
  const known = new Set(agents.map((agent) => agent.qualifiedName));
  return agents.map((agent) =>
    agent.dependsOn.length === 0
      ? agent
      : {
          ...agent,
          dependsOn: agent.dependsOn.map((written) => dependencyOf(agent, written, known) ?? written),
        },
  );
}

async function warnRigFolders(rigs: readonly Rig[], problems: ProblemList): Promise<void> {
  for (const rig of rigs) {
    if ((await pathKind(rig.path)) === 'folder') continue;
    problems.warning('rig-not-found', `rig "${rig.name}": there is no folder ${rig.path}`, rig.source);
  }
}

function warnSections({ sections, agents }: Draft, problems: ProblemList): void {
  const { workspace, daemon, agent_defaults: defaults } = sections;
  const { install_agent_hooks: hooks = [] } = workspace.value;
  if (hooks.length > 0) warnHooks(hooks, placeOf(workspace, ['install_agent_hooks']), problems);
  for (const entry of agents) {
    const own = entry.value.install_agent_hooks ?? [];
    if (own.length > 0) warnHooks(own, placeOf(entry, ['install_agent_hooks']), problems);
  }
  if (daemon.value.graph_workflows !== undefined) {
    problems.warning(
      'deprecated-key',
      'daemon.graph_workflows is the old name of daemon.formula_v2',
      placeOf(daemon, ['graph_workflows']),
    );
  }
  for (const key of ['skills', 'mcp'] as const) {
    if (defaults.value[key] === undefined) continue;
    const place = placeOf(defaults, [key]);
    problems.warning(
      'deprecated-key',
      `agent_defaults.${key} is read by nothing any more`,
      place,
      'remove it',
    );
  }
}
