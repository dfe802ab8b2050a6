import type { CityApi } from '../../../internal/controller/city-api.ts';
import type { CityEvent, EventFilter } from '../../../internal/events/event.ts';
import { withCity } from '../city/access.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { eventLine, renderEventTable } from '../output/event-text.ts';

const DEFAULT_WATCH_TIMEOUT_MS = 30_000;
/** Events that are recorded together come out together. */
const BATCH_GAP_MS = 50;

export const runEvents: CommandRun = async (context, input) => {
  const matches = matcherOf(input);
  if (input.flag('seq')) return printSeq(context);
  if (input.flag('follow')) return follow(context, input, matches);
  if (input.flag('watch')) return watch(context, input, matches);
  return list(context, input, matches);
};

async function printSeq(context: Context): Promise<number> {
  const seq = await withCity(context, ({ api }) => newestSeq(api));
  context.out.write(`${seq}\n`);
  return 0;
}

async function list(context: Context, input: Input, matches: Matcher): Promise<number> {
  const filter = filterOf(context, input);
  const events = (await withCity(context, ({ api }) => api.events(filter))).filter(matches);
  const columns = context.out.isTTY ? context.out.columns : undefined;
  context.out.write(
    context.json ? `${JSON.stringify(events, null, 2)}\n` : renderEventTable(events, columns),
  );
  return 0;
}

/** Prints what comes as JSON lines until Ctrl-C or until nobody reads. */
async function follow(context: Context, input: Input, matches: Matcher): Promise<number> {
  await withCity(context, async ({ api }) => {
    const after = input.count('after') ?? (await newestSeq(api));
    for await (const event of api.followEvents(after, context.signal)) {
      if (!matches(event)) continue;
      context.out.write(eventLine(event));
      await context.out.flush();
    }
  });
  return 0;
}

/** Prints the first matching events, those that come together with it included. A timeout prints nothing and is a success. */
async function watch(context: Context, input: Input, matches: Matcher): Promise<number> {
  const timeoutMs = input.duration('timeout') ?? DEFAULT_WATCH_TIMEOUT_MS;
  const lifetime = new AbortController();
  const signal = AbortSignal.any([context.signal, lifetime.signal]);
  const endAfter = (ms: number) => {
    context.clock.sleep(ms, signal).then(
      () => lifetime.abort(),
      () => undefined, // ended already
    );
  };
  endAfter(timeoutMs);
  let found = false;
  await withCity(context, async ({ api }) => {
    const after = input.count('after') ?? (await newestSeq(api));
    for await (const event of api.followEvents(after, signal)) {
      if (!matches(event)) continue;
      context.out.write(eventLine(event));
      if (!found) endAfter(BATCH_GAP_MS);
      found = true;
    }
  });
  lifetime.abort();
  return 0;
}

/**
 * The number of the newest event, 0 when there is none. The list is asked from the front only, so the end is found by
 * doubling steps and then halving them: some twenty short questions, however long the list.
 */
async function newestSeq(api: CityApi): Promise<number> {
  const firstAfter = async (afterSeq: number) => (await api.events({ afterSeq, limit: 1 })).at(0)?.seq;
  let low = 0;
  let step = 1;
  for (;;) {
    const seq = await firstAfter(low + step - 1);
    if (seq === undefined) break;
    low = seq;
    step *= 2;
  }
  let high = low + step - 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const seq = await firstAfter(middle);
    if (seq === undefined) high = middle;
    else low = seq;
  }
  return low;
}

function filterOf(context: Context, input: Input): EventFilter {
  const type = input.text('type');
  const since = input.duration('since');
  const afterSeq = input.count('after');
  return {
    ...(type === undefined ? {} : { type }),
    ...(since === undefined ? {} : { since: context.clock.now() - since }),
    ...(afterSeq === undefined ? {} : { afterSeq }),
  };
}

type Matcher = (event: CityEvent) => boolean;

/** One key given twice: either value; different keys: all of them. Source: Gas City `gc events --payload-match`. */
function matcherOf(input: Input): Matcher {
  const wanted = new Map<string, Set<string>>();
  for (const pair of input.texts('payload-match')) {
    const equals = pair.indexOf('=');
    if (equals < 1) throw new UsageError(`--payload-match wants key=value, not "${pair}"`);
    const key = pair.slice(0, equals);
    wanted.set(key, (wanted.get(key) ?? new Set()).add(pair.slice(equals + 1)));
  }
  const type = input.text('type');
  return (event) => {
    if (type !== undefined && event.type !== type) return false;
    const payload: unknown = event.payload;
    const fields = typeof payload === 'object' && payload !== null ? Object.entries(payload) : [];
    const values = new Map(
      fields.map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]),
    );
    return [...wanted].every(([key, allowed]) => allowed.has(values.get(key) ?? '\u0000'));
  };
}
