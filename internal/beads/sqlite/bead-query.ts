import { BLOCKING_DEPENDENCIES, NOT_WORK, refuseUnfiltered } from '../bead-rules.ts';
import { type BeadFilter, type BeadQuery, DEFAULT_PRIORITY } from '../store.ts';

/** Keys that can stand in a path as they are, so that an index over that path is used. */
const INDEXABLE_KEY = /^[A-Za-z_][A-Za-z0-9_]*$/;

const quoted = (names: readonly string[]) => names.map((name) => `'${name}'`).join(', ');

/** A missing blocker blocks: it may not have been created yet. */
export const READY_CONDITION = `
  beads.status = 'open' AND beads.issue_type NOT IN (${quoted(NOT_WORK)}) AND NOT EXISTS (
    SELECT 1 FROM dependencies LEFT JOIN beads AS blocker ON blocker.id = dependencies.depends_on_id
    WHERE dependencies.issue_id = beads.id AND dependencies.type IN (${quoted(BLOCKING_DEPENDENCIES)})
      AND (blocker.id IS NULL OR blocker.status <> 'closed'))`;

const ORDERS: Readonly<Record<NonNullable<BeadFilter['sort']>, string>> = {
  created_asc: 'beads.created_at ASC, beads.num ASC',
  created_desc: 'beads.created_at DESC, beads.num DESC',
  priority: `coalesce(beads.priority, ${DEFAULT_PRIORITY}) ASC, beads.created_at ASC, beads.num ASC`,
};

/** Beads made in the same millisecond keep the order of their numbers. */
export function selectBeads(condition: string, sort: NonNullable<BeadFilter['sort']>): string {
  return `
    SELECT beads.*, (
      SELECT json_group_array(json_array(depends_on_id, type)) FROM
        (SELECT depends_on_id, type FROM dependencies WHERE issue_id = beads.id ORDER BY depends_on_id)
    ) AS needs
    FROM beads WHERE ${condition} ORDER BY ${ORDERS[sort]}`;
}

/** A condition of SQL and what its question marks stand for. */
export interface Where {
  readonly condition: string;
  readonly values: readonly string[];
}

/** @throws GcError `query-needs-filter` for a query that would read everything without saying so. */
export function whereOf(query: BeadQuery): Where {
  const asked = new Conditions();
  if (query.status !== undefined) asked.add('beads.status = ?', query.status);
  if (query.statuses !== undefined) asked.addOneOf('beads.status', query.statuses);
  if (query.closedAfter !== undefined) {
    asked.add('beads.closed_at > ?', new Date(query.closedAfter).toISOString());
  }
  addFilter(asked, query);
  if (asked.isEmpty) refuseUnfiltered(query);
  const namesStatus = query.status !== undefined || query.statuses !== undefined;
  if (!namesStatus && query.includeClosed !== true && query.closedAfter === undefined) {
    asked.add("beads.status <> 'closed'");
  }
  return asked.where();
}

/** Ready work that also passes the filter. */
export function whereReady(filter: BeadFilter): Where {
  const asked = new Conditions();
  asked.add(READY_CONDITION);
  addFilter(asked, filter);
  return asked.where();
}

function addFilter(asked: Conditions, filter: BeadFilter): void {
  if (filter.type !== undefined) asked.add('beads.issue_type = ?', filter.type);
  if (filter.notTypes !== undefined) asked.addNoneOf('beads.issue_type', filter.notTypes);
  if (filter.assignee !== undefined) asked.add('beads.assignee = ?', filter.assignee);
  if (filter.parent !== undefined) asked.add('beads.parent = ?', filter.parent);
  if (filter.idPrefix !== undefined) asked.add(HAS_PREFIX, filter.idPrefix);
  for (const prefix of filter.notIdPrefixes ?? []) asked.add(`NOT (${HAS_PREFIX})`, prefix);
  const labels = [...(filter.label === undefined ? [] : [filter.label]), ...(filter.labels ?? [])];
  for (const label of labels) {
    asked.add('EXISTS (SELECT 1 FROM json_each(beads.labels) WHERE value = ?)', label);
  }
  for (const [key, value] of Object.entries(filter.metadata ?? {})) {
    if (INDEXABLE_KEY.test(key) && value !== '') {
      asked.add(`json_extract(beads.metadata, '$.${key}') = ?`, value);
    } else {
      asked.add(
        "coalesce((SELECT value FROM json_each(beads.metadata) WHERE json_each.key = ?), '') = ?",
        key,
        value,
      );
    }
  }
}

/** The whole prefix: `fe` is not that of `fe-ui-3`. */
const HAS_PREFIX = "beads.id COLLATE NOCASE = (? || '-' || beads.num)";

class Conditions {
  readonly #conditions: string[] = [];
  readonly #values: string[] = [];

  get isEmpty(): boolean {
    return this.#conditions.length === 0;
  }

  add(condition: string, ...values: readonly string[]): void {
    this.#conditions.push(condition);
    this.#values.push(...values);
  }

  addOneOf(column: string, values: readonly string[]): void {
    this.add(`${column} IN (${values.map(() => '?').join(', ')})`, ...values);
  }

  addNoneOf(column: string, values: readonly string[]): void {
    this.add(`${column} NOT IN (${values.map(() => '?').join(', ')})`, ...values);
  }

  where(): Where {
    return { condition: this.#conditions.join(' AND ') || '1', values: this.#values };
  }
}
