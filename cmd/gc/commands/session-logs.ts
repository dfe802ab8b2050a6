import type { CityApi, LogEntry } from '../../../internal/controller/city-api.ts';
import { GcError } from '../../../internal/platform/errors.ts';
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
    const entries = await api.logs(session, { tail }).catch((error: unknown) => {
      throw inWordsOfLogs(error, session);
    });
    await print(context, entries, input.flag('follow'));
    if (input.flag('follow')) await follow(context, api, session, entries, tail);
    return 0;
  });
};

/** Source: what Gas City says here; names that come near stay in it. */
function inWordsOfLogs(error: unknown, session: string): unknown {
  const prefix = `session not found: ${JSON.stringify(session)}`;
  if (!(error instanceof GcError) || !error.message.startsWith(prefix)) return error;
  const rest = error.message.slice(prefix.length);
  const message = `session ${JSON.stringify(session)} not found${rest}`;
  return new GcError(error.code, message, error.next === undefined ? {} : { next: error.next });
}

async function print(context: Context, entries: readonly LogEntry[], asLines: boolean): Promise<void> {
  if (!context.json) context.out.write(entries.map(logText).join(''));
  else if (asLines) context.out.write(entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
  else context.out.write(`${JSON.stringify(entries, null, 2)}\n`);
  await context.out.flush();
}

/** What is not printed yet: everything from the first entry on that is another one than before (a compaction, a file written anew). */
export function notPrinted(printed: readonly LogEntry[], entries: readonly LogEntry[]): readonly LogEntry[] {
  const same = entries.findIndex((entry, index) => {
    const before = printed[index];
    return before?.text !== entry.text || before.at !== entry.at || before.type !== entry.type;
  });
  return same < 0 ? [] : entries.slice(same);
}

/** Prints what is new every two seconds, until Ctrl-C. */
async function follow(
  context: Context,
  api: CityApi,
  session: string,
  known: readonly LogEntry[],
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
      const next = notPrinted(seen, entries);
      if (next.length > 0) await print(context, next, true);
      seen = entries;
    } catch (error) {
      errors += 1;
      if (errors >= MAX_READ_ERRORS) throw error;
    }
  }
}
