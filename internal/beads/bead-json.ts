import { type Bead, DEFAULT_PRIORITY } from './store.ts';

/**
 * A bead as scripts read it: the keys of `bd --json`, what is empty left out. Source: beads' issue JSON; `metadata` is
 * text to text, as Gas City reads it.
 */
export function beadJson(bead: Bead): Readonly<Record<string, unknown>> {
  return {
    id: bead.id,
    title: bead.title,
    ...filled('description', bead.description),
    ...filled('notes', bead.notes),
    status: bead.status,
    priority: bead.priority ?? DEFAULT_PRIORITY,
    issue_type: bead.issue_type,
    ...filled('assignee', bead.assignee),
    created_at: bead.created_at,
    ...filled('created_by', bead.from),
    updated_at: bead.updated_at ?? bead.created_at,
    ...filled('closed_at', bead.closed_at),
    ...filled('parent', bead.parent),
    ...(bead.labels.length === 0 ? {} : { labels: bead.labels }),
    ...(Object.keys(bead.metadata).length === 0 ? {} : { metadata: bead.metadata }),
    ...(bead.dependencies.length === 0 ? {} : { dependencies: bead.dependencies }),
  };
}

const filled = (key: string, text: string | undefined): Readonly<Record<string, string>> =>
  text ? { [key]: text } : {};
