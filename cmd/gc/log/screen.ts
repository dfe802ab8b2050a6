import type { Context } from '../context.ts';
import type { Screen } from '../output/session-log-text.ts';

/** What texts are fitted to; `undefined` in a pipe. */
export const screenOf = ({ out, clock }: Context): Screen | undefined =>
  out.isTTY ? { columns: out.columns, now: clock.now() } : undefined;
