import { GcError } from '../../../platform/errors.ts';
import { type EncodedEvent, encodeEvent } from '../../../protocol/encode-event.ts';
import type { Event } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { type ChainedRecord, chainHash } from '../../../protocol/hash-chain.ts';
import type { LogHead } from '../session-log.ts';
import type { NewLines } from './log-folder.ts';
import { lineOf } from './record-line.ts';

/** An encoded event larger than this is refused, here as in the other stores. */
const EVENT_BYTES_MAX = 64 << 20;

/** Everything that can be refused about events is refused here, before a number is given. @throws GcError `not-canonical`, `record-too-large` */
export function prepareEvents(uid: string, events: readonly Event[]): readonly EncodedEvent[] {
  return events.map((given) => {
    const encoded = encodeEvent(given);
    const { length } = encoded.bytes;
    if (length > EVENT_BYTES_MAX) {
      throw new GcError(
        'record-too-large',
        `${uid}: a record of ${length} bytes is larger than ${EVENT_BYTES_MAX}`,
        { next: 'keep large content in a file and refer to it' },
      );
    }
    return encoded;
  });
}

/** Numbers and chains events behind `head`, under `fence`. */
export function chainEvents(
  events: readonly EncodedEvent[],
  head: Pick<LogHead, 'seq' | 'hash'>,
  fence: number,
): { readonly records: readonly ChainedRecord[]; readonly lines: NewLines } {
  const records: ChainedRecord[] = [];
  const texts: string[] = [];
  let { seq, hash } = head;
  for (const { event, json } of events) {
    const prevHash = hash;
    seq += 1;
    hash = chainHash(json, prevHash, seq);
    const record = { seq, prevHash, contentHash: hash, fence, event };
    records.push(record);
    texts.push(lineOf(record, json));
  }
  const lengths = texts.map((text) => Buffer.byteLength(text));
  return { records, lines: { text: texts.join(''), lengths, hash, fence } };
}
