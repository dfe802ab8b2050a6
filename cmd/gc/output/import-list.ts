import type { Lock } from '../../../internal/config/remote/lock-file.ts';
import type { PackNode } from '../../../internal/config/remote/pack-tree.ts';
import { onePlainLine } from './plain.ts';
import { renderTable } from './table.ts';

/** One import as `gc import list --json` has it. */
export interface ListedImport {
  /** The name; of a rig's own: `<rig>/<name>`. An include has none. */
  readonly name: string;
  readonly kind: 'import' | 'include';
  readonly source: string;
  /** What is asked for; `''`: anything. */
  readonly version: string;
  /** `''`: not pinned, or a folder. */
  readonly locked_version: string;
  readonly commit: string;
  /** It can be loaded from this machine as it is. */
  readonly available: boolean;
  /** Why not, and what to do. */
  readonly problem?: string;
}

export interface ListedNode extends ListedImport {
  readonly packs: readonly ListedNode[];
}

const SHORT_COMMIT = 12;

/** The imports of the city and its rigs, without what they import in turn. */
export function listedImports(tree: readonly PackNode[], lock: Lock): readonly ListedImport[] {
  return tree.filter(({ declared }) => declared.kind === 'import').map((node) => listed(node, lock));
}

export function treeJson(tree: readonly PackNode[], lock: Lock): readonly ListedNode[] {
  return tree.map((node) => ({ ...listed(node, lock), packs: treeJson(node.children, lock) }));
}

export function listText(rows: readonly ListedImport[]): string {
  if (rows.length === 0) return 'No imports configured.\n';
  const cells = rows.map((row) => [
    onePlainLine(row.name),
    onePlainLine(row.source),
    row.version || '-',
    row.commit === '' ? '-' : pin(row),
    row.available ? 'yes' : 'no',
  ]);
  const table = renderTable(['NAME', 'SOURCE', 'VERSION', 'COMMIT', 'CACHED'], cells);
  return `${table}${problemLines(rows)}`;
}

export function treeText(tree: readonly ListedNode[]): string {
  if (tree.length === 0) return 'No imports configured.\n';
  return branches(tree, '');
}

function branches(nodes: readonly ListedNode[], indent: string): string {
  return nodes
    .map((node) => {
      const name = node.name === '' ? '' : `${onePlainLine(node.name)}  `;
      const at = node.commit === '' ? '' : `  ${pin(node)}`;
      const bad = node.problem === undefined ? '' : `  (${onePlainLine(node.problem)})`;
      const line = `${indent}${name}${onePlainLine(node.source)}${at}${bad}\n`;
      return line + branches(node.packs, `${indent}  `);
    })
    .join('');
}

function pin({ commit, locked_version: version }: ListedImport): string {
  const short = commit.slice(0, SHORT_COMMIT);
  return version === '' || version.startsWith('sha:') ? short : `${version} ${short}`;
}

function problemLines(rows: readonly ListedImport[]): string {
  return rows
    .flatMap(({ name, problem }) =>
      problem === undefined ? [] : [`${onePlainLine(`${name}: ${problem}`)}\n`],
    )
    .join('');
}

function listed({ declared, resolved }: PackNode, lock: Lock): ListedImport {
  const { name, kind, source, version, owner } = declared;
  const entry = lock.packs.entries.get(source) ?? lock.named.entries.get(source);
  const rig = /^rig "(.*)"$/.exec(owner)?.[1];
  return {
    name: rig === undefined || name === '' ? name : `${rig}/${name}`,
    kind,
    source,
    version,
    locked_version: entry?.version ?? '',
    commit: entry?.commit ?? '',
    available: resolved.kind === 'dir',
    ...(resolved.kind === 'missing' ? { problem: `${resolved.message}: ${resolved.next}` } : {}),
  };
}
