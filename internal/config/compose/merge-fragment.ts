import { isDeepStrictEqual } from 'node:util';
import type { ProblemList } from '../document/problems.ts';
import type { RawProvider } from '../schema/schema-provider.ts';
import type { Draft, Sections } from './draft.ts';
import { changed, type Entry, type Origin, originOf, placeOf } from './entry.ts';

/** Keys of `workspace` that a fragment may set, add to, or not touch. Source: Gas City fragment merge. */
const WORKSPACE_REPLACED = [
  'name',
  'provider',
  'start_command',
  'session_template',
  'install_agent_hooks',
] as const;
const WORKSPACE_ADDED = ['includes', 'default_rig_includes', 'global_fragments'] as const;
/** Sections that a fragment replaces as a whole when it has them. */
const REPLACED = [
  'beads',
  'dolt',
  'formulas',
  'daemon',
  'session',
  'mail',
  'events',
  'orders',
  'api',
  'convergence',
] as const;
const PROVIDER_FIELDS = [
  'display_name',
  'command',
  'prompt_mode',
  'prompt_flag',
  'ready_delay_ms',
  'ready_prompt_prefix',
  'emits_permission_warning',
  'args',
  'process_names',
] as const;

/** The city with a fragment on top of it. What the fragment says and cannot say is reported. */
export function mergeFragment(city: Draft, fragment: Draft, problems: ProblemList): Draft {
  reportIgnored(fragment, problems);
  return {
    ...city,
    sections: mergeSections(city, fragment, problems),
    written: new Set([...city.written, ...fragment.written]),
    packSources: mergeMaps('pack', city.packSources, fragment.packSources, problems),
    agents: [...city.agents, ...fragment.agents],
    namedSessions: [...city.namedSessions, ...fragment.namedSessions],
    rigs: [...city.rigs, ...fragment.rigs],
    services: [...city.services, ...fragment.services],
    providers: mergeProviders(city.providers, fragment, problems),
    patches: {
      agents: [...city.patches.agents, ...fragment.patches.agents],
      rigs: [...city.patches.rigs, ...fragment.patches.rigs],
      providers: [...city.patches.providers, ...fragment.patches.providers],
    },
    broken: {
      agents: new Set([...city.broken.agents, ...fragment.broken.agents]),
      rigs: new Set([...city.broken.rigs, ...fragment.broken.rigs]),
      providers: new Set([...city.broken.providers, ...fragment.broken.providers]),
    },
  };
}

/** The original drops these in silence; people should know. */
function reportIgnored(fragment: Draft, problems: ProblemList): void {
  const tell = (what: string, entry: Entry<unknown>, keys: readonly string[] = []) => {
    const message = `${what} in a fragment has no effect`;
    problems.warning('ignored-key', message, placeOf(entry, keys), 'write it into the city file');
  };
  for (const [name, entry] of fragment.imports) tell(`imports.${name}`, entry);
  if (fragment.written.has('chat_sessions')) tell('chat_sessions', fragment.sections.chat_sessions);
  const { workspace } = fragment.sections;
  for (const key of ['prefix', 'suspended', 'max_active_sessions'] as const) {
    if (workspace.value[key] !== undefined) tell(`workspace.${key}`, workspace, [key]);
  }
}

function mergeSections(city: Draft, fragment: Draft, problems: ProblemList): Sections {
  const replaced = REPLACED.filter((name) => fragment.written.has(name)).map((name) => [
    name,
    fragment.sections[name],
  ]);
  return {
    ...city.sections,
    ...Object.fromEntries(replaced),
    workspace: mergeWorkspace(city, fragment, problems),
    session_sleep: replaceKeys(
      city.sections.session_sleep,
      fragment.sections.session_sleep,
      Object.keys(fragment.sections.session_sleep.value),
      (key) => redefined(`session_sleep.${key}`, fragment, fragment.sections.session_sleep, [key], problems),
    ),
    agent_defaults: mergeDefaults(city.sections.agent_defaults, fragment.sections.agent_defaults),
  };
}

function mergeWorkspace(city: Draft, fragment: Draft, problems: ProblemList): Sections['workspace'] {
  const from = fragment.sections.workspace;
  const keys = WORKSPACE_REPLACED.filter((key) => from.value[key] !== undefined);
  const replaced = replaceKeys(city.sections.workspace, from, keys, (key) =>
    redefined(`workspace.${key}`, fragment, from, [key], problems),
  );
  return addToLists(replaced, from, WORKSPACE_ADDED);
}

