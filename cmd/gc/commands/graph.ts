import { CONVOY_TYPE } from '../../../internal/beads/convoy.ts';
import type { Bead } from '../../../internal/beads/store.ts';
import type { WorkView } from '../../../internal/beads/work.ts';
import { UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import { graphMermaid, graphTable, graphTree } from '../output/graph-text.ts';
import { withWork } from '../work/work-place.ts';

export const runGraph: CommandRun = (context, input) => {
  const ids = input.rest('ids');
  if (ids.length === 0) throw new UsageError('gc graph needs a bead or a convoy', 'gc convoy list');
  if (input.flag('tree') && input.flag('mermaid')) {
    throw new UsageError('--tree and --mermaid exclude each other');
  }
  return withWork(context, input, async ({ work }) => {
    const { beads, others } = await work.look((view) => {
      const shown = beadsMeant(view, ids);
      return { beads: shown, others: neighbours(view, shown) };
    });
    const draw = input.flag('tree') ? graphTree : input.flag('mermaid') ? graphMermaid : graphTable;
    context.out.write(draw(beads, others));
    return 0;
  });
};

function beadsMeant(view: WorkView, ids: readonly string[]): readonly Bead[] {
  const beads = new Map<string, Bead>();
  for (const id of ids) {
    const bead = view.get(id);
    const meant =
      bead.issue_type === CONVOY_TYPE ? view.list({ parent: bead.id, includeClosed: true }) : [bead];
    for (const each of meant) beads.set(each.id, each);
  }
  return [...beads.values()];
}

/** What they wait for that is not among them. */
function neighbours(view: WorkView, beads: readonly Bead[]): readonly Bead[] {
  const shown = new Set(beads.map(({ id }) => id));
  const needed = beads.flatMap((bead) => bead.dependencies.map((each) => each.depends_on_id));
  return [...new Set(needed)].filter((id) => !shown.has(id)).flatMap((id) => view.find(id) ?? []);
}
