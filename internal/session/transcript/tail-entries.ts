import { type FileHandle, open } from 'node:fs/promises';
import { codeOf, GcError, messageOf } from '../../platform/errors.ts';
import type { ToObserved } from './lines-since.ts';
import type { PlacedEntry } from './observed.ts';
import { parseJson } from './values.ts';

/** Source: Gas City looks at the last 64 KB of a transcript. */
const TAIL_BYTES = 65_536;
/** Where a single line is longer than that: the largest piece that is ever looked at. */
const LONG_TAIL_BYTES = 1_048_576;

/**
 * What the last lines of a file of JSON lines tell, without reading what is before them. `undefined`: there is no such file.
 * @throws GcError `transcript-unreadable`
 */
export async function tailEntries(
  file: string,
  toObserved: ToObserved,
): Promise<readonly PlacedEntry[] | undefined> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, 'r');
    const { size } = await handle.stat();
    const entries = await lastLines(handle, size, TAIL_BYTES, toObserved);
    if (entries.length > 0 || size <= TAIL_BYTES) return entries;
    return await lastLines(handle, size, LONG_TAIL_BYTES, toObserved);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw unreadable(file, error);
  } finally {
    await handle?.close();
  }
}

export function unreadable(file: string, error: unknown): GcError {
  if (error instanceof GcError) return error;
  return new GcError('transcript-unreadable', `cannot read ${file}: ${messageOf(error)}`, {
    cause: error,
    next: 'check that the file exists and is yours',
  });
}

async function lastLines(
  handle: FileHandle,
  size: number,
  bytes: number,
  toObserved: ToObserved,
): Promise<readonly PlacedEntry[]> {
  const length = Math.min(bytes, size);
  const from = size - length;
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await handle.read(buffer, 0, length, from);
  const entries: PlacedEntry[] = [];
  let offset = from;
  for (const [index, text] of buffer.subarray(0, bytesRead).toString('utf8').split('\n').entries()) {
    const at = offset;
    offset += Buffer.byteLength(text) + 1;
    // The piece begins somewhere in a line.
    if (index === 0 && from > 0) continue;
    const line = text === '' ? undefined : parseJson(text);
    if (line === undefined) continue;
    const seen = toObserved(line, at);
    for (const entry of seen.entries) entries.push({ entry, at: seen.at, offset: at });
  }
  return entries;
}
