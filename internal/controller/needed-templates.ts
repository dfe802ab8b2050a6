import type { Desired } from './model.ts';

/**
 * Templates that some session which is to stand depends on, directly or through others.
 * @param stands the session is to be awake for a reason of its own
 */
export function neededTemplates(
  all: Iterable<Desired>,
  stands: (desired: Desired) => boolean,
): ReadonlySet<string> {
  const dependsOn = new Map<string, readonly string[]>();
  const roots: string[] = [];
  for (const desired of all) {
    dependsOn.set(desired.template, desired.dependsOn);
    if (desired.dependsOn.length > 0 && !desired.suspended && stands(desired))
      roots.push(...desired.dependsOn);
  }
  const needed = new Set<string>();
  for (let template = roots.pop(); template !== undefined; template = roots.pop()) {
    if (needed.has(template)) continue;
    needed.add(template);
    roots.push(...(dependsOn.get(template) ?? []));
  }
  return needed;
}
