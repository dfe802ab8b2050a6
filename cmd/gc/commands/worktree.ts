import { realpath } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { CityApi, SessionCondition } from '../../../internal/controller/city-api.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { inspectWorktrees, type UsedBy } from '../../../internal/worktree/inspect-worktrees.ts';
import { type Pruned, pruneWorktree } from '../../../internal/worktree/prune-worktrees.ts';
import type { WorktreeHome } from '../../../internal/worktree/registry.ts';
import { stateWord, type WorktreeState, whyItStays } from '../../../internal/worktree/why-it-stays.ts';
import { type CityHandle, withCity } from '../city/access.ts';
import { typed } from '../city/invocation.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { onePlainLine } from '../output/plain.ts';
import { renderTable } from '../output/table.ts';
import { shortPath } from '../output/times.ts';

export const runWorktreeList: CommandRun = async (context) => {
  const states = await withCity(context, (city) => statesOf(context, city));
  if (context.json) context.out.write(`${JSON.stringify(states.map(stateJson), null, 2)}\n`);
  else if (states.length === 0) context.out.write('No worktrees found.\n');
  else {
    const rows = states.map((state) => [
      state.session || '-',
      state.branch || '-',
      stateWord(state),
      shortPath(state.path, context.env['HOME']),
      onePlainLine(whyItStays(state) ?? '-'),
    ]);
    context.out.write(table(context, ['SESSION', 'BRANCH', 'STATE', 'PATH', 'STAYS BECAUSE'], rows));
  }
  return 0;
};

export const runWorktreePrune: CommandRun = async (context, input) => {
  const name = input.optionalArg('name');
  const dryRun = input.flag('dry-run');
  const outcomes = await withCity(context, async (city) => {
    const all = await statesOf(context, city);
    const chosen = name === undefined ? all : all.filter((state) => isMeant(context, state, name));
    if (name !== undefined && chosen.length === 0) {
      throw new GcError('worktree-not-found', `no worktree "${name}"`, { next: 'gc worktree list' });
    }
    const usedBy = inhabitants(city.api);
    const done: Outcome[] = [];
    for (const state of chosen) {
      context.signal.throwIfAborted();
      const options = { usedBy, dryRun, signal: context.signal };
      done.push({ state, pruned: await pruneWorktree(homeOf(context, city.root), state.path, options) });
    }
    return done;
  });
  if (context.json) context.out.write(`${JSON.stringify(outcomes.map(outcomeJson), null, 2)}\n`);
  else context.out.write(outcomesText(context, outcomes, dryRun));
  return name !== undefined && outcomes.some(({ pruned }) => pruned.kind === 'stays') ? 1 : 0;
};

interface Outcome {
  readonly state: WorktreeState;
  readonly pruned: Pruned;
}

function homeOf(context: Context, root: string): WorktreeHome {
  return { gcDir: join(root, '.gc'), env: context.env, clock: context.clock, ids: systemIds };
}

async function statesOf(context: Context, { api, root }: CityHandle): Promise<readonly WorktreeState[]> {
  const { rigs } = await api.status();
  return inspectWorktrees(homeOf(context, root), rigs, inhabitants(api), context.signal);
}

/** Nothing of the session runs, and that is known. */
const DOWN: ReadonlySet<SessionCondition> = new Set([
  'backing-off',
  'quarantined',
  'asleep',
  'suspended',
  'stopped',
  'closed',
]);

/** Asked anew each time: a start that began in between has written down where it goes. */
function inhabitants(api: CityApi): UsedBy {
  return async (path) => {
    const place = await realOf(path);
    for (const session of await api.sessions()) {
      if (session.work_dir === '' || DOWN.has(session.condition)) continue;
      if ((await realOf(session.work_dir)) === place) return session.display_name;
    }
    return undefined;
  };
}

/** A path without links; one that is not there is only compared. */
async function realOf(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}

function isMeant(context: Context, { path, session, branch }: WorktreeState, name: string): boolean {
  return [session, branch, basename(path), path].includes(name) || resolve(context.cwd, name) === path;
}

function outcomesText(context: Context, outcomes: readonly Outcome[], dryRun: boolean): string {
  if (outcomes.length === 0) return 'No worktrees found.\n';
  const rows = outcomes.map(({ state, pruned }) => [
    onePlainLine(outcomeWord(pruned)),
    state.session || '-',
    state.branch || '-',
    shortPath(state.path, context.env['HOME']),
    onePlainLine(pruned.kind === 'stays' ? pruned.why : branchText(pruned)),
  ]);
  const would = outcomes.some(({ pruned }) => pruned.kind === 'would-go');
  const next = dryRun && would ? `${typed('gc worktree prune', context.gc)} removes them\n` : '';
  return table(context, ['WHAT', 'SESSION', 'BRANCH', 'PATH', 'WHY'], rows) + next;
}

function outcomeWord(pruned: Pruned): string {
  switch (pruned.kind) {
    case 'removed':
      return 'removed';
    case 'would-go':
      return 'would go';
    case 'stays':
      return 'stays';
  }
}

function branchText(pruned: Exclude<Pruned, { kind: 'stays' }>): string {
  if (pruned.kind === 'would-go') return 'nothing keeps it';
  return pruned.branchDeleted ? 'its branch too: all of it is in its base' : 'its branch stays';
}

const PATH_COLUMN = 3;
const WHY_COLUMN = 4;

function table(context: Context, header: readonly string[], rows: readonly (readonly string[])[]): string {
  const limits = context.out.isTTY ? { maxColumns: context.out.columns } : {};
  return renderTable(header, rows, { ...limits, shrinks: [PATH_COLUMN, 2, 1, WHY_COLUMN] });
}

function stateJson(state: WorktreeState): Readonly<Record<string, unknown>> {
  return {
    session: state.session,
    rig: state.rig,
    branch: state.branch,
    path: state.path,
    state: stateWord(state),
    made_here: state.ours,
    in_use_by: state.usedBy ?? null,
    uncommitted: state.uncommitted,
    unpushed: state.unpushed,
    stays_because: whyItStays(state) ?? null,
  };
}

function outcomeJson({ state, pruned }: Outcome): Readonly<Record<string, unknown>> {
  return {
    session: state.session,
    branch: state.branch,
    path: state.path,
    outcome: pruned.kind,
    branch_deleted: pruned.kind === 'removed' && pruned.branchDeleted,
    stays_because: pruned.kind === 'stays' ? pruned.why : null,
  };
}
