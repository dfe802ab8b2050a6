import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { codeOf, GcError, messageOf } from '../../platform/errors.ts';
import { MAX_LINE_BYTES } from './jsonl-lines.ts';
import type { ObservedChunk, ObservedEntry, PlacedEntry, TranscriptCursor } from './observed.ts';

const NEWLINE = 10;
const READ_BYTES = 262_144;
/** How much one pass reads at most, so that a long conversation holds nobody up. */
const PASS_BYTES = 2_097_152;
const ANCHOR_BYTES = 256;

export const FILE_START: TranscriptCursor = { offset: 0, anchor: '' };

export type ToObserved = (
  line: unknown,
  offset: number,
) => { readonly entries: readonly ObservedEntry[]; readonly at: number };

/**
 * What was written to a file of JSON lines since it was last read: whole lines only, the last one is left until its
 * line end is there. A file that was cut or written anew is read from its start. `undefined`: there is no such file.
 * @throws GcError `transcript-unreadable`
 */
export async function observedSince(
  file: string,
  since: TranscriptCursor | undefined,
  toObserved: ToObserved,
  passBytes = PASS_BYTES,
): Promise<ObservedChunk | undefined> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, 'r');
    const { size } = await handle.stat();
    const isSame = since !== undefined && (await stands(handle, since, size));
    const start = isSame ? since : FILE_START;
    const restarted = since !== undefined && !isSame;
    if (size === start.offset) return { entries: [], cursor: start, restarted, more: false };
    const entries: PlacedEntry[] = [];
    let badLines = 0;
    const offset = await readWhole(handle, start.offset, passBytes, (bytes, at) => {
      const line = bytes && parse(bytes);
      if (line === undefined) {
        badLines += 1;
        return;
      }
      const seen = toObserved(line, at);
      for (const entry of seen.entries) entries.push({ entry, at: seen.at, offset: at });
    });
    const anchor = offset === start.offset ? start.anchor : await anchorAt(handle, offset);
    const more = offset - start.offset >= passBytes;
    return { entries, cursor: { offset, anchor }, restarted, more, badLines };
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw new GcError('transcript-unreadable', `cannot read ${file}: ${messageOf(error)}`, {
      cause: error,
      next: 'check that the file exists and is yours',
    });
  } finally {
    await handle?.close();
  }
}

async function stands(handle: FileHandle, since: TranscriptCursor, size: number): Promise<boolean> {
  if (size < since.offset) return false;
  return since.offset === 0 || (await anchorAt(handle, since.offset)) === since.anchor;
}

/** The cursor of a place in a file that was read: a line begins there. */
export async function cursorAt(file: string, offset: number): Promise<TranscriptCursor> {
  if (offset === 0) return FILE_START;
  const handle = await open(file, 'r');
  try {
    return { offset, anchor: await anchorAt(handle, offset) };
  } finally {
    await handle.close();
  }
}

async function anchorAt(handle: FileHandle, offset: number): Promise<string> {
  const length = Math.min(ANCHOR_BYTES, offset);
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await handle.read(buffer, 0, length, offset - length);
  return createHash('sha256').update(buffer.subarray(0, bytesRead)).digest('hex').slice(0, 16);
}

/** Gives every whole line with its place, without its bytes when it is too long. Where the next one begins. */
async function readWhole(
  handle: FileHandle,
  from: number,
  passBytes: number,
  take: (line: Buffer | undefined, offset: number) => void,
): Promise<number> {
  const buffer = Buffer.alloc(READ_BYTES);
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let lineStart = from;
  let position = from;
  while (lineStart - from < passBytes) {
    const { bytesRead } = await handle.read(buffer, 0, READ_BYTES, position);
    if (bytesRead === 0) break;
    const chunk = buffer.subarray(0, bytesRead);
    let begin = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, begin)) {
      const part = chunk.subarray(begin, end);
      const length = pendingBytes + part.length;
      if (length > MAX_LINE_BYTES) take(undefined, lineStart);
      else if (length > 0) take(Buffer.concat([...pending, part]), lineStart);
      pending = [];
      pendingBytes = 0;
      begin = end + 1;
      lineStart = position + begin;
    }
    const rest = chunk.subarray(begin);
    pendingBytes += rest.length;
    if (pendingBytes <= MAX_LINE_BYTES) pending.push(Buffer.from(rest));
    else pending = [];
    position += bytesRead;
  }
  return lineStart;
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch {
    return undefined; // a damaged line never ends the reading
  }
}
