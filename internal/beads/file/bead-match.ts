import { NOT_WORK, refuseUnfiltered } from '../bead-rules.ts';
import { type BeadFilter, type BeadQuery, DEFAULT_PRIORITY } from '../store.ts';
import type { BeadFacts } from './bead-codec.ts';

type Test = (bead: BeadFacts) => boolean;

/** @throws GcError `query-needs-filter` for a query that would read everything without saying so. */
export function matcherOf(query: BeadQuery): Test {
  const { status, statuses, closedAfter } = query;
  const tests = filterTests(query);
  if (status !== undefined) tests.push((bead) => bead.status === status);
  if (statuses !== undefined) tests.push((bead) => statuses.includes(bead.status));
  if (closedAfter !== undefined) tests.push((bead) => timeOf(bead.closed_at) > closedAfter);
  if (tests.length === 0) refuseUnfiltered(query);
  const namesStatus = status !== undefined || statuses !== undefined || closedAfter !== undefined;
  if (!namesStatus && query.includeClosed !== true) tests.push((bead) => bead.status !== 'closed');
  return (bead) => tests.every((test) => test(bead));
}

/** Open work that passes the filter; what blocks it is looked at elsewhere. */
export function readyMatcherOf(filter: BeadFilter): Test {
  const tests = filterTests(filter);
  return (bead) =>
    bead.status === 'open' && !NOT_WORK.includes(bead.issue_type) && tests.every((test) => test(bead));
}

function filterTests(filter: BeadFilter): Test[] {
  const { type, notTypes, assignee, parent, idPrefix } = filter;
  const tests: Test[] = [];
  if (type !== undefined) tests.push((bead) => bead.issue_type === type);
  if (notTypes !== undefined) tests.push((bead) => !notTypes.includes(bead.issue_type));
  if (assignee !== undefined) tests.push((bead) => bead.assignee === assignee);
  if (parent !== undefined) tests.push((bead) => bead.parent === parent);
  if (idPrefix !== undefined) tests.push(({ id }) => prefixOf(id) === idPrefix.toLowerCase());
  for (const prefix of filter.notIdPrefixes ?? [])
    tests.push(({ id }) => prefixOf(id) !== prefix.toLowerCase());
  for (const label of [...(filter.label === undefined ? [] : [filter.label]), ...(filter.labels ?? [])])
    tests.push((bead) => bead.labels.includes(label));
  for (const [key, value] of Object.entries(filter.metadata ?? {}))
    tests.push(({ metadata }) => (Object.hasOwn(metadata, key) ? metadata[key] : '') === value);
  return tests;
}

/** The whole prefix: `fe` is not that of `fe-ui-3`. */
const prefixOf = (id: string): string | undefined => /^(.*)-\d+$/.exec(id)?.[1]?.toLowerCase();

const timeOf = (text: string | undefined): number => {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? Number.NEGATIVE_INFINITY : time;
};

/** In the order that is asked for; beads of one moment keep that of the file. */
export function sorted(
  beads: readonly BeadFacts[],
  sort: NonNullable<BeadFilter['sort']>,
): readonly BeadFacts[] {
  const urgency = ({ priority }: BeadFacts) => (sort === 'priority' ? (priority ?? DEFAULT_PRIORITY) : 0);
  const ranked = beads
    .map((bead, index) => ({ bead, index, at: timeOf(bead.created_at), urgency: urgency(bead) }))
    .sort((a, b) => a.urgency - b.urgency || order(a.at, b.at) || a.index - b.index);
  if (sort === 'created_desc') ranked.reverse();
  return ranked.map(({ bead }) => bead);
}

/** Also where a time is unknown on both sides. */
const order = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1);
