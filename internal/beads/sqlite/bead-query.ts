import { GcError } from '../../platform/errors.ts';
import type { BeadQuery } from '../store.ts';

/** Infrastructure, not work. Source: Gas City's `Ready`. */
const NOT_WORK = ['merge-request', 'gate', 'molecule', 'message', 'session', 'agent', 'role', 'rig'];
const BLOCKING_DEPENDENCIES = ['blocks', 'waits-for', 'conditional-blocks'];
/** Keys that can stand in a path as they are, so that an index over that path is used. */
const INDEXABLE_KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;

const quoted = (names: readonly string[]) => names.map((name) => `'${name}'`).join(', ');

/** A missing blocker blocks: it may not have been created yet. */
export const READY_CONDITION = `
  beads.status = 'open' AND beads.issue_type NOT IN (${quoted(NOT_WORK)}) AND NOT EXISTS (
    SELECT 1 FROM dependencies LEFT JOIN beads AS blocker ON blocker.id = dependencies.depends_on_id
    WHERE dependencies.issue_id = beads.id AND dependencies.type IN (${quoted(BLOCKING_DEPENDENCIES)})
      AND (blocker.id IS NULL OR blocker.status <> 'closed'))`;

/** Beads made in the same millisecond keep the order of their numbers. */
export function selectBeads(condition: string, sort: 'created_asc' | 'created_desc'): string {
  const direction = sort === 'created_asc' ? 'ASC' : 'DESC';
  return `
    SELECT beads.*, (
      SELECT json_group_array(json_array(depends_on_id, type)) FROM
        (SELECT depends_on_id, type FROM dependencies WHERE issue_id = beads.id ORDER BY depends_on_id)
    ) AS needs
    FROM beads WHERE ${condition} ORDER BY beads.created_at ${direction}, beads.num ${direction}`;
}

/** @throws GcError `query-needs-filter` for a query that would read everything without saying so. */
export function whereOf(query: BeadQuery): {
  readonly condition: string;
  readonly values: readonly string[];
} {
  const conditions: string[] = [];
  const values: string[] = [];
  const add = (condition: string, ...given: string[]) => {
    conditions.push(condition);
    values.push(...given);
  };
  if (query.status !== undefined) add('beads.status = ?', query.status);
  if (query.type !== undefined) add('beads.issue_type = ?', query.type);
  if (query.assignee !== undefined) add('beads.assignee = ?', query.assignee);
  if (query.parent !== undefined) add('beads.parent = ?', query.parent);
  if (query.label !== undefined) {
    add('EXISTS (SELECT 1 FROM json_each(beads.labels) WHERE value = ?)', query.label);
  }
  for (const [key, value] of Object.entries(query.metadata ?? {})) {
    if (INDEXABLE_KEY.test(key) && value !== '') {
      add(`json_extract(beads.metadata, '$.${key}') = ?`, value);
    } else {
      add(
        "coalesce((SELECT value FROM json_each(beads.metadata) WHERE json_each.key = ?), '') = ?",
        key,
        value,
      );
    }
  }
  if (conditions.length === 0 && query.allowScan !== true) {
    throw new GcError(
      'query-needs-filter',
      'a bead query needs a filter: status, type, label, assignee ...',
      {
        next: 'add a filter, or allow a scan of all beads',
      },
    );
  }
  if (query.status === undefined && query.includeClosed !== true) add("beads.status <> 'closed'");
  return { condition: conditions.length > 0 ? conditions.join(' AND ') : '1', values };
}
