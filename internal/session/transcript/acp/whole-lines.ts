import type { FileHandle } from 'node:fs/promises';
import { MAX_LINE_BYTES } from '../jsonl-lines.ts';

const READ_BYTES = 65_536;
const NEWLINE = 10;

export interface WholeLine {
  /** `undefined`: blank, damaged, or longer than a line may be. */
  readonly value: unknown;
  /** Where the next line begins. */
  readonly end: number;
}

/** The lines of a file from a place on. The last one is left out until its line end is there. */
export async function* wholeLines(
  file: FileHandle,
  from: number,
): AsyncGenerator<WholeLine, void, undefined> {
  const buffer = Buffer.alloc(READ_BYTES);
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let position = from;
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, READ_BYTES, position);
    if (bytesRead === 0) return;
    const chunk = buffer.subarray(0, bytesRead);
    let begin = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, begin)) {
      const part = chunk.subarray(begin, end);
      const isTooLong = pendingBytes + part.length > MAX_LINE_BYTES;
      const value = isTooLong ? undefined : parse(Buffer.concat([...pending, part]));
      pending = [];
      pendingBytes = 0;
      begin = end + 1;
      yield { value, end: position + begin };
    }
    const rest = chunk.subarray(begin);
    pendingBytes += rest.length;
    pending = pendingBytes > MAX_LINE_BYTES ? [] : [...pending, Buffer.from(rest)];
    position += bytesRead;
  }
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch {
    return undefined; // its writer was killed in the middle of it
  }
}
