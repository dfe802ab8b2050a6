import { beadJson } from '../../../internal/beads/bead-json.ts';
import { type Convoy, progressText } from '../../../internal/beads/convoy.ts';
import type { Bead } from '../../../internal/beads/store.ts';
import { onePlainLine } from './plain.ts';
import { renderTable } from './table.ts';

const LABEL_COLUMNS = 10;

export function convoyTable(convoys: readonly Convoy[]): string {
  if (convoys.length === 0) return 'No open convoys\n';
  return renderTable(
    ['ID', 'TITLE', 'PROGRESS'],
    convoys.map((convoy) => [convoy.bead.id, onePlainLine(convoy.bead.title), progressText(convoy)]),
  );
}

/** What is known of one, then its work. */
export function convoyStatusText(convoy: Convoy): string {
  const { bead, children, owned } = convoy;
  const { metadata } = bead;
  const facts: readonly (readonly [string, string])[] = [
    ['Convoy', bead.id],
    ['Title', bead.title],
    ['Status', bead.status],
    ['Progress', progressText(convoy)],
    ['Owner', metadata['convoy.owner'] ?? ''],
    ['Notify', metadata['convoy.notify'] ?? ''],
    ['Merge', metadata['convoy.merge'] ?? ''],
    ['Target', metadata['target'] ?? ''],
    ['Lifecycle', owned ? 'owned: ended by gc convoy land' : ''],
  ];
  const lines = facts
    .filter(([, value]) => value !== '')
    .map(([label, value]) => `${`${label}:`.padEnd(LABEL_COLUMNS)} ${onePlainLine(value)}\n`);
  if (children.length === 0) return `${lines.join('')}\nNo work in it\n`;
  const rows = children.map(({ id, title, status, assignee }) => [
    id,
    onePlainLine(title),
    status,
    assignee || '-',
  ]);
  return `${lines.join('')}\n${renderTable(['ID', 'TITLE', 'STATUS', 'ASSIGNEE'], rows)}`;
}

/** What is still to do before it can land. */
export function openWorkText(open: readonly Bead[]): string {
  const lines = open.map(({ id, title, status }) => `  ${id}  ${status}  ${onePlainLine(title)}\n`);
  return `${lines.join('')}Use --force to land anyway\n`;
}

export function strandedTable(found: readonly { readonly convoy: Bead; readonly issue: Bead }[]): string {
  if (found.length === 0) return 'No stranded work\n';
  return renderTable(
    ['CONVOY', 'ISSUE', 'TITLE'],
    found.map(({ convoy, issue }) => [convoy.id, issue.id, onePlainLine(issue.title)]),
  );
}

/** The bead of a convoy, with its progress and its work. */
export function convoyData({ bead, children, closed, owned }: Convoy) {
  return { ...beadJson(bead), owned, closed, total: children.length, children: children.map(beadJson) };
}
