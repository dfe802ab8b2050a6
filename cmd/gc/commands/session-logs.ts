import type { CityApi, LogEntry } from '../../../internal/controller/city-api.ts';
import { withCity } from '../city/access.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { logText } from '../output/log-text.ts';

const FOLLOW_POLL_MS = 2_000;
const MAX_READ_ERRORS = 5;

export const runSessionLogs: CommandRun = async (context, input) => {
  const session = input.arg('session');
  const tail = input.count('tail') ?? 1;
  return withCity(context, async ({ api }) => {
    const entries = await api.logs(session, { tail });
    await print(context, entries, input.flag('follow'));
    if (input.flag('follow')) await follow(context, api, session, entries.length, tail);
    return 0;
  });
};

async function print(context: Context, entries: readonly LogEntry[], asLines: boolean): Promise<void> {
  if (!context.json) context.out.write(entries.map(logText).join(''));
  else if (asLines) context.out.write(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  else context.out.write(`${JSON.stringify(entries, null, 2)}\n`);
  await context.out.flush();
}

/** Prints what is new every two seconds, until Ctrl-C. A transcript that shrank (a compaction) is printed from its start. */
async function follow(
  context: Context,
  api: CityApi,
  session: string,
  known: number,
  tail: number,
): Promise<void> {
  let seen = known;
  let errors = 0;
  while (!context.signal.aborted) {
    try {
      await context.clock.sleep(FOLLOW_POLL_MS, context.signal);
    } catch {
      return; // Ctrl-C, or nobody reads any more
    }
    try {
      const entries = await api.logs(session, { tail });
      errors = 0;
      if (entries.length < seen) seen = 0;
      if (entries.length > seen) await print(context, entries.slice(seen), true);
      seen = entries.length;
    } catch (error) {
      errors += 1;
      if (errors >= MAX_READ_ERRORS) throw error;
    }
  }
}