/** Scalars of the second win, lists are joined. Source: Gas City agent defaults merge. */
export function mergeDefaults(
  base: Sections['agent_defaults'],
  top: Sections['agent_defaults'],
): Sections['agent_defaults'] {
  const scalars = Object.entries(top.value).flatMap(([key, value]) => (Array.isArray(value) ? [] : [key]));
  const replaced = replaceKeys(base, top, scalars, () => {});
  return addToLists(replaced, top, ['allow_overlay', 'allow_env_override', 'append_fragments']);
}

/** Sets the named keys as the second entry has them. `redefine` hears of those that were set to something else. */
function replaceKeys<E extends Entry<object>>(
  base: E,
  top: E,
  keys: readonly string[],
  redefine: (key: string) => void,
): E {
  const value: Record<string, unknown> = { ...base.value };
  const given: Record<string, unknown> = { ...top.value };
  const origins: Record<string, Origin> = {};
  for (const key of keys) {
    if (value[key] !== undefined && !isDeepStrictEqual(value[key], given[key])) redefine(key);
    value[key] = given[key];
    origins[key] = originOf(top, [key]);
  }
  return changed(base, value, origins);
}

function addToLists<E extends Entry<object>>(base: E, top: E, keys: readonly string[]): E {
  const value: Record<string, unknown> = { ...base.value };
  const given: Record<string, unknown> = { ...top.value };
  const origins: Record<string, Origin> = {};
  for (const key of keys) {
    const added = given[key];
    const before = value[key];
    if (!Array.isArray(added)) continue;
    const list: unknown[] = Array.isArray(before) ? [...before] : [];
    added.forEach((item: unknown, index) => {
      if (list.includes(item)) return;
      origins[`${key}[${list.length}]`] = originOf(top, [key, index]);
      list.push(item);
    });
    value[key] = list;
    if (before === undefined) origins[key] = originOf(top, [key]);
  }
  return changed(base, value, origins);
}

function mergeProviders(
  base: Draft['providers'],
  fragment: Draft,
  problems: ProblemList,
): ReadonlyMap<string, Entry<RawProvider>> {
  const merged = new Map(base);
  for (const [name, entry] of fragment.providers) {
    const there = merged.get(name);
    if (!there) {
      merged.set(name, entry);
      continue;
    }
    const label = `provider "${name}"`;
    const fields = PROVIDER_FIELDS.filter((key) => entry.value[key] !== undefined);
    for (const key of Object.keys(entry.value)) {
      if (key === 'env' || fields.some((field) => field === key)) continue;
      const message = `${label}.${key} of a provider that is already there has no effect in a fragment`;
      problems.warning('ignored-key', message, placeOf(entry, [key]));
    }
    const replaced = replaceKeys(there, entry, fields, (key) =>
      redefined(`${label}.${key}`, fragment, entry, [key], problems),
    );
    const { env = {} } = entry.value;
    const origins: Record<string, Origin> = {};
    for (const key of Object.keys(env)) {
      const before = there.value.env?.[key];
      if (before !== undefined && before !== env[key]) {
        redefined(`${label}.env.${key}`, fragment, entry, ['env', key], problems);
      }
      origins[`env.${key}`] = originOf(entry, ['env', key]);
    }
    merged.set(
      name,
      changed(replaced, { ...replaced.value, env: { ...replaced.value.env, ...env } }, origins),
    );
  }
  return merged;
}

function mergeMaps<T>(
  what: string,
  base: ReadonlyMap<string, Entry<T>>,
  top: ReadonlyMap<string, Entry<T>>,
  problems: ProblemList,
): ReadonlyMap<string, Entry<T>> {
  for (const [name, entry] of top) {
    if (!base.has(name)) continue;
    problems.warning('redefined', `${what} "${name}" redefined by "${entry.layer}"`, placeOf(entry, []));
  }
  return new Map([...base, ...top]);
}

function redefined(
  what: string,
  fragment: Draft,
  entry: Entry<unknown>,
  keys: readonly string[],
  problems: ProblemList,
): void {
  problems.warning('redefined', `${what} redefined by "${fragment.layer}"`, placeOf(entry, keys));
}

/** The city with its own pack manifest under it: the city file wins. Source: Gas City root pack merge. */
export function underCity(
  city: Draft,
  pack: Pick<Draft, 'imports' | 'providers' | 'namedSessions' | 'patches'>,
): Draft {
  return {
    ...city,
    imports: new Map([...pack.imports, ...city.imports]),
    providers: new Map([...pack.providers, ...city.providers]),
    namedSessions: [...pack.namedSessions, ...city.namedSessions],
    patches: {
      agents: [...pack.patches.agents, ...city.patches.agents],
      rigs: [...pack.patches.rigs, ...city.patches.rigs],
      providers: [...pack.patches.providers, ...city.patches.providers],
    },
  };
}
