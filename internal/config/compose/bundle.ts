import { isDeepStrictEqual } from 'node:util';
import type { PackCommand, PackDoctor, PackUse, SourcePosition } from '../city.ts';
import { pathText } from '../document/source-document.ts';
import type { RawProvider } from '../schema/schema-provider.ts';
import type { AgentEntry, ServiceEntry, SessionEntry } from './draft.ts';
import type { Entry, Origin } from './entry.ts';

/** What a pack brings together with all that it includes and imports. */
export interface Bundle {
  readonly agents: readonly AgentEntry[];
  readonly namedSessions: readonly SessionEntry[];
  readonly providers: ReadonlyMap<string, Entry<RawProvider>>;
  readonly services: readonly ServiceEntry[];
  readonly commands: readonly PackCommand[];
  readonly doctors: readonly PackDoctor[];
  /** `[global] session_live` of each pack, `{{.ConfigDir}}` already replaced. */
  readonly sessionLive: readonly GlobalLine[];
  /** Included packs before the ones that include them. */
  readonly packDirs: readonly string[];
  readonly requires: readonly Requirement[];
  readonly uses: readonly PackUse[];
  readonly brokenAgents: ReadonlySet<string>;
  /** Something that it needs could not be read, which has been told: what is missed may have been in there. */
  readonly isPartial: boolean;
}

export interface GlobalLine {
  readonly line: string;
  readonly origin: Origin;
}

export interface Requirement {
  readonly scope: 'city' | 'rig';
  readonly agent: string;
  readonly source: SourcePosition;
}

/** All of them, in this order. An earlier provider stays; what comes in twice over a diamond of imports comes once. */
export function joined(bundles: readonly Bundle[]): Bundle {
  const all = <T>(pick: (bundle: Bundle) => Iterable<T>): T[] =>
    bundles.flatMap((bundle) => [...pick(bundle)]);
  return {
    agents: withoutCopies(all(({ agents }) => agents)),
    namedSessions: withoutCopies(all(({ namedSessions }) => namedSessions)),
    providers: new Map(bundles.toReversed().flatMap(({ providers }) => [...providers])),
    services: withoutCopies(all(({ services }) => services)),
    commands: unique(
      all(({ commands }) => commands),
      commandId,
    ),
    doctors: unique(
      all(({ doctors }) => doctors),
      ({ binding, name, run }) => `${binding}\0${name}\0${run}`,
    ),
    sessionLive: unique(
      all(({ sessionLive }) => sessionLive),
      ({ origin: { document, path } }) => `${document.file}\0${pathText(path)}`,
    ),
    packDirs: [...new Set(all(({ packDirs }) => packDirs))],
    requires: unique(
      all(({ requires }) => requires),
      ({ source: { file, line, column } }) => `${file}\0${line}\0${column}`,
    ),
    uses: unique(
      all(({ uses }) => uses),
      ({ dir, via, binding, parent }) => [dir, via, binding, parent].join('\0'),
    ),
    brokenAgents: new Set(all(({ brokenAgents }) => brokenAgents)),
    isPartial: bundles.some(({ isPartial }) => isPartial),
  };
}

const commandId = ({ binding, words, run }: PackCommand) => `${binding}\0${words.join(' ')}\0${run}`;

/**
 * One pack that comes in over two ways (a diamond) brings each of its things once under one name: the patched one, when
 * only one way patches it. Two that are patched differently both stay, for the check of names to tell.
 */
function withoutCopies<E extends Entry<unknown> & { readonly binding: string }>(entries: readonly E[]): E[] {
  const kept = new Map<string, E>();
  for (const entry of entries) {
    const id = copyId(entry);
    const first = kept.get(id);
    if (!first?.changes) kept.set(id, !first || entry.changes ? entry : first);
    else if (entry.changes && !isDeepStrictEqual(first.value, entry.value)) {
      kept.set(`${id}\0${kept.size}`, entry);
    }
  }
  return [...kept.values()];
}

/** The same for all copies of one declaration that go by one name. */
export function copyId({
  document,
  path,
  binding,
  value,
}: Entry<unknown> & { readonly binding: string }): string {
  const dir = typeof value === 'object' && value !== null && 'dir' in value ? String(value.dir) : '';
  return `${document.file}\0${pathText(path)}\0${binding}\0${dir}`;
}

function unique<T>(items: readonly T[], idOf: (item: T) => string): T[] {
  const seen = new Set<string>();
  return items.filter((item) => {
    const id = idOf(item);
    if (seen.has(id)) return false;
    seen.add(id);
    return true;
  });
}

export interface Stamp {
  readonly binding: string;
  /** Whether what already has a binding gets this one. */
  readonly overwrite: boolean;
}

/** The bundle under the name of the import that brings it. Commands and checks keep theirs unless it is exported. */
export function bound(bundle: Bundle, stamp: Stamp, isExported: boolean): Bundle {
  const bind = <E extends { readonly binding: string }>(items: readonly E[], overwrite: boolean): E[] =>
    items.map((item) => (item.binding === '' || overwrite ? { ...item, binding: stamp.binding } : item));
  return {
    ...bundle,
    agents: bind(bundle.agents, stamp.overwrite),
    namedSessions: bind(bundle.namedSessions, stamp.overwrite),
    services: bundle.services,
    commands: bind(bundle.commands, isExported),
    doctors: bind(bundle.doctors, isExported),
  };
}

/** Only what the pack in `dir` itself declares; what it includes stays where it is. */
export function ownOnly(bundle: Bundle, dir: string): Bundle {
  const agents = bundle.agents.filter(({ sourceDir }) => sourceDir === dir);
  const left = new Set(agents.map(({ value, binding }) => `${binding}\0${value.name}`));
  return {
    ...bundle,
    agents,
    // A session whose agent is left out would make the whole city invalid.
    namedSessions: bundle.namedSessions.filter(
      ({ sourceDir, value, binding }) => sourceDir === dir || left.has(`${binding}\0${value.template}`),
    ),
    commands: bundle.commands.filter(({ packDir }) => packDir === dir),
    doctors: bundle.doctors.filter(({ packDir }) => packDir === dir),
  };
}
