import type { Bead } from '../../../internal/beads/store.ts';
import { onePlainLine } from './plain.ts';
import { renderTable } from './table.ts';

/** One row for each, with what it waits for: what is closed already has a mark. */
export function graphTable(beads: readonly Bead[], others: readonly Bead[]): string {
  if (beads.length === 0) return 'No work in it\n';
  const closed = new Set([...beads, ...others].filter(isClosed).map(({ id }) => id));
  const rows = beads.map((bead) => [
    bead.id,
    bead.status,
    needsOf(bead)
      .map((id) => (closed.has(id) ? `${id} ✓` : id))
      .join(', ') || '-',
    onePlainLine(bead.title),
  ]);
  return renderTable(['ID', 'STATUS', 'WAITS FOR', 'TITLE'], rows);
}

/** Each that nothing else here waits for, with what it waits for below it. */
export function graphTree(beads: readonly Bead[], others: readonly Bead[]): string {
  if (beads.length === 0) return 'No work in it\n';
  const all = new Map([...beads, ...others].map((bead) => [bead.id, bead]));
  const waitedFor = new Set(beads.flatMap(needsOf));
  const roots = beads.filter(({ id }) => !waitedFor.has(id));
  const lines: string[] = [];
  const shown = new Set<string>();
  const add = (id: string, depth: number): void => {
    const bead = all.get(id);
    const again = shown.has(id);
    const text = bead ? `${id} [${bead.status}] ${onePlainLine(bead.title)}` : `${id} (not here)`;
    lines.push(`${'  '.repeat(depth)}${text}${again ? ' (above)' : ''}\n`);
    if (!bead || again) return;
    shown.add(id);
    for (const need of needsOf(bead)) add(need, depth + 1);
  };
  for (const { id } of roots.length > 0 ? roots : beads.slice(0, 1)) add(id, 0);
  return lines.join('');
}

/** An arrow leads from what has to be done first. */
export function graphMermaid(beads: readonly Bead[], others: readonly Bead[]): string {
  const nodes = [...beads, ...others].map(
    ({ id, title, status }) => `  ${nodeOf(id)}["${id}: ${quoted(title)} (${status})"]\n`,
  );
  const arrows = beads.flatMap((bead) =>
    needsOf(bead).map((need) => `  ${nodeOf(need)} --> ${nodeOf(bead.id)}\n`),
  );
  return `graph TD\n${nodes.join('')}${arrows.join('')}`;
}

const needsOf = (bead: Bead): readonly string[] => [
  ...new Set(bead.dependencies.map(({ depends_on_id }) => depends_on_id)),
];

const isClosed = ({ status }: Bead): boolean => status === 'closed';

const nodeOf = (id: string): string => id.replace(/[^A-Za-z0-9]/g, '_');

const quoted = (title: string): string => onePlainLine(title).replace(/"/g, '#quot;');
