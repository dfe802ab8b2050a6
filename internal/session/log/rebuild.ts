import { cityFactOf, input, textMessage } from '../../protocol/events.ts';
import { type Event, EventKind, type Message } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { type LogReader, recordsOf } from './browse-pages.ts';
import { type ContinuedFrom, continuedOf } from './continue-marker.ts';
import { UnknownLogError } from './errors.ts';
import { ConversationFold } from './rebuild-fold.ts';

/** The part of a log that a conversation is rebuilt from. */
export interface CarriedLog {
  /** Stands for everything before the records: the log was compacted. */
  readonly summary?: string;
  /** What happened to the session is among them, and says nothing to a model. */
  readonly records: readonly Pick<ChainedRecord, 'event'>[];
}

export interface RebuildOptions {
  /** The last record that counts; the end of the log unless told. */
  readonly at?: number;
  readonly signal?: AbortSignal;
}

/**
 * The conversation of a session as a model gets it: questions, answers, calls with their results in the order of the
 * calls. Starts at the newest compaction, else with what the session continues; a source that is gone is left out.
 */
export async function rebuild(log: LogReader, uid: string, options: RebuildOptions = {}): Promise<Message[]> {
  return rebuildMessages(await carriedLogs(log, uid, options));
}

/** The same from records, oldest log first. */
export function rebuildMessages(logs: readonly CarriedLog[]): Message[] {
  const fold = new ConversationFold();
  for (const { summary, records } of logs) {
    if (summary !== undefined) fold.summary(summary);
    for (const { event } of records) fold.add(event, speakerOf(event));
  }
  return fold.messages();
}

/** The log and those that it continues, oldest first, each once; none of what is older than a compaction. */
async function carriedLogs(
  log: LogReader,
  uid: string,
  { at = Number.MAX_SAFE_INTEGER, signal }: RebuildOptions = {},
): Promise<readonly CarriedLog[]> {
  const logs: CarriedLog[] = [];
  const seen = new Set<string>();
  let wanted: Pick<ContinuedFrom, 'source' | 'seq'> | undefined = { source: uid, seq: at };
  while (wanted && !seen.has(wanted.source)) {
    seen.add(wanted.source);
    const part = await readPart(log, wanted, signal);
    logs.unshift(part);
    wanted = part.summary === undefined ? part.continues : undefined;
  }
  return logs;
}

/**
 * What a harness is given of the conversations that a log continues: their records as they stand, oldest log first; the
 * summary of a compacted one is an input. Always the same for the same marker.
 */
export async function carriedEvents(
  log: LogReader,
  { source, seq }: ContinuedFrom,
): Promise<readonly Event[]> {
  const logs = await carriedLogs(log, source, { at: seq });
  return logs.flatMap(({ summary, records }) => [
    ...(summary === undefined ? [] : [input('', textMessage('user', summary))]),
    ...records.map(({ event }) => event),
  ]);
}

interface LogPart extends CarriedLog {
  readonly continues?: ContinuedFrom;
}

async function readPart(
  log: LogReader,
  { source, seq }: Pick<ContinuedFrom, 'source' | 'seq'>,
  signal: AbortSignal | undefined,
): Promise<LogPart> {
  let records: ChainedRecord[] = [];
  let summary: string | undefined;
  let continues: ContinuedFrom | undefined;
  try {
    for await (const record of recordsOf(log, source, { to: seq, ...(signal ? { signal } : {}) })) {
      const compaction = compactionOf(record);
      if (compaction) {
        summary = compaction.summary;
        records = records.filter((each) => each.seq >= compaction.firstKept);
      }
      continues ??= continuedOf(record.event);
      records.push(record);
    }
  } catch (error) {
    if (!(error instanceof UnknownLogError)) throw error;
  }
  return { records, ...(summary === undefined ? {} : { summary }), ...(continues ? { continues } : {}) };
}

interface Compaction {
  readonly summary: string;
  /** The first record that the summary does not stand for. */
  readonly firstKept: number;
}

/**
 * A compaction that was only observed brings no summary: what the agent program keeps of the conversation is not known, so
 * all of it counts.
 */
function compactionOf({ seq, event }: ChainedRecord): Compaction | undefined {
  const fact = cityFactOf(event)?.['compacted'];
  if (typeof fact !== 'object' || fact === null || Array.isArray(fact)) return undefined;
  const { summary, first_kept_seq: kept } = fact;
  if (typeof summary !== 'string' || summary === '') return undefined;
  return { summary, firstKept: typeof kept === 'number' && kept >= 1 ? kept : seq };
}

function speakerOf({ kind }: Event): 'input' | 'output' | 'other' {
  if (kind === EventKind.EVENT_INPUT) return 'input';
  return kind === EventKind.EVENT_OUTPUT ? 'output' : 'other';
}
