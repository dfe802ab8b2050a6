import type { FileHandle } from 'node:fs/promises';

const READ_BYTES = 262_144;
const NEWLINE = 10;
/** Longer lines are counted and skipped. */
export const MAX_LINE_BYTES = 52_428_800;

export type JsonlLine =
  | { readonly kind: 'line'; readonly offset: number; readonly length: number; readonly value: unknown }
  /** Damaged, or too long. */
  | { readonly kind: 'bad'; readonly offset: number };

/**
 * The lines of a file, one at a time, without holding more than one of them. An unfinished last line is left out: its
 * writer is not done with it.
 */
export async function* readJsonl(
  file: FileHandle,
  maxLineBytes = MAX_LINE_BYTES,
): AsyncGenerator<JsonlLine, void, undefined> {
  const buffer = Buffer.alloc(READ_BYTES);
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let start = 0;
  let position = 0;
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, READ_BYTES, position);
    if (bytesRead === 0) break;
    const chunk = buffer.subarray(0, bytesRead);
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      const part = chunk.subarray(from, end);
      const length = pendingBytes + part.length;
      if (length > maxLineBytes) yield { kind: 'bad', offset: start };
      else if (length > 0) yield toLine(Buffer.concat([...pending, part]), start);
      pending = [];
      pendingBytes = 0;
      from = end + 1;
      start = position + from;
    }
    const rest = chunk.subarray(from);
    pendingBytes += rest.length;
    if (pendingBytes <= maxLineBytes) pending.push(Buffer.from(rest));
    else pending = [];
    position += bytesRead;
  }
  const last = Buffer.concat(pending);
  if (last.length > 0 && isJson(last)) yield toLine(last, start);
}

/** One line again, by its place. */
export async function readLineAt(file: FileHandle, offset: number, length: number): Promise<unknown> {
  const buffer = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await file.read(buffer, done, length - done, offset + done);
    if (bytesRead === 0) return undefined;
    done += bytesRead;
  }
  return parse(buffer);
}

function toLine(bytes: Buffer, offset: number): JsonlLine {
  const value = parse(bytes);
  if (value !== undefined) return { kind: 'line', offset, length: bytes.length, value };
  return { kind: 'bad', offset };
}

const isJson = (bytes: Buffer): boolean => parse(bytes) !== undefined;

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch {
    // The caller counts it: a damaged line never ends the reading.
    return undefined;
  }
}
