import { cityFactOf, textOf } from '../../protocol/events.ts';
import { type Event, EventKind, EventSchema } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { toBinary } from '../../protocol/protobuf.ts';
import { type LogReader, recordsOf } from './browse-pages.ts';
import { CITY_HARNESS } from './city-origin.ts';
import { type ContinuedFrom, continuedOf } from './continue-marker.ts';
import type { SessionRow } from './session-log.ts';
import { TurnCount } from './summary-turns.ts';

const NANOS_PER_MS = 1_000_000n;

/** What a list says about a session. Times are milliseconds since the epoch. */
export interface SessionSummary {
  readonly uid: string;
  readonly project: string;
  /** What a person called it; `''` for none. */
  readonly name: string;
  readonly title: string;
  readonly harness: string;
  readonly model: string;
  /** `city`: its agent lives in a city, which knows; `new`: nothing ran in it yet. */
  readonly state: 'live' | 'cold' | 'new' | 'city' | 'deleted';
  readonly records: number;
  /** Of the records that were looked at. */
  readonly turns: number;
  readonly bytes: number;
  /** How many of the first records were looked at. */
  readonly looked: number;
  /** There are more: turns and bytes are at least this much. */
  readonly partial: boolean;
  readonly startedAt: number;
  readonly lastActivityAt: number;
  /** The session that this one was forked from, and at which record. */
  readonly forkedFrom: { readonly uid: string; readonly seq: number } | undefined;
  readonly continues: ContinuedFrom | undefined;
}

/** What the first records of a log say; `question` is the first thing that was asked, or else the first nudge. */
export interface LogLook {
  readonly question: string | undefined;
  readonly turns: number;
  readonly bytes: number;
  readonly seen: number;
  readonly continues: ContinuedFrom | undefined;
}

/** Looks at no more than `limit` records. */
export async function lookAt(log: LogReader, uid: string, limit: number): Promise<LogLook> {
  const count = new TurnCount();
  let [bytes, seen] = [0, 0];
  let [question, nudge]: (string | undefined)[] = [];
  let continues: ContinuedFrom | undefined;
  for await (const record of recordsOf(log, uid, { to: limit })) {
    const { event } = record;
    seen += 1;
    bytes += recordBytes(record);
    count.add(event);
    continues ??= continuedOf(event);
    if (event.kind === EventKind.EVENT_INPUT && event.body.case === 'message')
      question ??= textOf(event.body.value);
    nudge ??= nudgedText(event);
  }
  return { question: question ?? nudge, turns: count.turns, bytes, seen, continues };
}

/** What somebody told the agent, where its conversation cannot be read. */
function nudgedText(event: Event): string | undefined {
  const fact = cityFactOf(event);
  return fact?.['kind'] === 'nudged' && typeof fact['text'] === 'string' ? fact['text'] : undefined;
}

/** What a record takes: its event; what it is chained with is the same for all. */
export const recordBytes = ({ event }: ChainedRecord): number => toBinary(EventSchema, event).length;

export function summaryOf(row: SessionRow, look: LogLook, title: string): SessionSummary {
  const { uid, project, name, harness, model, parentUid, forkSeq } = row;
  return {
    uid,
    project,
    name,
    title,
    harness,
    model,
    state: stateOf(row),
    records: row.lastSeq,
    turns: look.turns,
    bytes: look.bytes,
    looked: look.seen,
    partial: look.seen < row.lastSeq,
    startedAt: Number(row.createdAt / NANOS_PER_MS),
    lastActivityAt: Number(row.updatedAt / NANOS_PER_MS),
    forkedFrom: parentUid === '' ? undefined : { uid: parentUid, seq: forkSeq },
    continues: look.continues,
  };
}

function stateOf({ deletedAt, computeState, harness }: SessionRow): SessionSummary['state'] {
  if (deletedAt !== undefined) return 'deleted';
  if (harness === CITY_HARNESS) return 'city';
  if (computeState === '' || computeState === 'NONE') return 'new';
  return computeState === 'LIVE' || computeState === 'WARM' ? 'live' : 'cold';
}
