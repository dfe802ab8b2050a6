import type { SourcePosition } from '../city.ts';
import type { ProblemList } from '../document/problems.ts';
import { locate, shownPosition } from '../document/source-document.ts';
import { qualifiedName } from '../qualified-name.ts';
import { copyId } from './bundle.ts';
import type { AgentEntry } from './draft.ts';
import { placeOf } from './entry.ts';

export interface FallbackContext {
  readonly root: string;
  readonly problems: ProblemList;
}

export function qualifiedOf({ value, binding }: Pick<AgentEntry, 'value' | 'binding'>): string {
  return qualifiedName(value.dir ?? '', binding, value.name);
}

/**
 * A fallback agent gives way to another of its qualified name from elsewhere; of several fallbacks the first stays. What
 * is then still there twice is an error, and the first of them goes on.
 */
export function withoutFallbacks(
  agents: readonly AgentEntry[],
  scope: string,
  context: FallbackContext,
): readonly AgentEntry[] {
  const groups = new Map<string, AgentEntry[]>();
  for (const entry of agents) {
    const name = qualifiedOf(entry);
    const group = groups.get(name);
    if (group) group.push(entry);
    else groups.set(name, [entry]);
  }
  const gone = new Set<AgentEntry>();
  for (const [name, group] of groups) {
    const single = withoutPatchedTwice(group, name, scope, context);
    const kept = dirsOf(single).size < 2 ? single : withoutDuplicates(single, name, scope, context);
    for (const entry of group) if (!kept.includes(entry)) gone.add(entry);
  }
  return agents.filter((entry) => !gone.has(entry));
}

const dirsOf = (agents: readonly AgentEntry[]) => new Set(agents.map(({ sourceDir }) => sourceDir));

function withoutDuplicates(
  group: readonly AgentEntry[],
  name: string,
  scope: string,
  context: FallbackContext,
): readonly AgentEntry[] {
  const { problems } = context;
  const proper = group.filter(({ value }) => !value.fallback);
  if (proper.length === 0) return group.slice(0, 1);
  const places = new Map(proper.map((entry) => [entry.sourceDir, entry]));
  const [, second] = [...places.values()];
  // What the city declares itself is told by the check of the whole city, with both places.
  if (!second || proper.some(({ packName }) => packName === '')) return proper;
  problems.error(
    'duplicate-agent',
    `${scope}: packs define duplicate agent "${name}": ${[...places.keys()].join(', ')}`,
    placeOf(second, ['name'], 'value'),
    'import one of the packs under another name, or mark one agent as fallback = true',
  );
  return proper.slice(0, 1);
}

/** Copies of one declaration that came in over two packs, each with a patch of its own. */
function withoutPatchedTwice(
  group: readonly AgentEntry[],
  name: string,
  scope: string,
  context: FallbackContext,
): readonly AgentEntry[] {
  const { root, problems } = context;
  const first = new Map<string, AgentEntry>();
  return group.filter((entry) => {
    const other = first.get(copyId(entry));
    if (!other) {
      first.set(copyId(entry), entry);
      return true;
    }
    const [one, two] = [other, entry].map(firstChange);
    const between = one && two ? ` (${shownPosition(root, one)} and ${shownPosition(root, two)})` : '';
    problems.error(
      'duplicate-agent',
      `${scope}: agent "${name}" comes in over two packs that patch it differently${between}`,
      placeOf(entry, ['name'], 'value'),
      'patch it in the city, or import the packs under different names',
    );
    return false;
  });
}

function firstChange({ changes }: AgentEntry): SourcePosition | undefined {
  const [origin] = changes?.values() ?? [];
  return origin && locate(origin.document, origin.path);
}
