import type { CityDemand, Desired } from './model.ts';

/** Templates that some session which is to stand depends on, directly or through others. */
export function neededTemplates(
  all: Iterable<Desired>,
  demand: Pick<CityDemand, 'wanted'>,
): ReadonlySet<string> {
  const dependsOn = new Map<string, readonly string[]>();
  const roots: string[] = [];
  for (const desired of all) {
    dependsOn.set(desired.template, desired.dependsOn);
    const stands =
      desired.kind === 'manual' || desired.mode === 'always' || demand.wanted.has(desired.sessionName);
    if (stands && !desired.suspended) roots.push(...desired.dependsOn);
  }
  const needed = new Set<string>();
  for (let template = roots.pop(); template !== undefined; template = roots.pop()) {
    if (needed.has(template)) continue;
    needed.add(template);
    roots.push(...(dependsOn.get(template) ?? []));
  }
  return needed;
}
