import { didYouMean } from '../document/nearest.ts';
import type { ProblemList } from '../document/problems.ts';
import type { RawAgentOverride } from '../schema/schema-patch.ts';
import type { RawProvider } from '../schema/schema-provider.ts';
import type { RawRig } from '../schema/schema-sections.ts';
import type { AgentEntry, Draft, Patches } from './draft.ts';
import { changed, type Entry, type Origin, placeOf } from './entry.ts';
import { qualifiedOf } from './fallbacks.ts';
import { patchAgent } from './patch-agent.ts';

/** What to do about a patch whose agent is not there. */
export interface Missing {
  /** Whether that has been told already: the agent is broken, or a pack that may bring it is. */
  isKnown(name: string): boolean;
  readonly problems: ProblemList;
}

/**
 * The city's own patches of agents. A patch names its agent by `dir` and `name`, or by a qualified name; a bare name
 * reaches an agent of a pack as well. The first match is patched. Source: Gas City patches, applied once all packs are in.
 */
export function patchAgents(
  agents: readonly AgentEntry[],
  patches: Patches['agents'],
  root: string,
  missing: Missing,
): readonly AgentEntry[] {
  const result = [...agents];
  patches.forEach((patch, index) => {
    const { name, dir = '' } = patch.value;
    const target = dir === '' ? name : `${dir}/${name}`;
    const exact = result.findIndex((entry) => qualifiedOf(entry) === target);
    const byName = result.flatMap(({ value }, at) =>
      (value.dir ?? '') === dir && value.name === name ? [at] : [],
    );
    const at = exact === -1 ? (byName[0] ?? -1) : exact;
    const found = result[at];
    if (exact === -1 && byName.length > 1) {
      const names = byName.flatMap((each) => result[each] ?? []).map(qualifiedOf);
      missing.problems.warning(
        'ambiguous-patch',
        `patches.agent[${index}]: "${target}" may mean ${names.join(' or ')}; the first is patched`,
        placeOf(patch, ['name'], 'value'),
        'write the whole name',
      );
    }
    if (found) {
      result[at] = patchAgent(found, patch, root, { label: `patch in ${patch.layer}`, kind: 'agent_patch' });
    } else if (!missing.isKnown(name)) {
      notFound(
        `patches.agent[${index}]: agent "${target}" not found in merged config`,
        target,
        result,
        patch,
        missing.problems,
      );
    }
  });
  return result;
}

/** Overrides of one rig, then its patches: by bare name among the agents of the rig. */
export function overrideAgents(
  agents: readonly AgentEntry[],
  rig: Entry<RawRig>,
  root: string,
  missing: Missing,
): readonly AgentEntry[] {
  const result = [...agents];
  for (const key of ['overrides', 'patches'] as const) {
    (rig.value[key] ?? []).forEach((value, index) => {
      const override: Entry<RawAgentOverride> = { ...rig, path: [...rig.path, key, index], value };
      const own = (entry: AgentEntry) => entry.value.dir === rig.value.name;
      const byName = result.findIndex((entry) => own(entry) && entry.value.name === value.agent);
      const at =
        byName === -1
          ? result.findIndex(
              (entry) =>
                own(entry) &&
                [qualifiedOf(entry), `${entry.binding}.${entry.value.name}`].includes(value.agent),
            )
          : byName;
      const found = result[at];
      if (!found) {
        if (missing.isKnown(value.agent)) return;
        const label = `rig "${rig.value.name}": ${key}[${index}]: agent "${value.agent}" not found in pack`;
        notFound(label, value.agent, result.filter(own), override, missing.problems, ['agent']);
        return;
      }
      const label = `override of rig ${rig.value.name}`;
      result[at] = patchAgent(found, { ...override, sourceDir: root }, root, { label, kind: 'rig_override' });
    });
  }
  return result;
}

function notFound(
  message: string,
  target: string,
  agents: readonly AgentEntry[],
  entry: Entry<unknown>,
  problems: ProblemList,
  keys: readonly string[] = ['name'],
): void {
  const bare = target.slice(target.lastIndexOf('/') + 1);
  const elsewhere = agents.find(({ value }) => value.name === bare);
  const names = agents.flatMap((agent) => [qualifiedOf(agent), agent.value.name]);
  const meant = elsewhere ? `; did you mean "${qualifiedOf(elsewhere)}"?` : didYouMean(target, names);
  const known = agents.map(qualifiedOf).join(', ');
  problems.error(
    'patch-target',
    `${message}${meant}`,
    placeOf(entry, keys, 'value'),
    known === '' ? 'there are no agents' : `agents: ${known}`,
  );
}

export function patchRigs(draft: Draft, problems: ProblemList): readonly Entry<RawRig>[] {
  const rigs = [...draft.rigs];
  draft.patches.rigs.forEach((patch, index) => {
    const at = rigs.findIndex(({ value }) => value.name === patch.value.name);
    const rig = rigs[at];
    if (rig) rigs[at] = withValues(rig, patch, ['path', 'prefix', 'suspended']);
    else if (!draft.broken.rigs.has(patch.value.name)) {
      const names = rigs.map(({ value }) => value.name);
      problems.error(
        'patch-target',
        `patches.rigs[${index}]: rig "${patch.value.name}" not found in merged config${didYouMean(patch.value.name, names)}`,
        placeOf(patch, ['name'], 'value'),
      );
    }
  });
  return rigs;
}

export function patchProviders(draft: Draft, problems: ProblemList): ReadonlyMap<string, Entry<RawProvider>> {
  const providers = new Map(draft.providers);
  draft.patches.providers.forEach((patch, index) => {
    const { name, _replace: replaces, env = {}, env_remove: gone = [] } = patch.value;
    const there = providers.get(name);
    if (!there) {
      if (draft.broken.providers.has(name)) return;
      problems.error(
        'patch-target',
        `patches.providers[${index}]: provider "${name}" not found in merged config${didYouMean(name, providers.keys())}`,
        placeOf(patch, ['name'], 'value'),
        `a built-in preset is changed by writing it under providers.${name}`,
      );
      return;
    }
    const base: Entry<RawProvider> = replaces ? { ...patch, value: {} } : there;
    const merged = withValues(base, patch, [
      'command',
      'args',
      'prompt_mode',
      'prompt_flag',
      'ready_delay_ms',
    ]);
    const kept = Object.entries({ ...merged.value.env, ...env }).filter(([key]) => !gone.includes(key));
    const origins = Object.keys(env).map((key) => [`env.${key}`, at(patch, 'env', key)] as const);
    providers.set(
      name,
      changed(merged, { ...merged.value, env: Object.fromEntries(kept) }, Object.fromEntries(origins)),
    );
  });
  return providers;
}

const at = (patch: Entry<unknown>, ...keys: readonly string[]): Origin => ({
  document: patch.document,
  path: [...patch.path, ...keys],
  layer: `patch in ${patch.layer}`,
});

function withValues<E extends Entry<object>>(base: E, patch: Entry<object>, keys: readonly string[]): E {
  const given: Record<string, unknown> = { ...patch.value };
  const written = keys.filter((key) => given[key] !== undefined);
  const values = written.map((key) => [key, given[key]] as const);
  const origins = written.map((key) => [key, at(patch, key)] as const);
  return changed(base, { ...base.value, ...Object.fromEntries(values) }, Object.fromEntries(origins));
}
