import { beadJson } from '../../../internal/beads/bead-json.ts';
import type { WorkPatch } from '../../../internal/beads/work-store.ts';
import { UsageError } from '../cli/input.ts';
import type { Desk } from './desk.ts';
import { idsOf, listDependencies, listGates, listLabels } from './read-verbs.ts';
import { createRequest, requireLabel, requireWord, updatePatch } from './request.ts';

/** With `--json` one object, not an array: scripts read `.id`. Source: beads. */
export async function create(desk: Desk): Promise<void> {
  const { bead, needs } = createRequest(desk.input);
  const { prefix } = await desk.scope();
  const change = await desk.work.create({ ...bead, prefix }, needs);
  const { context, input } = desk;
  if (context.json || input.flag('silent')) {
    await desk.announce([change]);
    if (!change.after) return;
    if (context.json) desk.json(beadJson(change.after));
    else context.out.write(`${change.after.id}\n`);
  } else await desk.changed([change], 'Created');
}

export async function update(desk: Desk): Promise<void> {
  const { input, work, actor } = desk;
  const ids = idsOf(desk);
  const patch: WorkPatch = updatePatch(input);
  if (input.flag('claim')) {
    if (patch.assignee !== undefined) throw new UsageError('--claim and --assignee exclude each other');
    return desk.changed(await work.claim(ids, actor, patch), 'Claimed');
  }
  if (Object.keys(patch).length === 0 && !input.flag('persistent')) {
    throw new UsageError('update says nothing to change');
  }
  return desk.changed(await work.update(ids, patch), 'Updated');
}

export async function close(desk: Desk): Promise<void> {
  const ids = idsOf(desk);
  return desk.changed(await desk.work.close(ids, desk.input.text('reason') ?? ''), 'Closed');
}

export async function reopen(desk: Desk): Promise<void> {
  return desk.changed(await desk.work.reopen(idsOf(desk)), 'Reopened');
}

export async function remove(desk: Desk): Promise<void> {
  const ids = idsOf(desk);
  if (!desk.input.flag('force')) {
    throw new UsageError(
      `delete cannot be undone; nothing was deleted. Say --force to delete ${ids.join(', ')}`,
    );
  }
  return desk.changed(await desk.work.delete(ids), 'Deleted');
}

export async function comment(desk: Desk): Promise<void> {
  const [id = '', ...words] = idsOf(desk);
  const text = words.length === 1 && words[0] === '-' ? await desk.context.readStdin() : words.join(' ');
  if (text.trim() === '') throw new UsageError('comment needs the id of a bead and a text');
  return desk.changed(await desk.work.addComment(id, text), 'Commented on');
}

export async function dep(desk: Desk): Promise<void> {
  const [action = '', id, on, ...more] = desk.input.rest('words');
  if (action === 'list' && id !== undefined && on === undefined) return listDependencies(desk, id);
  if (id === undefined || on === undefined || more.length > 0 || !['add', 'remove'].includes(action)) {
    throw new UsageError('dep wants: add <id> <needs>, remove <id> <needs>, or list <id>');
  }
  if (action === 'remove') return desk.changed(await desk.work.removeDependency(id, on), 'Updated');
  const type = requireWord('the type of a dependency', desk.input.text('type') || 'blocks');
  return desk.changed(await desk.work.addDependency({ issue_id: id, depends_on_id: on, type }), 'Updated');
}

export async function label(desk: Desk): Promise<void> {
  const [action = '', ...words] = desk.input.rest('words');
  const [id] = words;
  if (action === 'list' && id !== undefined && words.length === 1) return listLabels(desk, id);
  const ids = words.slice(0, -1);
  const name = words.at(-1) ?? '';
  if (ids.length === 0 || name === '' || !['add', 'remove'].includes(action)) {
    throw new UsageError('label wants: add <id>... <label>, remove <id>... <label>, or list <id>');
  }
  const patch = action === 'add' ? { addLabels: [requireLabel(name)] } : { removeLabels: [name] };
  return desk.changed(await desk.work.update(ids, patch), 'Updated');
}

/** No gate opens by a clock or a build here: a person or an agent closes it. */
export async function gate(desk: Desk): Promise<void> {
  const [action = '', ...ids] = desk.input.rest('words');
  if (action === 'list' && ids.length === 0) {
    await listGates(desk);
    return;
  }
  if (action === 'check' && ids.length === 0) {
    const shut = await listGates(desk);
    if (shut > 0) desk.context.err.write('a gate opens when it is closed: gc bd gate close <id>\n');
    return;
  }
  if (action === 'close' && ids.length > 0) {
    return desk.changed(await desk.work.close(ids, desk.input.text('reason') ?? '', 'gate'), 'Closed');
  }
  throw new UsageError('gate wants: list, check, or close <id>');
}
