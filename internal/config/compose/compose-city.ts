import { dirname, join, resolve } from 'node:path';
import { GcError } from '../../platform/errors.ts';
import type { Layers, PackCommand, PackDoctor, PackUse, ScopedFolders, SourcePosition } from '../city.ts';
import type { Look } from '../document/look.ts';
import type { ProblemList } from '../document/problems.ts';
import { readDocument } from '../document/read-source.ts';
import { parseSource } from '../remote/source.ts';
import type { RawImport } from '../schema/schema-import.ts';
import type { RawRig } from '../schema/schema-sections.ts';
import { overrideAgents, patchAgents, patchProviders, patchRigs } from './apply-patches.ts';
import type { Bundle, GlobalLine, Requirement } from './bundle.ts';
import { type AgentEntry, CITY_LABEL, type Draft, draftCity, type SessionEntry } from './draft.ts';
import { changed, type Entry, originOf, placeOf } from './entry.ts';
import { type ExpandContext, PackExpander } from './expand-pack.ts';
import { expandScope, type SystemPack } from './expand-scope.ts';
import { withoutFallbacks } from './fallbacks.ts';
import { Guard } from './guard.ts';
import { implicitAgents } from './implicit-agents.ts';
import { withImplicitImports } from './implicit-imports.ts';
import { PackLocator } from './locate-pack.ts';
import { mergeFragment } from './merge-fragment.ts';
import { contributed, PackShelf, type ReadLog } from './pack-shelf.ts';
import { readOwnCity } from './root-pack.ts';

export interface ComposeOptions {
  readonly root: string;
  readonly home: string;
  /** What `GC_BEADS` or the city file says holds the work; decides which system packs are wanted. */
  readonly beadProvider: string | undefined;
  /** Where imports of every city of this machine are named; absent: there are none. */
  readonly gcHome: string | undefined;
}

/** The city with all its fragments and packs, patched; not yet judged as a whole. */
export interface Composed {
  readonly draft: Draft;
  readonly commands: readonly PackCommand[];
  readonly doctors: readonly PackDoctor[];
  readonly uses: readonly PackUse[];
  readonly layers: Layers;
  /** What agents of packs may read. */
  readonly guard: Guard;
  readonly skillsDir: string;
  readonly mcpDir: string;
}

const SYSTEM_PACKS = join('.gc', 'system', 'packs');
const WORKER_PROMPTS = join(SYSTEM_PACKS, 'core', 'assets', 'prompts');

/** City file + own manifest + fragments + packs of the city and its rigs + patches. Source: Gas City load pipeline. */
export async function composeCity(
  file: Draft,
  options: ComposeOptions,
  log: ReadLog,
  problems: ProblemList,
): Promise<Composed> {
  const { root } = options;
  const own = await readOwnCity(root, file, log, problems);
  let draft = await withFragments(own.draft, root, log, problems);
  draft = { ...draft, rigs: patchRigs(draft, problems) };
  const repositories = new Map<string, string>();
  if (options.gcHome !== undefined) {
    const imports = await withImplicitImports(draft.imports, options.gcHome, repositories, log, problems);
    draft = { ...draft, imports };
  }
  const { look } = log;
  const guard = new Guard([root], look);
  const locator = new PackLocator({
    root,
    home: options.home,
    packSources: draft.packSources,
    guard,
    repositories,
    log,
  });
  const shelf = new PackShelf(guard, log, problems);
  const context: ExpandContext = { shelf, problems, root, locatePack: (request) => locator.locate(request) };
  const expander = new PackExpander(context);
  const city = await expandScope(
    { rig: '', includes: includesOf(draft.sections.workspace), imports: draft.imports },
    systemPacks(root, look, options.beadProvider ?? draft.sections.beads.value.provider ?? ''),
    expander,
    context,
  );
  const rigs: { readonly rig: Entry<RawRig>; readonly bundle: Bundle }[] = [];
  for (const rig of draft.rigs) {
    const scope = { rig: rig.value.name, includes: includesOf(rig), imports: rigImports(rig) };
    rigs.push({ rig, bundle: await expandScope(scope, [], expander, context) });
  }
  warnShadows(draft, city, problems);
  const bundles = [city, ...rigs.map(({ bundle }) => bundle)];
  const providers = new Map([
    ...bundles.toReversed().flatMap((bundle) => [...bundle.providers]),
    ...draft.providers,
  ]);
  draft = { ...draft, providers };
  draft = { ...draft, providers: patchProviders(draft, problems) };
  draft = withAgents(draft, city, rigs, own.requires, root, look, problems);
  return {
    draft,
    commands: [...own.commands, ...city.commands],
    doctors: [...own.doctors, ...bundles.flatMap(({ doctors }) => doctors)],
    uses: bundles.flatMap(({ uses }) => uses),
    layers: await layersOf(draft, city, rigs, root, shelf, look),
    guard,
    skillsDir: own.skillsDir,
    mcpDir: own.mcpDir,
  };
}

