import type { Agent } from './city.ts';

/** `[dir/][binding.]name`. Source: Gas City. */
export function qualifiedName(dir: string, binding: string, name: string): string {
  return `${dir === '' ? '' : `${dir}/`}${binding === '' ? '' : `${binding}.`}${name}`;
}

/** The name of one instance of an agent: `[dir/][binding.]instance`. */
export function qualifiedInstanceName(agent: Pick<Agent, 'dir' | 'binding'>, instance: string): string {
  return qualifiedName(agent.dir, agent.binding, instance);
}

/** Split at the last `/`: the rest keeps its binding. */
export function splitQualifiedName(identity: string): { readonly dir: string; readonly name: string } {
  const slash = identity.lastIndexOf('/');
  return { dir: slash === -1 ? '' : identity.slice(0, slash), name: identity.slice(slash + 1) };
}

/** What follows the last `/`; a binding stays. */
export function baseName(identity: string): string {
  return splitQualifiedName(identity).name;
}

/**
 * Bead-id prefix of a name that has none written: first letters of its parts, or its first letters.
 * Source: Gas City bead prefix derivation.
 */
export function deriveBeadPrefix(name: string): string {
  const stem = name.replace(/-py$/, '').replace(/-go$/, '');
  let parts = stem.split(/[-_]/).filter((part) => part !== '');
  if (parts.length < 2) parts = stem.split(/(?<=[^A-Z])(?=[A-Z])/);
  if (parts.length >= 2)
    return parts
      .map((part) => part[0] ?? '')
      .join('')
      .toLowerCase();
  const lower = stem.toLowerCase();
  return lower.length <= 3 ? lower : lower.slice(0, 2);
}
