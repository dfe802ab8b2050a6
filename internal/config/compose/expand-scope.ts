import type { RawImport } from '../schema/schema-import.ts';
import { type Bundle, joined } from './bundle.ts';
import type { AgentEntry, SessionEntry } from './draft.ts';
import { type Entry, placeOf } from './entry.ts';
import {
  byName,
  type ExpandContext,
  importedBundle,
  type PackExpander,
  useOf,
  withUse,
} from './expand-pack.ts';
import { withoutFallbacks } from './fallbacks.ts';
import { IMPLICIT_LAYER } from './implicit-imports.ts';

/** Packs of the city or of one rig. */
export interface Scope {
  /** `''`: the city. */
  readonly rig: string;
  readonly includes: readonly Entry<string>[];
  readonly imports: ReadonlyMap<string, Entry<RawImport>>;
}

export interface SystemPack {
  readonly name: string;
  readonly dir: string;
}

/**
 * Everything that the packs of a scope bring: includes in their order, system packs that no pack of that name makes
 * needless, imports by name. Agents and sessions of other scopes are left out. Source: Gas City pack expansion.
 */
export async function expandScope(
  scope: Scope,
  systemPacks: readonly SystemPack[],
  expander: PackExpander,
  context: ExpandContext,
): Promise<Bundle> {
  const { problems, root } = context;
  const includes: Bundle[] = [];
  let isPartial = false;
  for (const include of scope.includes) {
    const place = placeOf(include, [], 'value');
    const source = include.value;
    const located = await context.locatePack({ source, baseDir: root });
    if (located.kind === 'missing') {
      problems.warning(
        'pack-skipped',
        `pack "${source}" is left out: ${located.message}`,
        place,
        located.next,
      );
      continue;
    }
    const found = await expander.take(located.dir, place);
    if (found) includes.push(withUse(found.bundle, useOf(found, source, 'include', '', root)));
    else isPartial = true;
  }
  const imports: Bundle[] = [];
  for (const [binding, entry] of [...scope.imports].sort(byName)) {
    const bundle = await importInto(scope, binding, entry, expander, root);
    if (bundle) imports.push(bundle);
    else isPartial = true;
  }
  const reachable = new Set([...includes, ...imports].flatMap(({ uses }) => uses.map(({ name }) => name)));
  const system: Bundle[] = [];
  for (const { name, dir } of systemPacks) {
    if (reachable.has(name)) continue;
    const place = { file: dir, line: 1, column: 1 };
    const found = await expander.take(dir, place);
    if (found)
      system.push(withUse(found.bundle, useOf(found, `.gc/system/packs/${name}`, 'system', '', root)));
  }
  const all = joined([...includes, ...system, ...imports]);
  reportServices(all, scope, context);
  return inScope({ ...all, isPartial: all.isPartial || isPartial }, scope.rig, context);
}

async function importInto(
  scope: Scope,
  binding: string,
  entry: Entry<RawImport>,
  expander: PackExpander,
  root: string,
): Promise<Bundle | undefined> {
  const { source, version } = entry.value;
  const label = scope.rig === '' ? `city import "${binding}"` : `rig "${scope.rig}" import "${binding}"`;
  const place = placeOf(entry, ['source'], 'value');
  const found = await expander.follow({ source, version, baseDir: root }, label, place);
  if (!found) return undefined;
  const via = entry.layer === IMPLICIT_LAYER ? 'implicit' : 'import';
  const use = useOf(found, source, via, binding, root);
  return importedBundle(found, { binding, overwrite: true }, entry.value, use);
}

function reportServices(bundle: Bundle, scope: Scope, { problems }: ExpandContext): void {
  for (const service of bundle.services) {
    const place = placeOf(service, ['name'], 'value');
    if (scope.rig !== '') {
      const message = `rig "${scope.rig}": [[service]] is only allowed in city-scoped packs (service "${service.value.name}")`;
      problems.error('service-in-rig', message, place, 'import the pack into the city');
    } else if (service.value.publish_mode === 'direct') {
      const message = `service "${service.value.name}": packs may not set publish_mode=direct`;
      problems.error('service-direct', message, placeOf(service, ['publish_mode'], 'value'));
    }
  }
}

function inScope(bundle: Bundle, rig: string, context: ExpandContext): Bundle {
  const wanted = rig === '' ? 'city' : 'rig';
  const isHere = ({ value }: AgentEntry | SessionEntry) => !value.scope || value.scope === wanted;
  const agents = bundle.agents.filter(isHere).map((entry) => inDir(entry, rig));
  return {
    ...bundle,
    agents: withoutFallbacks(agents, wanted, context),
    namedSessions: bundle.namedSessions.filter(isHere).map((entry) => inDir(entry, rig)),
    doctors: bundle.doctors.map((doctor) => ({ ...doctor, rig })),
    uses: bundle.uses.map((use) => ({ ...use, rig })),
  };
}

function inDir<E extends AgentEntry | SessionEntry>(entry: E, rig: string): E {
  return rig === '' || entry.value.dir ? entry : { ...entry, value: { ...entry.value, dir: rig } };
}
