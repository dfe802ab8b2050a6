import {
  type Bead,
  type BeadComment,
  type BeadStatus,
  DEFAULT_PRIORITY,
} from '../../../internal/beads/store.ts';
import { onePlainLine, plainText } from '../output/plain.ts';

const ICONS: Readonly<Record<BeadStatus, string>> = { open: '○', in_progress: '◐', closed: '✓' };
const LABEL_COLUMNS = 13;

/** `<icon> <id> [P2] [task] <title>`: scripts take the second word as the id. Source: beads. */
export function beadLine(bead: Bead): string {
  const priority = `[P${bead.priority ?? DEFAULT_PRIORITY}]`;
  const [id, type, title] = [bead.id, bead.issue_type, bead.title].map(onePlainLine);
  return `${ICONS[bead.status]} ${id} ${priority} [${type}] ${title}\n`;
}

/** Everything about one bead, for a person. */
export function beadDetails(bead: Bead, comments: readonly BeadComment[]): string {
  const facts: readonly (readonly [string, string])[] = [
    ['ID', bead.id],
    ['Title', bead.title],
    ['Status', bead.status],
    ['Type', bead.issue_type],
    ['Priority', `P${bead.priority ?? DEFAULT_PRIORITY}`],
    ['Assignee', bead.assignee],
    ['Parent', bead.parent],
    ['Labels', bead.labels.join(', ')],
    ['Created', bead.created_at + (bead.from === '' ? '' : ` by ${bead.from}`)],
    ['Updated', bead.updated_at ?? ''],
    ['Closed', bead.closed_at ?? ''],
    ['Depends on', bead.dependencies.map((each) => `${each.depends_on_id} (${each.type})`).join(', ')],
  ];
  const shown = facts
    .map(([label, value]) => [label, onePlainLine(value)] as const)
    .filter(([label, value]) => value !== '' || label === 'Assignee');
  const lines = shown.map(([label, value]) => `${`${label}:`.padEnd(LABEL_COLUMNS)}${value}`.trimEnd());
  const metadata = Object.entries(bead.metadata).map(([key, value]) => onePlainLine(`${key} = ${value}`));
  const said = comments.map(commentText);
  return `${[
    ...lines,
    ...section('Description', plainText(bead.description)),
    ...section('Notes', plainText(bead.notes ?? '')),
    ...section('Metadata', metadata.join('\n')),
    ...section('Comments', said.join('\n')),
  ].join('\n')}\n`;
}

export function commentsText(comments: readonly BeadComment[]): string {
  return comments.map((comment) => `${commentText(comment)}\n`).join('');
}

const commentText = ({ author, created_at, text }: BeadComment): string =>
  `${onePlainLine(`${author}, ${created_at}`)}:\n${indented(plainText(text))}`;

const section = (title: string, text: string): readonly string[] =>
  text === '' ? [] : [`${title}:`, indented(text)];

const indented = (text: string): string => text.replace(/^/gm, '  ');
