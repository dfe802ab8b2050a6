import { withCity } from '../city/access.ts';
import type { CommandRun } from '../cli/spec.ts';
import { renderExplanation } from '../output/explain-text.ts';

export const runExplain: CommandRun = async (context, input) => {
  const session = input.arg('session');
  const explanation = await withCity(context, ({ api }) => api.explain(session));
  context.out.write(
    context.json
      ? `${JSON.stringify(explanation, null, 2)}\n`
      : renderExplanation(explanation, {
          now: context.clock.now(),
          columns: context.out.columns,
          style: context.out.style,
          gc: context.gc,
        }),
  );
  return 0;
};
