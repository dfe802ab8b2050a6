import {
  EventKind,
  type LogRecord,
} from '../../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../../internal/protocol/hash-chain.ts';
import { onePlainLine, plainText } from '../output/plain.ts';
import { recordText } from '../output/session-log-record.ts';

/** A record of the wire as the rest of the program knows it; `undefined` when it has no event. */
export function chained({ seq, prevHash, contentHash, fence, event }: LogRecord): ChainedRecord | undefined {
  return event && { seq: Number(seq), prevHash, contentHash, fence: Number(fence), event };
}

/**
 * `seq=2 INPUT  user: hi`. Source: agentsessions.v1 client. Further lines of a text are indented, so that nothing an agent
 * said looks like a record.
 */
export function wireRecordLine(record: LogRecord, told: 'text' | 'no-text' = 'text'): string {
  const known = chained(record);
  const kind = EventKind[record.event?.kind ?? 0]?.replace('EVENT_', '') ?? String(record.event?.kind);
  const text = known === undefined || told === 'no-text' ? '' : textOf(known);
  return `${`seq=${record.seq} ${kind}  ${text}`.trimEnd()}\n`;
}

function textOf(record: ChainedRecord): string {
  const text = recordText(record);
  return record.event.body.case === 'message'
    ? plainText(text).trimEnd().replaceAll('\n', '\n  ')
    : onePlainLine(text);
}
