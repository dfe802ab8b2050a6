import { GcError } from '../../platform/errors.ts';
import { identityOf } from '../../platform/process-identity.ts';
import { killTree, snapshotProcesses, treeOf } from '../../platform/process-tree.ts';
import { lookup, type TmuxContext, unavailable } from './context.ts';
import { exactSession, exactTarget, OWNER_OPTION, PANE_OPTION, SESSION_OPTION } from './ownership.ts';
import type { OwnedSession, PaneRow } from './pane-rows.ts';
import type { Command } from './quote.ts';

/**
 * Ends an agent's process tree, then removes its session. A person's own pane in that session lives on: then only the
 * agent's pane is closed, and the session is renamed and no longer ours, which frees the name.
 * @throws RuntimeUnavailableError when the server could not be asked; GcError `processes-left` naming what survived KILL.
 */
export async function killSession(
  context: TmuxContext,
  name: string,
  graceMs: number,
  onFound: (pane: PaneRow) => void,
): Promise<void> {
  const found = await present(context, name);
  if (!found) return;
  if (found.pane) onFound(found.pane);
  const left = found.pane ? await endProcesses(context, found.pane, graceMs) : [];
  const rest = await present(context, name);
  if (rest) await remove(context, rest);
  const still = await present(context, name);
  if (left.length > 0) {
    throw new GcError('processes-left', `session "${name}": processes ${left.join(', ')} did not end`, {
      next: `kill -9 ${left.join(' ')}`,
    });
  }
  if (still) throw new GcError('session-left', `session "${name}" is still there after it was removed`);
}

async function present(context: TmuxContext, name: string): Promise<OwnedSession | undefined> {
  const found = await lookup(context, name);
  if (found.kind === 'unknown') throw unavailable(context, found.reason);
  return found.kind === 'present' ? found.session : undefined;
}

/** A dead pane keeps its old pid, which may be somebody else's by now, so nothing is signalled for it. */
async function endProcesses(
  context: TmuxContext,
  pane: PaneRow,
  graceMs: number,
): Promise<readonly number[]> {
  if (pane.dead) return [];
  const table = snapshotProcesses();
  const leader = identityOf(pane.pid);
  // The server is the parent of its panes' processes: that proves the pid is still the pane's.
  if (!leader || table.entry(pane.pid)?.ppid !== pane.serverPid) return [];
  const known = treeOf(pane.pid, table);
  return (await killTree(leader, { graceMs, clock: context.clock, known })).left;
}

async function remove(context: TmuxContext, session: OwnedSession): Promise<void> {
  const livingOthers = session.others.some((pane) => !pane.dead);
  const group = livingOthers
    ? handOver(context, session)
    : [['kill-session', '-t', exactSession(session.name)]];
  const reply = await context.transport.run(group);
  if (reply.kind === 'no-answer') throw unavailable(context, reply.detail);
}

function handOver(context: TmuxContext, session: OwnedSession): readonly Command[] {
  const target = exactTarget(session.name);
  return [
    ['set-option', '-u', '-t', target, OWNER_OPTION],
    ['set-option', '-u', '-t', target, SESSION_OPTION],
    ['set-option', '-u', '-t', target, PANE_OPTION],
    ['rename-session', '-t', exactSession(session.name), `${session.name}-kept-${context.ids.hex(2)}`],
    ...(session.pane ? [['kill-pane', '-t', session.pane.paneId]] : []),
  ];
}
