/** What the shape of a conversation needs of one line; the text stays in the file. */
export interface ClaudeNode {
  readonly uuid: string;
  readonly parent: string;
  /** Followed where there is no parent: the link across a compaction. */
  readonly logicalParent: string;
  readonly type: string;
  /** Milliseconds since the epoch, 0 when unreadable. */
  readonly at: number;
  readonly compactBoundary: boolean;
  /** Belongs to a helper agent's own conversation. */
  readonly sidechain: boolean;
  readonly offset: number;
  readonly length: number;
}

export interface ClaudeChain {
  /** Oldest first. */
  readonly nodes: readonly ClaudeNode[];
  readonly hasBranches: boolean;
}

export function toNode(value: unknown, offset: number, length: number): ClaudeNode | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const entry = value as Readonly<Record<string, unknown>>;
  const text = (key: string): string => (typeof entry[key] === 'string' ? entry[key] : '');
  const uuid = text('uuid');
  if (uuid === '') return undefined;
  const at = Date.parse(text('timestamp'));
  return {
    uuid,
    parent: text('parentUuid'),
    logicalParent: text('logicalParentUuid'),
    type: text('type'),
    at: Number.isNaN(at) ? 0 : at,
    compactBoundary: text('type') === 'system' && text('subtype') === 'compact_boundary',
    sidechain: entry['isSidechain'] === true,
    offset,
    length,
  };
}

/**
 * The branch of the conversation that is talked in: from the newest tip back to the beginning, across compactions.
 * Source: how Gas City reads Claude Code's transcripts.
 */
export function currentChain(lines: readonly ClaudeNode[]): ClaudeChain {
  const nodes = lines.filter((node) => !node.sidechain);
  const byId = new Map(nodes.map((node) => [node.uuid, node]));
  const parents = new Set(nodes.map((node) => node.parent || node.logicalParent));
  const tips = nodes.filter((node) => byId.get(node.uuid) === node && !parents.has(node.uuid));
  if (tips.length === 0) return { nodes: [], hasBranches: false };
  const newest = Math.max(...tips.map((tip) => tip.at));
  const chains = tips.filter((tip) => tip.at === newest).map((tip) => walkBack(tip, byId, nodes));
  return { nodes: longest(chains), hasBranches: tips.length > 1 };
}

/** The most said; of equals, the one that was written last. */
function longest(chains: readonly (readonly ClaudeNode[])[]): readonly ClaudeNode[] {
  let best: readonly ClaudeNode[] = [];
  for (const chain of chains) if (spoken(chain) >= spoken(best)) best = chain;
  return best;
}

const spoken = (chain: readonly ClaudeNode[]): number =>
  chain.filter((node) => node.type === 'user' || node.type === 'assistant').length;

function walkBack(
  tip: ClaudeNode,
  byId: ReadonlyMap<string, ClaudeNode>,
  lines: readonly ClaudeNode[],
): readonly ClaudeNode[] {
  const chain: ClaudeNode[] = [];
  const visited = new Set<ClaudeNode>();
  let node: ClaudeNode | undefined = tip;
  while (node && !visited.has(node)) {
    visited.add(node);
    chain.push(node);
    node = before(node, byId, lines, visited);
  }
  return chain.reverse();
}

function before(
  node: ClaudeNode,
  byId: ReadonlyMap<string, ClaudeNode>,
  lines: readonly ClaudeNode[],
  visited: ReadonlySet<ClaudeNode>,
): ClaudeNode | undefined {
  if (node.parent !== '') return byId.get(node.parent);
  if (node.logicalParent === '') return undefined;
  const target = byId.get(node.logicalParent);
  if (target) return target;
  // The target was dropped from the file: the line before is the closest thing that is left of it.
  const index = lines.indexOf(node);
  for (let earlier = index - 1; earlier >= 0; earlier -= 1) {
    const candidate = lines[earlier];
    if (candidate && !visited.has(candidate)) return candidate;
  }
  return undefined;
}
