import {
  addToConvoy,
  closeConvoy,
  closeDoneConvoys,
  convoyOf,
  convoysOf,
  createConvoy,
  isMerge,
  landConvoy,
  openConvoys,
  setConvoyTarget,
  strandedWork,
} from '../../../internal/beads/convoy.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import {
  convoyData,
  convoyStatusText,
  convoyTable,
  openWorkText,
  strandedTable,
} from '../output/convoy-text.ts';
import { type WorkPlace, withWork } from '../work/work-place.ts';

export const runConvoyCreate: CommandRun = async (context, input) => {
  const [name, ...issues] = input.rest('words');
  if (!name) throw new UsageError('missing convoy name', 'gc convoy create <name> [issues...]');
  const merge = input.text('merge');
  if (merge !== undefined && !isMerge(merge)) throw new UsageError('--merge must be direct, mr, or local');
  return withWork(context, input, async ({ work, actor, scope }) => {
    const { prefix } = await scope();
    const convoy = await work.transaction((tx) =>
      createConvoy(
        tx,
        {
          name,
          issues,
          prefix,
          owner: input.text('owner'),
          notify: input.text('notify'),
          merge,
          target: input.text('target'),
          owned: input.flag('owned'),
        },
        actor,
      ),
    );
    const count = convoy.children.length;
    const tracking = count === 0 ? '' : ` tracking ${count} issue(s)`;
    if (context.json) context.out.write(json(convoyData(convoy)));
    else context.out.write(`Created convoy ${convoy.bead.id} "${name}"${tracking}\n`);
    return 0;
  });
};

export const runConvoyList: CommandRun = (context, input) =>
  withWork(context, input, async ({ work }) => {
    const convoys = await work.look(openConvoys);
    context.out.write(context.json ? json(convoys.map(convoyData)) : convoyTable(convoys));
    return 0;
  });

export const runConvoyStatus: CommandRun = (context, input) =>
  onConvoy(input, (id) =>
    withWork(context, input, async ({ work }) => {
      const convoy = await work.look((view) => convoyOf(view, id));
      context.out.write(context.json ? json(convoyData(convoy)) : convoyStatusText(convoy));
      return 0;
    }),
  );

export const runConvoyTarget: CommandRun = (context, input) => {
  const [id, branch] = twoWords(input, 'usage: gc convoy target <convoy-id> <branch>');
  return withWork(context, input, async ({ work, actor }) => {
    await work.transaction((tx) => setConvoyTarget(tx, id, branch, actor));
    context.out.write(`Set target of convoy ${id} to ${branch}\n`);
    return 0;
  });
};

export const runConvoyAdd: CommandRun = (context, input) => {
  const [id, issue] = twoWords(input, 'usage: gc convoy add <convoy-id> <issue-id>');
  return withWork(context, input, async ({ work, actor }) => {
    await work.transaction((tx) => addToConvoy(tx, id, issue, actor));
    context.out.write(`Added ${issue} to convoy ${id}\n`);
    return 0;
  });
};

export const runConvoyClose: CommandRun = (context, input) =>
  onConvoy(input, (id) =>
    withWork(context, input, async ({ work, actor }) => {
      await work.transaction((tx) => closeConvoy(tx, id, actor));
      context.out.write(`Closed convoy ${id}\n`);
      return 0;
    }),
  );

export const runConvoyCheck: CommandRun = (context, input) =>
  withWork(context, input, async ({ work, actor }) => {
    const closed = await work.transaction((tx) => closeDoneConvoys(tx, actor));
    const lines = closed.map(({ bead }) => `Auto-closed convoy ${bead.id} "${bead.title}"\n`);
    context.out.write(`${lines.join('')}${closed.length} convoy(s) auto-closed\n`);
    return 0;
  });

/** For hooks that run when a bead is closed: it says nothing and never fails. Source: Gas City. */
export const runConvoyAutoclose: CommandRun = async (context, input) => {
  const ids = input.rest('words');
  try {
    await withWork(context, input, (place) => closeConvoysOf(place, ids));
  } catch {
    return 0; // the next look at all convoys closes it
  }
  return 0;
};

export const runConvoyLand: CommandRun = (context, input) =>
  onConvoy(input, (id) =>
    withWork(context, input, async ({ work, actor }) => {
      const options = { force: input.flag('force'), dryRun: input.flag('dry-run'), actor };
      const landing = await work.transaction((tx) => landConvoy(tx, id, options));
      const named = `convoy ${id} "${landing.convoy.bead.title}"`;
      switch (landing.kind) {
        case 'landed':
          context.out.write(`Landed ${named}\n`);
          return 0;
        case 'would-land':
          context.out.write(`Would land ${named}\n`);
          return 0;
        case 'open-work':
          context.err.write(`gc convoy land: ${named} has open work\n${openWorkText(landing.open)}`);
          return 1;
      }
    }),
  );

export const runConvoyStranded: CommandRun = (context, input) =>
  withWork(context, input, async ({ work }) => {
    const found = await work.look(strandedWork);
    const data = found.map(({ convoy, issue }) => ({
      convoy: convoy.id,
      issue: issue.id,
      title: issue.title,
    }));
    context.out.write(context.json ? json(data) : strandedTable(found));
    return 0;
  });

/** What all work of was done among the convoys of these beads is closed. */
async function closeConvoysOf({ work, actor }: WorkPlace, ids: readonly string[]): Promise<void> {
  await work.transaction((tx) => closeDoneConvoys(tx, actor, convoysOf(tx.beads, ids)));
}

async function onConvoy(input: Input, run: (id: string) => Promise<number>): Promise<number> {
  const [id, ...more] = input.rest('words');
  if (!id) throw new UsageError('missing convoy ID', 'gc convoy list');
  if (more.length > 0) throw new UsageError(`one convoy at a time, not also ${more.join(' ')}`);
  return run(id);
}

function twoWords(input: Input, usage: string): readonly [string, string] {
  const [first, second, ...more] = input.rest('words');
  if (!first || !second || more.length > 0) throw new UsageError(usage, 'gc convoy list');
  return [first, second];
}

const json = (data: unknown): string => `${JSON.stringify(data, null, 2)}\n`;
