import type { CityStatus } from '../../../internal/controller/city-api.ts';
import { withCity } from '../city/access.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';

export const runStatus: CommandRun = async (context, input) => {
  if (input.flag('resources')) return runResources(context, input.optionalArg('path'));
  const status = await withCity(context, ({ api }) => api.status(), input.optionalArg('path'));
  context.out.write(await statusText(status, context));
  return 0;
};

async function runResources(context: Context, path: string | undefined): Promise<number> {
  const resources = await withCity(context, ({ api }) => api.resources(), path);
  if (context.json) context.out.write(`${JSON.stringify(resources, null, 2)}\n`);
  else {
    const { renderResources } = await import('../output/resources-text.ts');
    context.out.write(renderResources(resources, context.out.isTTY ? context.out.columns : undefined));
  }
  return 0;
}

/** Each form loads what it needs: measuring text is the larger part of a fast answer. */
async function statusText(status: CityStatus, context: Context): Promise<string> {
  if (context.json) return `${JSON.stringify(status, null, 2)}\n`;
  if (!context.out.isTTY) return (await import('../output/status-text.ts')).renderStatusText(status);
  const { renderBoard } = await import('../output/board.ts');
  return renderBoard(status, {
    now: context.clock.now(),
    columns: context.out.columns,
    home: context.env['HOME'],
    style: context.out.style,
    gc: context.gc,
  });
}
