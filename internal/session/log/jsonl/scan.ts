import type { LogFile } from './files.ts';
import { claimOf, hashHolds, isJson } from './record-line.ts';

/** The sound part of a record file, and what stands behind it. */
export interface Scan {
  /** Where record n ends, at index n - 1. */
  readonly ends: number[];
  /** Of the last sound record. */
  readonly hash: string;
  readonly fence: number;
  readonly size: number;
  readonly fault: LineFault | undefined;
}

/** The first line that is not sound. */
export interface LineFault {
  readonly seq: number;
  readonly what: string;
  /** It ends in a newline. */
  readonly terminated: boolean;
  readonly parsable: boolean;
  /** It holds a run of NULs, as a block does that a crash kept from the disk. */
  readonly holed: boolean;
  /** Lines from this one on, itself included. */
  readonly lines: number;
  /** Nothing but NULs follows. */
  readonly last: boolean;
}

/** Walks lines in order and remembers where the chain stands. */
export class LineWalk {
  seq = 0;
  hash = '';
  fence = 0;

  constructor(from?: { readonly seq: number; readonly hash: string; readonly fence: number }) {
    if (from) ({ seq: this.seq, hash: this.hash, fence: this.fence } = from);
  }

  /** Takes the next line (without its newline), or says what is wrong with it and stays. */
  fault(line: Buffer): string | undefined {
    const claim = claimOf(line);
    if (!claim) return isJson(line) ? 'it is not a record of this format' : 'it is not JSON';
    const { seq, prevHash, contentHash, fence } = claim;
    if (seq !== this.seq + 1) return `record ${this.seq + 1} is missing: ${seq} follows`;
    if (prevHash !== this.hash) return 'it does not continue the record before it';
    if (fence < this.fence) return `its incarnation ${fence} is older than ${this.fence} before it`;
    if (!hashHolds(line, claim)) return 'its content does not match its hash';
    this.seq = seq;
    this.hash = contentHash;
    this.fence = fence;
    return undefined;
  }
}

const CHUNK_BYTES = 1 << 20;
/** A tail that is longer than this and not only NULs was not left by one write. */
const TAIL_BYTES_MAX = 256 << 20;
const NEWLINE = 0x0a;
const HOLE = Buffer.alloc(8);

/** Reads a record file from `start` on, where the chain stands as `walk` says, up to the first line that is not sound. */
export async function scan(file: LogFile, size: number, start: number, walk: LineWalk): Promise<Scan> {
  const ends: number[] = [];
  let position = start;
  let rest: Buffer = Buffer.alloc(0);
  for (let offset = start; offset < size; ) {
    const chunk = await file.read(offset, Math.min(CHUNK_BYTES, size - offset));
    if (chunk.length === 0) break;
    offset += chunk.length;
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let begin = 0;
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE, begin)) {
      const what = walk.fault(rest.subarray(begin, end));
      if (what !== undefined) return result(await lookAt(file, size, position, walk.seq + 1, what));
      position += end + 1 - begin;
      ends.push(position);
      begin = end + 1;
    }
    rest = rest.subarray(begin);
  }
  if (position === size) return result(undefined);
  return result(await lookAt(file, size, position, walk.seq + 1, 'it has no end'));

  function result(fault: LineFault | undefined): Scan {
    return { ends, hash: walk.hash, fence: walk.fence, size, fault };
  }
}

async function lookAt(
  file: LogFile,
  size: number,
  position: number,
  seq: number,
  what: string,
): Promise<LineFault> {
  const tail = await file.read(position, Math.min(size - position, TAIL_BYTES_MAX));
  const whole = position + tail.length === size;
  const end = tail.indexOf(NEWLINE);
  const line = end < 0 ? tail : tail.subarray(0, end);
  return {
    seq,
    what,
    terminated: end >= 0,
    parsable: isJson(line),
    holed: line.includes(HOLE),
    lines: countLines(tail),
    last: whole && (end < 0 || tail.subarray(end + 1).every((byte) => byte === 0)),
  };
}

function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let start = 0; start < bytes.length; lines += 1) {
    const end = bytes.indexOf(NEWLINE, start);
    start = end < 0 ? bytes.length : end + 1;
  }
  return lines;
}
