import type { Agent } from '../city.ts';
import { type BuiltAgent, place } from '../compose/built-agent.ts';
import { didYouMean } from '../document/nearest.ts';
import type { ProblemList } from '../document/problems.ts';
import { qualifiedName } from '../qualified-name.ts';

/**
 * Qualified name that a `depends_on` entry means, `undefined` when there is no such agent. A bare name means a sibling of
 * the same pack and rig first; a binding written inside a pack gives way to the one that the pack came under.
 */
export function dependencyOf(agent: Agent, written: string, known: ReadonlySet<string>): string | undefined {
  const { dir, binding } = agent;
  const isBare = !written.includes('/');
  const bare = written.slice(written.lastIndexOf('.') + 1);
  const candidates = [
    ...(isBare && !written.includes('.') ? [qualifiedName(dir, binding, written)] : []),
    written,
    ...(isBare ? [qualifiedName(dir, '', written), qualifiedName(dir, binding, bare)] : []),
  ];
  return candidates.find((candidate) => known.has(candidate));
}

/** Unknown, own and circular dependencies. */
export function reportDependencies(
  agents: readonly BuiltAgent[],
  broken: ReadonlySet<string>,
  problems: ProblemList,
): void {
  const known = new Set(agents.map(({ agent }) => agent.qualifiedName));
  const edges = new Map<string, readonly string[]>();
  for (const built of agents) {
    const { agent } = built;
    const label = `agent "${agent.qualifiedName}"`;
    const targets: string[] = [];
    agent.dependsOn.forEach((written, index) => {
      const target = dependencyOf(agent, written, known);
      const at = place(built, 'depends_on', index);
      if (target === agent.qualifiedName) {
        problems.error('self-dependency', `${label}: depends_on contains self-reference`, at);
      } else if (target !== undefined) targets.push(target);
      else if (!broken.has(written)) {
        problems.error(
          'unknown-dependency',
          `${label}: depends_on references unknown agent "${written}"${didYouMean(written, known)}`,
          at,
        );
      }
    });
    edges.set(agent.qualifiedName, targets);
  }
  const cycle = findCycle(edges);
  const start = agents.find(({ agent }) => agent.qualifiedName === cycle?.[0]);
  if (cycle && start) {
    problems.error(
      'dependency-cycle',
      `dependency cycle detected (${cycle.join(' -> ')})`,
      place(start, 'depends_on'),
    );
  }
}

/** The first cycle, its first name repeated at the end. Iterative: a long chain must not end the stack. */
function findCycle(edges: ReadonlyMap<string, readonly string[]>): readonly string[] | undefined {
  const done = new Set<string>();
  for (const start of edges.keys()) {
    const path: { name: string; next: number }[] = done.has(start) ? [] : [{ name: start, next: 0 }];
    for (let top = path.at(-1); top; top = path.at(-1)) {
      const target = edges.get(top.name)?.[top.next];
      top.next += 1;
      if (target === undefined) {
        done.add(top.name);
        path.pop();
        continue;
      }
      const seen = path.findIndex(({ name }) => name === target);
      if (seen !== -1) return [...path.slice(seen).map(({ name }) => name), target];
      if (!done.has(target)) path.push({ name: target, next: 0 });
    }
  }
  return undefined;
}
