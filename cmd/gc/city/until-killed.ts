import type { Context } from '../context.ts';

const NAP_MS = 3_600_000;

/** Waits for the end of the session that it runs in. Ends by a signal only. */
export async function untilKilled(context: Context, live: boolean): Promise<never> {
  if (!live)
    context.err.write('gc: no controller runs; the session is restarted as soon as one does (gc start)\n');
  await context.out.flush();
  for (;;) await context.clock.sleep(NAP_MS, context.signal);
}
