import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { codeOf } from '../platform/errors.ts';

const CHUNK_BYTES = 65_536;
const NEWLINE = 10;

/** Where the last whole record of an export ends, and what follows it. */
export interface JsonlTail {
  /** Number of the last whole record, 0 when there is none. */
  readonly seq: number;
  /** Everything from here on is not a whole record. */
  readonly end: number;
  /** The last record lacks its line end. */
  readonly unterminated: boolean;
  readonly size: number;
}

/** Reads backwards from the end of the file until a whole record is found; the cost does not grow with the file. */
export function readTail(fd: number): JsonlTail {
  const { size } = fstatSync(fd);
  let position = size;
  let tail = Buffer.alloc(0);
  while (position > 0) {
    const length = Math.min(CHUNK_BYTES, position);
    position -= length;
    const chunk = Buffer.alloc(length);
    readFully(fd, chunk, position);
    tail = Buffer.concat([chunk, tail]);
    const found = lastRecord(tail, position === 0);
    if (found) return { ...found, end: position + found.end, size };
    tail = withoutSearchedLines(tail);
  }
  return { seq: 0, end: 0, unterminated: false, size };
}

/** The number of the last whole record in a file, 0 when the file or a record is missing. */
export function lastExportedSeq(path: string): number {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return 0;
    throw error;
  }
  try {
    return readTail(fd).seq;
  } finally {
    closeSync(fd);
  }
}

function readFully(fd: number, into: Buffer, position: number): void {
  let done = 0;
  while (done < into.length) {
    const bytesRead = readSync(fd, into, done, into.length - done, position + done);
    if (bytesRead === 0) return;
    done += bytesRead;
  }
}

/** The last line of `bytes` that is a record. The first line counts only when it is known to be whole. */
function lastRecord(bytes: Buffer, startIsLineStart: boolean): Omit<JsonlTail, 'size'> | undefined {
  let end = bytes.length;
  while (end > 0) {
    const terminated = bytes[end - 1] === NEWLINE;
    const textEnd = terminated ? end - 1 : end;
    const start = textEnd === 0 ? 0 : bytes.lastIndexOf(NEWLINE, textEnd - 1) + 1;
    if (start === 0 && !startIsLineStart) return undefined;
    const seq = seqOf(bytes.subarray(start, textEnd));
    if (seq !== undefined) return { seq, end, unterminated: !terminated };
    end = start;
  }
  return undefined;
}

function seqOf(line: Buffer): number | undefined {
  if (line.length === 0 || line[0] === 0) return undefined;
  try {
    const parsed = JSON.parse(line.toString('utf8')) as unknown;
    if (typeof parsed !== 'object' || parsed === null || !('seq' in parsed)) return undefined;
    return typeof parsed.seq === 'number' && Number.isSafeInteger(parsed.seq) ? parsed.seq : undefined;
  } catch {
    // Not a record: the caller looks at the line before.
    return undefined;
  }
}

/** Keeps only the first, perhaps partial line: the lines behind it were looked at and are no records. */
function withoutSearchedLines(bytes: Buffer): Buffer<ArrayBuffer> {
  const firstEnd = bytes.indexOf(NEWLINE);
  return Buffer.from(firstEnd === -1 ? bytes : bytes.subarray(0, firstEnd + 1));
}
