import type { TraceFilter, TraceRecord, TraceStatus } from '../../../internal/controller/trace-api.ts';
import { shortDuration } from '../../../internal/platform/duration.ts';
import { withCity } from '../city/access.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { reasonsText, recordLine, recordLines, traceStatusText } from '../output/trace-text.ts';
import { shellWord } from '../output/words.ts';

const DEFAULT_ARM_MS = 15 * 60_000;
const TAIL_SHOWN = 20;
const TAIL_POLL_MS = 1_000;
const TAIL_PAGE = 500;

export const runTraceStart: CommandRun = async (context, input) => {
  const template = templateOf(input);
  const for_ms = input.duration('for') ?? DEFAULT_ARM_MS;
  const source = input.flag('auto') ? 'auto' : 'manual';
  const level = levelOf(input.text('level') ?? 'baseline');
  const status = await withCity(context, ({ api }) => api.trace.arm({ template, for_ms, level, source }));
  const code = armsChanged(context, status, `armed ${source} ${template} for ${lengthText(for_ms)}`);
  if (context.out.isTTY && !context.json) {
    const tail = `${context.gc} trace tail --template ${shellWord(template)}`;
    context.out.write(`\n  ${tail}   what comes, until Ctrl-C\n`);
  }
  return code;
};

export const runTraceStop: CommandRun = async (context, input) => {
  const template = templateOf(input);
  const all = input.flag('all');
  const status = await withCity(context, ({ api }) => api.trace.disarm({ template, all }));
  return armsChanged(
    context,
    status,
    all ? `cleared trace arms for ${template}` : `cleared manual trace arm for ${template}`,
  );
};

export const runTraceStatus: CommandRun = async (context) => {
  const status = await withCity(context, ({ api }) => api.trace.status());
  return print(context, status, (now) => traceStatusText(status, now));
};

export const runTraceShow: CommandRun = async (context, input) => {
  const wanted = showAs(context, input);
  const tick = input.count('tick');
  const filter: TraceFilter = {
    ...filterOf(context, input),
    ...present('trace_id', input.text('trace-id')),
    ...present('type', input.text('type')),
    ...present('reason', input.text('reason')),
    ...present('tick', tick),
  };
  const records = await withCity(context, ({ api }) => api.trace.records(filter));
  context.out.write(wanted === 'json' ? json(records) : recordLines(records, columnsOf(context)));
  return 0;
};

export const runTraceCycle: CommandRun = async (context, input) => {
  const tick = input.count('tick', 1);
  const records = await withCity(context, async ({ api }) => {
    const [newest] = await api.trace.records({ ...present('tick', tick), last: 1 });
    return newest ? api.trace.records({ trace_id: newest.trace_id }) : [];
  });
  const [first] = records;
  if (!first) {
    const which = tick === undefined ? 'no pass' : `no pass with tick ${tick}`;
    throw new UsageError(`${which} was traced`, 'gc trace start --template <agent>');
  }
  const { trace_id, at } = first;
  return print(context, { trace_id, tick: first.tick, at, records }, () =>
    recordLines(records, columnsOf(context)),
  );
};

export const runTraceReasons: CommandRun = async (context, input) => {
  const filter = filterOf(context, input);
  const reasons = await withCity(context, ({ api }) => api.trace.reasons(filter));
  return print(context, reasons, () => reasonsText(reasons));
};

/** The place is kept over everything that can happen to a controller: none is left out, and none comes twice. */
export const runTraceTail: CommandRun = async (context, input) => {
  const filter: TraceFilter = {
    ...filterOf(context, input),
    ...present('type', input.text('type')),
  };
  const asJson = context.json || !context.out.isTTY;
  let after: number | undefined;
  const tell = async (records: readonly TraceRecord[]): Promise<void> => {
    for (const record of records) {
      context.out.write(
        asJson ? `${JSON.stringify(record)}\n` : recordLine(record, columnsOf(context) ?? Infinity),
      );
      after = record.seq;
    }
    if (records.length > 0) await context.out.flush();
  };
  await withCity(context, async ({ api }) => {
    if (after === undefined) {
      await tell(await api.trace.records({ ...filter, last: TAIL_SHOWN }));
      after ??= 0;
    }
    while (!context.signal.aborted && !context.out.gone) {
      const page = await api.trace.records({ ...filter, after_seq: after, limit: TAIL_PAGE });
      await tell(page);
      if (page.length < TAIL_PAGE)
        await context.clock.sleep(TAIL_POLL_MS, context.signal).catch(() => undefined); // Ctrl-C
    }
  });
  return 0;
};

function armsChanged(context: Context, status: TraceStatus, text: string): number {
  context.out.write(context.json ? json(status) : `${text}\nactive trace arms: ${status.arms.length}\n`);
  return 0;
}

/** Data for programs, words for people. */
function print(context: Context, data: unknown, text: (now: number) => string): number {
  const asJson = context.json || !context.out.isTTY;
  context.out.write(asJson ? json(data) : text(context.clock.now()));
  return 0;
}

function showAs(context: Context, input: Input): 'json' | 'lines' {
  const word = input.text('json');
  if (word === undefined) return context.json || !context.out.isTTY ? 'json' : 'lines';
  if (word === 'true') return 'json';
  if (word === 'false') return 'lines';
  throw new UsageError(`--json is true or false, not "${word}"`);
}

function templateOf(input: Input): string {
  const template = input.text('template');
  if (template) return template;
  throw new UsageError('missing --template: the agent to watch', 'gc agent list');
}

function levelOf(word: string): 'baseline' | 'detail' {
  if (word === 'baseline' || word === 'detail') return word;
  throw new UsageError(`--level is detail or baseline, not "${word}"`);
}

function filterOf(context: Context, input: Input): TraceFilter {
  const since = input.duration('since');
  return {
    ...present('template', input.text('template')),
    ...present('since_ms', since === undefined ? undefined : context.clock.now() - since),
  };
}

function present<K extends string, V>(key: K, value: V | undefined): { readonly [key in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [key in K]: V });
}

/** `15m`, `1h30m`: what is left over is not dropped. */
function lengthText(ms: number): string {
  const [hours, minutes, seconds] = [
    Math.floor(ms / 3_600_000),
    Math.floor(ms / 60_000) % 60,
    (ms / 1_000) % 60,
  ];
  const text = `${hours ? `${hours}h` : ''}${minutes ? `${minutes}m` : ''}${seconds ? `${seconds}s` : ''}`;
  return text === '' ? shortDuration(ms) : text;
}

function columnsOf(context: Context): number | undefined {
  return context.out.isTTY ? context.out.columns : undefined;
}

const json = (data: unknown): string => `${JSON.stringify(data, null, 2)}\n`;
