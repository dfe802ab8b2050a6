/** One thing to be started or stopped, with the templates it needs. */
export interface WaveItem {
  readonly name: string;
  readonly template: string;
  /** Templates that must be up before it. Those that nobody here has are no obstacle. */
  readonly dependsOn: readonly string[];
}

export interface Waves {
  /** Names; everything in a wave may go at once, after the whole wave before it. */
  readonly waves: readonly (readonly string[])[];
  /** Templates that depend on each other in a ring: their sessions go one by one, at the end. */
  readonly cyclic: readonly string[];
}

/**
 * Orders items by `dependsOn` (Kahn's levels, in first-seen order). Dependencies that are already up are no edges.
 * Source: Gas City's session start waves.
 */
export function startWaves(items: readonly WaveItem[], up: ReadonlySet<string> = new Set()): Waves {
  const byTemplate = groupByTemplate(items);
  const unmet = new Map<string, number>();
  const dependents = new Map<string, string[]>();
  for (const [template, group] of byTemplate) {
    const needs = new Set(group.flatMap((item) => item.dependsOn));
    needs.delete(template);
    let count = 0;
    for (const need of needs) {
      if (up.has(need) || !byTemplate.has(need)) continue;
      count += 1;
      pushTo(dependents, need, template);
    }
    unmet.set(template, count);
  }
  return collectLevels(byTemplate, unmet, dependents);
}

function collectLevels(
  byTemplate: ReadonlyMap<string, readonly WaveItem[]>,
  unmet: Map<string, number>,
  dependents: ReadonlyMap<string, readonly string[]>,
): Waves {
  const waves: string[][] = [];
  let level = [...byTemplate.keys()].filter((template) => unmet.get(template) === 0);
  const done = new Set<string>();
  while (level.length > 0) {
    waves.push(level.flatMap((template) => namesOf(byTemplate.get(template))));
    const next: string[] = [];
    for (const template of level) {
      done.add(template);
      for (const dependent of dependents.get(template) ?? []) {
        const left = (unmet.get(dependent) ?? 0) - 1;
        unmet.set(dependent, left);
        if (left === 0) next.push(dependent);
      }
    }
    level = next;
  }
  const cyclic = [...byTemplate.keys()].filter((template) => !done.has(template));
  for (const template of cyclic) {
    for (const name of namesOf(byTemplate.get(template))) waves.push([name]);
  }
  return { waves, cyclic };
}

/** The order to stop things in: dependents first. */
export function stopWaves(items: readonly WaveItem[]): readonly (readonly string[])[] {
  return startWaves(items).waves.toReversed();
}

/** Each item with everything it needs through others too, which may not be among the items. */
export function withTransitiveNeeds(
  items: readonly WaveItem[],
  graph: ReadonlyMap<string, readonly string[]>,
): readonly WaveItem[] {
  return items.map((item) => {
    const needs = new Set<string>();
    const open = [...item.dependsOn];
    for (let need = open.pop(); need !== undefined; need = open.pop()) {
      if (needs.has(need)) continue;
      needs.add(need);
      open.push(...(graph.get(need) ?? []));
    }
    return { ...item, dependsOn: [...needs] };
  });
}

function groupByTemplate(items: readonly WaveItem[]): Map<string, WaveItem[]> {
  const groups = new Map<string, WaveItem[]>();
  for (const item of items) pushTo(groups, item.template, item);
  return groups;
}

function namesOf(group: readonly WaveItem[] | undefined): string[] {
  return (group ?? []).map((item) => item.name);
}

function pushTo<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}