async function withFragments(city: Draft, root: string, log: ReadLog, problems: ProblemList): Promise<Draft> {
  let merged = city;
  for (const include of city.include) {
    const path = include.value;
    const file = path.startsWith('//') ? join(root, path.slice(2)) : resolve(root, path);
    const place = placeOf(include, [], 'value');
    log.sources.add(file);
    const kind = log.look.kind(file);
    if (kind !== 'file') {
      reportNoFragment(
        path,
        kind === 'folder' ? 'this is a folder' : `there is no file ${file}`,
        place,
        problems,
      );
      continue;
    }
    const { parsed, text } = await readDocument(file);
    log.texts.set(file, text);
    if (parsed.kind === 'unreadable') {
      problems.add(parsed.problems);
      continue;
    }
    problems.add(parsed.warnings);
    const labels = { rootLabel: `the fragment "${path}"`, layer: path, sourceDir: dirname(file) };
    const fragment = draftCity(parsed.document, labels, problems);
    const [inner] = fragment.include;
    if (inner) {
      const message = `fragment "${path}": includes are not allowed in fragments (no recursive includes)`;
      problems.error('nested-include', message, placeOf(inner, []), `name it in ${CITY_LABEL}`);
    }
    merged = mergeFragment(merged, fragment, problems);
  }
  return merged;
}

/** Fragments are never fetched; the original reads them from fetched repositories too. */
function reportNoFragment(path: string, what: string, place: SourcePosition, problems: ProblemList): void {
  const message = (why: string) => `loading fragment "${path}": ${why}`;
  if (isRemote(path)) {
    const next = 'copy it beside the city file, or make a pack of it';
    problems.error('fragment-not-found', message('a fragment is a file of this machine'), place, next);
    return;
  }
  const next = 'a folder is a pack: name it under workspace.includes';
  problems.error('fragment-not-found', message(what), place, next);
}

function isRemote(source: string): boolean {
  try {
    return parseSource(source).kind !== 'local';
  } catch (error) {
    if (error instanceof GcError) return true; // Only what looks remote is refused.
    throw error;
  }
}

function includesOf(
  table: Entry<{ readonly includes?: readonly string[] | undefined }>,
): readonly Entry<string>[] {
  return (table.value.includes ?? []).map((value, index) => ({
    ...table,
    ...originOf(table, ['includes', index]),
    value,
  }));
}

function rigImports(rig: Entry<RawRig>): ReadonlyMap<string, Entry<RawImport>> {
  const imports = Object.entries(rig.value.imports ?? {});
  return new Map(
    imports.map(([name, value]) => [name, { ...rig, path: [...rig.path, 'imports', name], value }]),
  );
}

/** Packs that the program brings, where they have been written out. Source: Gas City system packs. */
function systemPacks(root: string, look: Look, beadProvider: string): readonly SystemPack[] {
  const wanted = ['core', 'maintenance'];
  if (beadProvider === 'bd') wanted.push('bd');
  if (/^exec:(.*\/)?gc-beads-bd(\.sh)?$/.test(beadProvider)) wanted.push('dolt');
  const found: SystemPack[] = [];
  for (const name of wanted) {
    const dir = join(root, SYSTEM_PACKS, name);
    if (look.kind(join(dir, 'pack.toml')) === 'file') found.push({ name, dir });
  }
  return found;
}

function warnShadows(draft: Draft, city: Bundle, problems: ProblemList): void {
  for (const entry of draft.agents) {
    if (entry.value.dir) continue;
    const shadowed = city.agents.find(
      ({ binding, value }) => binding !== '' && value.name === entry.value.name,
    );
    const source = shadowed && draft.imports.get(shadowed.binding);
    if (!shadowed || !source || source.value.shadow === 'silent') continue;
    problems.warning(
      'shadowed-agent',
      `city agent "${entry.value.name}" shadows agent of the same name from import "${shadowed.binding}"`,
      placeOf(entry, ['name'], 'value'),
      'set shadow = "silent" on the import when that is meant',
    );
  }
}

interface RigBundle {
  readonly rig: Entry<RawRig>;
  readonly bundle: Bundle;
}

/** All agents and sessions in one list, patched: packs of the city, the city's own, packs of rigs, implicit ones. */
function withAgents(
  draft: Draft,
  city: Bundle,
  rigs: readonly RigBundle[],
  required: readonly Requirement[],
  root: string,
  look: Look,
  problems: ProblemList,
): Draft {
  const all = withoutFallbacks(
    [...city.agents, ...draft.agents, ...rigs.flatMap(({ bundle }) => bundle.agents)],
    'city',
    { root, problems },
  );
  const implicit = implicitAgents(draft, all, root, workerPrompt(draft, root, look));
  const broken = new Set([
    ...draft.broken.agents,
    ...city.brokenAgents,
    ...rigs.flatMap(({ bundle }) => [...bundle.brokenAgents]),
  ]);
  let agents: readonly AgentEntry[] = [...all, ...implicit.agents];
  const isPartial = city.isPartial || rigs.some(({ bundle }) => bundle.isPartial);
  const missing = { isKnown: (name: string) => isPartial || broken.has(name), problems };
  agents = patchAgents(agents, draft.patches.agents, root, missing);
  for (const { rig, bundle } of rigs) {
    const ofRig = { isKnown: (name: string) => bundle.isPartial || broken.has(name), problems };
    agents = overrideAgents(agents, rig, root, ofRig);
  }
  agents = agents.map((entry) => withGlobals(entry, city, rigs));
  reportRequirements(agents, { ...city, requires: [...required, ...city.requires] }, rigs, broken, problems);
  const namedSessions: readonly SessionEntry[] = [
    ...city.namedSessions,
    ...draft.namedSessions,
    ...rigs.flatMap(({ bundle }) => bundle.namedSessions),
    ...implicit.namedSessions,
  ];
  const services = [...draft.services, ...city.services];
  return { ...draft, agents, namedSessions, services, broken: { ...draft.broken, agents: broken } };
}

