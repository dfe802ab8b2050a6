import { canonicalJson, protoJson } from '../../../internal/protocol/canonical-json.ts';
import { MessageSchema } from '../../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import { summarize } from '../../../internal/session/log/browse.ts';
import { recordsOf } from '../../../internal/session/log/browse-pages.ts';
import { encodeLine } from '../../../internal/session/log/jsonl/record-line.ts';
import { rebuild } from '../../../internal/session/log/rebuild.ts';
import type { SessionRow } from '../../../internal/session/log/session-log.ts';
import { TranscriptFold } from '../../../internal/session/log/transcript.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { findLog } from '../log/find-log.ts';
import { whenGone } from '../log/logs-gone.ts';
import { type Logs, withLogs } from '../log/open-logs.ts';
import { screenOf } from '../log/screen.ts';
import { followed, timedRecords } from '../log/timed-records.ts';
import { conversationText } from '../output/session-log-conversation.ts';
import { recordLine } from '../output/session-log-record.ts';
import { TranscriptText, transcriptHead } from '../output/session-log-text.ts';

/** Written in slices, so that memory stays small however long the log is. */
const SLICE_CHARS = 65_536;

export const runLogShow: CommandRun = (context, input) =>
  withLogs(context, input, async (logs) => {
    const row = await findLog(context, logs, input.arg('session'));
    const range = rangeOf(input);
    if (input.flag('conversation')) await printConversation(context, input, logs, row);
    else if (context.json) await printLines(context, logs, row, range);
    else if (input.flag('records')) await printRecords(context, logs, row, range);
    else await printTranscript(context, logs, row, range);
    return 0;
  });

/** The records again, byte for byte, however often it is asked. Source: agentsessions.v1 Replay. */
export const runLogReplay: CommandRun = (context, input) =>
  withLogs(context, input, async (logs) => {
    const isRerun = checkReplay(input);
    const row = await findLog(context, logs, input.arg('session'));
    if (isRerun) return (await import('./log-rerun.ts')).rerun(context, input, logs, row);
    await printLines(context, logs, row, rangeOf(input));
    return 0;
  });

function checkReplay(input: Input): boolean {
  const isRerun = input.flag('rerun');
  if (!isRerun && input.texts('harness').length > 0) {
    throw new UsageError('--harness says what runs turns again', 'add --rerun');
  }
  if (isRerun && (rangeOf(input).from > 1 || input.text('to') !== undefined)) {
    throw new UsageError('--rerun runs all turns: it takes no --from and --to');
  }
  return isRerun;
}

export const runLogFollow: CommandRun = (context, input) =>
  withLogs(context, input, async (logs) => {
    const row = await findLog(context, logs, input.arg('session'));
    const from = input.count('from', 1) ?? row.lastSeq + 1;
    if (context.err.isTTY)
      context.err.write(`${row.uid} from record ${from}; Ctrl-C stops watching, nothing else\n`);
    const print = context.json ? encodeLine : transcriptPrinter(context);
    const over = new AbortController();
    const gone = whenGone(context.clock, logs.path, over.signal);
    try {
      const signal = AbortSignal.any([context.signal, gone]);
      for await (const { record } of followed(logs.store, row.uid, from, signal)) {
        context.out.write(print(record));
        await context.out.flush();
      }
    } finally {
      over.abort();
    }
    gone.throwIfAborted();
    return 0;
  });

interface Range {
  readonly from: number;
  readonly to: number | undefined;
}

function rangeOf(input: Input): Range {
  const from = input.count('from', 1) ?? 1;
  const to = input.count('to', 1);
  if (to !== undefined && to < from) throw new UsageError(`--to ${to} is before --from ${from}`);
  return { from, to };
}

async function printLines(context: Context, { store }: Logs, row: SessionRow, range: Range): Promise<void> {
  const out = new Slices(context);
  for await (const record of recordsOf(store, row.uid, asked(context, range)))
    await out.write(encodeLine(record));
  await out.end();
}

async function printRecords(context: Context, { store }: Logs, row: SessionRow, range: Range): Promise<void> {
  const out = new Slices(context);
  const screen = screenOf(context);
  for await (const { record, recordedAt } of timedRecords(store, row.uid, range, context.signal)) {
    await out.write(recordLine(record, recordedAt, screen));
  }
  await out.end();
}

async function printTranscript(
  context: Context,
  { store }: Logs,
  row: SessionRow,
  range: Range,
): Promise<void> {
  const out = new Slices(context);
  const fold = new TranscriptFold();
  const text = new TranscriptText(context.out.style, screenOf(context), true);
  await out.write(transcriptHead(await summarize(store, row), context.out.style, screenOf(context)));
  for await (const record of recordsOf(store, row.uid, asked(context, range))) {
    for (const entry of fold.add(record)) await out.write(text.entry(entry));
  }
  for (const entry of fold.end()) await out.write(text.entry(entry));
  await out.end();
}

/** What a model would be told, from where the session begins, or what it continues. */
async function printConversation(
  context: Context,
  input: Input,
  { store }: Logs,
  row: SessionRow,
): Promise<void> {
  if (input.flag('records') || rangeOf(input).from > 1) {
    throw new UsageError(
      '--conversation is whole: it takes no --records and no --from',
      '--to 10 ends it earlier',
    );
  }
  const at = input.count('to', 1);
  const { signal } = context;
  const messages = await rebuild(store, row.uid, { signal, ...(at === undefined ? {} : { at }) });
  const out = new Slices(context);
  for (const [index, message] of messages.entries()) {
    if (context.json) await out.write(`${canonicalJson(protoJson(MessageSchema, message))}\n`);
    else await out.write(`${index === 0 ? '' : '\n'}${conversationText(message)}`);
  }
  await out.end();
}

function transcriptPrinter(context: Context): (record: Parameters<typeof encodeLine>[0]) => string {
  const fold = new TranscriptFold();
  const text = new TranscriptText(context.out.style, screenOf(context), false);
  return (record) =>
    fold
      .add(record)
      .map((entry) => text.entry(entry))
      .join('');
}

const asked = ({ signal }: Context, { from, to }: Range) => ({
  from,
  signal,
  ...(to === undefined ? {} : { to }),
});

/** Gathers texts and hands them on in slices; what nobody reads any more is not gathered. */
class Slices {
  readonly #context: Context;
  #text = '';

  constructor(context: Context) {
    this.#context = context;
  }

  async write(text: string): Promise<void> {
    this.#text += text;
    if (this.#text.length >= SLICE_CHARS) await this.end();
  }

  async end(): Promise<void> {
    this.#context.signal.throwIfAborted();
    this.#context.out.write(this.#text);
    this.#text = '';
    await this.#context.out.flush();
  }
}
