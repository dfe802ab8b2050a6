import { loadWithPacks } from '../city/provide-packs.ts';
import type { Context } from '../context.ts';
import { runStandalone } from '../serve.ts';

/** Runs the controller of one city here; every mistake in the city file is shown before anything is touched. */
export async function runForeground(context: Context, root: string): Promise<number> {
  await loadWithPacks(context, root);
  return runStandalone(context, root);
}