/** What an agent without a prompt of its own works by, once the core pack is there. */
function workerPrompt(draft: Draft, root: string, look: Look): string {
  const { daemon } = draft.sections;
  const isGraph = daemon.value.formula_v2 === true || daemon.value.graph_workflows === true;
  const file = join(root, WORKER_PROMPTS, isGraph ? 'graph-worker.md' : 'pool-worker.md');
  return look.kind(file) === 'file' ? file : '';
}

/** Lines of the city's packs go to every agent, those of a rig's packs to the rig's. Implicit agents take none. */
function withGlobals(entry: AgentEntry, city: Bundle, rigs: readonly RigBundle[]): AgentEntry {
  if (entry.implicit) return entry;
  const ofRig = rigs.find(({ rig }) => rig.value.name === entry.value.dir)?.bundle.sessionLive ?? [];
  const lines: readonly GlobalLine[] = [...city.sessionLive, ...ofRig];
  if (lines.length === 0) return entry;
  const before = entry.value.session_live ?? [];
  const origins = lines.map(
    ({ origin }, index) => [`session_live[${before.length + index}]`, origin] as const,
  );
  const session_live = [...before, ...lines.map(({ line }) => line)];
  return changed(entry, { ...entry.value, session_live }, Object.fromEntries(origins));
}

function reportRequirements(
  agents: readonly AgentEntry[],
  city: Bundle,
  rigs: readonly RigBundle[],
  broken: ReadonlySet<string>,
  problems: ProblemList,
): void {
  const has = (dir: string | undefined, name: string) =>
    broken.has(name) || agents.some(({ value }) => (value.dir || undefined) === dir && value.name === name);
  for (const { scope, agent, source } of city.requires) {
    if (scope !== 'city' || city.isPartial || has(undefined, agent)) continue;
    const message = `pack requires city agent "${agent}" — include a pack that provides it`;
    problems.error('pack-requires', message, source);
  }
  for (const { rig, bundle } of rigs) {
    for (const { scope, agent, source } of bundle.requires) {
      if (scope !== 'rig' || bundle.isPartial || has(rig.value.name, agent)) continue;
      const message = `rig "${rig.value.name}": pack requires rig agent "${agent}" — include a pack that provides it`;
      problems.error('pack-requires', message, source);
    }
  }
}

/** Source: Gas City formula, overlay and script layers. */
async function layersOf(
  draft: Draft,
  city: Bundle,
  rigs: readonly RigBundle[],
  root: string,
  shelf: PackShelf,
  look: Look,
): Promise<Layers> {
  const folders = async (dirs: readonly string[]) => {
    const packs = await Promise.all([...new Set(dirs)].map((dir) => shelf.take(dir)));
    return packs.flatMap((pack) => (pack ? [pack] : []));
  };
  const cityPacks = await folders(city.packDirs);
  const own = contributed(root, draft.sections.formulas.value.dir ?? '', look);
  const rigPacks = await Promise.all(
    rigs.map(async ({ rig, bundle }) => ({ rig: rig.value, packs: await folders(bundle.packDirs) })),
  );
  const there = (paths: readonly string[]) => [...new Set(paths.filter((path) => path !== ''))];
  const scoped = (
    ofCity: readonly string[],
    ofRig: (rig: (typeof rigPacks)[number]) => readonly string[],
  ): ScopedFolders => ({
    city: there(ofCity),
    rigs: Object.fromEntries(rigPacks.map((each) => [each.rig.name, there(ofRig(each))])),
  });
  const formulas = [...cityPacks.map(({ folders: { formulas: path } }) => path), own.formulas];
  return {
    packDirs: scoped(
      cityPacks.map(({ dir }) => dir),
      ({ packs }) => packs.map(({ dir }) => dir),
    ),
    overlays: scoped([...cityPacks.map(({ folders: { overlay } }) => overlay), own.overlay], ({ packs }) =>
      packs.map(({ folders: { overlay } }) => overlay),
    ),
    scripts: scoped(
      cityPacks.flatMap(({ folders: { scripts } }) => scripts),
      ({ packs }) => packs.flatMap(({ folders: { scripts } }) => scripts),
    ),
    formulas: scoped(formulas, ({ rig, packs }) => [
      ...formulas,
      ...packs.map(({ folders: { formulas: path } }) => path),
      rig.formulas_dir ? resolve(root, rig.formulas_dir) : '',
    ]),
  };
}
