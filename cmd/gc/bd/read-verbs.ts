import { beadJson } from '../../../internal/beads/bead-json.ts';
import type { Bead, BeadFilter } from '../../../internal/beads/store.ts';
import { UsageError } from '../cli/input.ts';
import { onePlainLine } from '../output/plain.ts';
import type { Desk } from './desk.ts';
import { listQuery, readyFilter } from './request.ts';
import { beadDetails, beadLine, commentsText } from './text.ts';

export async function show(desk: Desk): Promise<void> {
  const found = [];
  for (const id of idsOf(desk)) {
    found.push({ bead: await desk.work.get(id), comments: await desk.work.comments(id) });
  }
  if (desk.context.json) {
    desk.json(
      found.map(({ bead, comments }) => ({
        ...beadJson(bead),
        ...(comments.length > 0 ? { comments } : {}),
      })),
    );
  } else desk.context.out.write(found.map(({ bead, comments }) => beadDetails(bead, comments)).join('\n'));
}

export async function list(desk: Desk): Promise<void> {
  const asked = listQuery(desk.input);
  const { filter } = await desk.scope();
  await printPage(desk, asked, (limit) => desk.work.list({ ...asked, ...filter, limit }));
}

export async function ready(desk: Desk): Promise<void> {
  const asked = readyFilter(desk.input);
  const { filter } = await desk.scope();
  await printPage(desk, asked, (limit) => desk.work.ready({ ...asked, ...filter, limit }));
}

/** Reads one more than it shows, so that nobody takes a part for the whole. */
async function printPage(
  desk: Desk,
  { limit = 0 }: BeadFilter,
  read: (limit: number) => Promise<readonly Bead[]>,
): Promise<void> {
  const found = await read(limit > 0 ? limit + 1 : 0);
  const shown = limit > 0 ? found.slice(0, limit) : found;
  desk.print(shown, beadLine);
  await desk.sayWhatIsElsewhere();
  const wasAsked = desk.input.text('limit') !== undefined;
  if (found.length > shown.length && !wasAsked && !desk.context.json) {
    desk.context.err.write(`the first ${limit}; -n 0 shows all\n`);
  }
}

/** The beads at the other ends, each with the type of its dependency. */
export async function listDependencies(desk: Desk, id: string): Promise<void> {
  const direction = desk.input.text('direction') ?? 'down';
  if (direction !== 'down' && direction !== 'up') {
    throw new UsageError(`--direction is down or up, not "${direction}"`);
  }
  const type = desk.input.text('type');
  await desk.work.get(id);
  const found: { readonly bead: Bead; readonly type: string }[] = [];
  for (const each of await desk.work.dependencies(id, direction)) {
    if (type !== undefined && each.type !== type) continue;
    const other = direction === 'down' ? each.depends_on_id : each.issue_id;
    found.push({ bead: await desk.work.get(other), type: each.type });
  }
  if (desk.context.json) {
    desk.json(found.map(({ bead, type: kind }) => ({ ...beadJson(bead), dependency_type: kind })));
  } else {
    const lines = found.map(({ bead, type: kind }) => beadLine(bead).replace(/\n$/, ` (${kind})\n`));
    desk.context.out.write(lines.join(''));
  }
}

export async function listLabels(desk: Desk, id: string): Promise<void> {
  const { labels } = await desk.work.get(id);
  if (desk.context.json) desk.json(labels);
  else desk.context.out.write(labels.map((label) => `${onePlainLine(label)}\n`).join(''));
}

export async function comments(desk: Desk): Promise<void> {
  const [id] = idsOf(desk);
  if (id === undefined) return;
  await desk.work.get(id);
  const said = await desk.work.comments(id);
  if (desk.context.json) desk.json(said);
  else desk.context.out.write(commentsText(said));
}

/** Gates of the scope; open ones unless `--all`. Answers how many of them are open. */
export async function listGates(desk: Desk): Promise<number> {
  const limit = desk.input.count('limit') ?? 0;
  const { filter } = await desk.scope();
  const gates = await desk.work.list({
    ...filter,
    type: 'gate',
    includeClosed: desk.input.flag('all'),
    limit,
  });
  desk.print(gates, beadLine);
  return gates.filter(({ status }) => status !== 'closed').length;
}

/** The ids that a verb was given. @throws UsageError when there is none */
export function idsOf(desk: Desk): readonly string[] {
  const ids = desk.input.rest('words').filter((word) => word !== '');
  if (ids.length === 0) throw new UsageError(`${desk.input.optionalArg('verb')} needs the id of a bead`);
  return ids;
}
