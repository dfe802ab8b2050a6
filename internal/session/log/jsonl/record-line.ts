import { createHash } from 'node:crypto';
import { GcError, messageOf } from '../../../platform/errors.ts';
import { EventSchema, LogRecordSchema } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { type ChainedRecord, eventJson } from '../../../protocol/hash-chain.ts';
import { create, fromJson, type JsonValue } from '../../../protocol/protobuf.ts';

/**
 * A record as one line: the canonical JSON of its LogRecord, and a newline. The members stand in this order, always:
 * content_hash, event, fence (unless it is 0), prev_hash (not in the first record), seq.
 */
export function encodeLine(record: ChainedRecord): string {
  return lineOf(record, eventJson(record.event));
}

/** The same with the event's canonical JSON at hand. */
export function lineOf(
  { seq, prevHash, contentHash, fence }: Omit<ChainedRecord, 'event'>,
  event: string,
): string {
  const fenced = fence === 0 ? '' : `"fence":"${fence}",`;
  const linked = prevHash === '' ? '' : `"prev_hash":"${prevHash}",`;
  return `{"content_hash":"${contentHash}","event":${event},${fenced}${linked}"seq":"${seq}"}\n`;
}

/** What a line claims, without its event having been understood. Positions are in the line. */
export interface LineClaim {
  readonly seq: number;
  readonly prevHash: string;
  readonly contentHash: string;
  readonly fence: number;
  readonly eventStart: number;
  readonly eventEnd: number;
}

const HEAD = /^\{"content_hash":"([0-9a-f]{64})","event":$/;
const HEAD_BYTES = '{"content_hash":"'.length + 64 + '","event":'.length;
const TAIL =
  /(?:,"fence":"([1-9][0-9]{0,15})")?(?:,"prev_hash":"([0-9a-f]{64})")?,"seq":"([1-9][0-9]{0,15})"\}$/;
const TAIL_BYTES_MAX = 160;

/** Takes a line (without its newline) apart; `undefined` when it is not built like one. */
export function claimOf(line: Buffer): LineClaim | undefined {
  const head = HEAD.exec(line.toString('latin1', 0, HEAD_BYTES));
  const tail = TAIL.exec(line.toString('latin1', Math.max(HEAD_BYTES, line.length - TAIL_BYTES_MAX)));
  const contentHash = head?.[1];
  if (contentHash === undefined || !tail) return undefined;
  const [whole, fence = '0', prevHash = '', seq] = tail;
  return {
    seq: Number(seq),
    prevHash,
    contentHash,
    fence: Number(fence),
    eventStart: HEAD_BYTES,
    eventEnd: line.length - whole.length,
  };
}

/** Whether the bytes of the event are those that the hash is over. Costs one pass over them and no parsing. */
export function hashHolds(line: Buffer, claim: LineClaim): boolean {
  const hash = createHash('sha256')
    .update('{"event":')
    .update(line.subarray(claim.eventStart, claim.eventEnd))
    .update(`,"prev_hash":"${claim.prevHash}","seq":"${claim.seq}"}`);
  return hash.digest('hex') === claim.contentHash;
}

/** @throws GcError `bad-line` when it is not a record of this format */
export function decodeLine(line: Buffer): ChainedRecord {
  const text = line.toString('utf8');
  try {
    const value: JsonValue = JSON.parse(text);
    const { seq, prevHash, contentHash, fence, event } = fromJson(LogRecordSchema, value);
    return {
      seq: Number(seq),
      prevHash,
      contentHash,
      fence: Number(fence),
      event: event ?? create(EventSchema),
    };
  } catch (error) {
    throw new GcError('bad-line', `not a record: ${messageOf(error)}`, { cause: error });
  }
}

export function isJson(line: Buffer): boolean {
  try {
    JSON.parse(line.toString('utf8'));
    return true;
  } catch {
    return false;
  }
}
