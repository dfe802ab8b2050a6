import { withCity } from '../city/access.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { canceledText, readyText, waitsTable, waitText } from '../output/wait-text.ts';

export const runWaitList: CommandRun = async (context, input) => {
  const state = input.text('state');
  const session = input.text('session');
  const filter = { ...(state ? { state } : {}), ...(session ? { session } : {}) };
  const waits = await withCity(context, ({ api }) => api.waits.list(filter));
  return print(context, waits, () => waitsTable(waits, context.out.isTTY ? context.out.columns : undefined));
};

export const runWaitInspect: CommandRun = async (context, input) => {
  const id = input.arg('wait');
  const wait = await withCity(context, ({ api }) => api.waits.inspect(id));
  return print(context, wait, () => waitText(wait));
};

export const runWaitCancel: CommandRun = async (context, input) => {
  const id = input.arg('wait');
  const wait = await withCity(context, ({ api }) => api.waits.cancel(id));
  return print(context, wait, () => canceledText(wait));
};

export const runWaitReady: CommandRun = async (context, input) => {
  const id = input.arg('wait');
  const reply = await withCity(context, ({ api }) => api.waits.ready(id));
  return print(context, reply, () => readyText(reply));
};

function print(context: Context, data: unknown, text: () => string): number {
  context.out.write(context.json ? `${JSON.stringify(data, null, 2)}\n` : text());
  return 0;
}
