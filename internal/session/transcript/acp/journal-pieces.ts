import { createHash } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { codeOf } from '../../../platform/errors.ts';
import { journalFiles } from '../../../runtime/acp/journal-files.ts';
import { type KnownLine, toJournalLine } from './journal-line.ts';
import { wholeLines } from './whole-lines.ts';

const MARK_BYTES = 256;

/** One file of a journal, open. */
export interface Piece {
  readonly file: string;
  readonly handle: FileHandle;
  readonly size: number;
  /** Its first line that is one. */
  readonly first: KnownLine;
}

/**
 * Opens the files that lines of a journal can be in and gives them, oldest first, to `use`. Its writer may rotate them
 * meanwhile: what was opened stays what it is.
 */
export async function withPieces<T>(
  journal: string,
  use: (pieces: readonly Piece[]) => Promise<T>,
): Promise<T> {
  const handles: FileHandle[] = [];
  try {
    const pieces = new Map<number, Piece>();
    // The newest first: rotated in between, it is met again under its new name, and nothing is passed over.
    for (const file of journalFiles(journal)) {
      const handle = await opened(file);
      if (!handle) continue;
      handles.push(handle);
      const { ino, size } = await handle.stat();
      const first = pieces.has(ino) ? undefined : await firstLine(handle, file);
      if (first) pieces.set(ino, { file, handle, size, first });
    }
    return await use([...pieces.values()].reverse());
  } finally {
    for (const handle of handles) await handle.close();
  }
}

/** A line in its piece. */
export interface PlacedLine {
  /** `undefined`: blank or damaged. */
  readonly line: KnownLine | undefined;
  readonly piece: Piece;
  readonly start: number;
  /** Where the next one begins. */
  readonly end: number;
}

/** The whole lines of the pieces from a place on. @throws GcError `journal-version` */
export async function* linesFrom(
  pieces: readonly Piece[],
  from: PlaceInPieces,
): AsyncGenerator<PlacedLine, void, undefined> {
  for (const [index, piece] of pieces.entries()) {
    if (index < from.index) continue;
    let start = index === from.index ? from.offset : 0;
    for await (const { value, end } of wholeLines(piece.handle, start)) {
      yield { line: toJournalLine(value, piece.file), piece, start, end };
      start = end;
    }
  }
}

export interface PlaceInPieces {
  readonly index: number;
  /** Bytes. */
  readonly offset: number;
}

/** A mark of a place in a piece: which piece it is, how far into it, what stands right before. */
export async function markAt({ handle }: Piece, offset: number): Promise<string> {
  return `${offset}:${await digestAt(handle, offset)}`;
}

/** The place that a mark was made at, as far as that piece is still there and is what it was. */
export async function placeOfMark(
  pieces: readonly Piece[],
  mark: string,
): Promise<PlaceInPieces | undefined> {
  const [offsetText = '', digest] = mark.split(':');
  const offset = Number(offsetText);
  if (!Number.isSafeInteger(offset) || offset <= 0) return undefined;
  for (const [index, piece] of pieces.entries()) {
    if (piece.size >= offset && (await digestAt(piece.handle, offset)) === digest) return { index, offset };
  }
  return undefined;
}

async function opened(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

async function firstLine(handle: FileHandle, file: string): Promise<KnownLine | undefined> {
  for await (const { value } of wholeLines(handle, 0)) {
    const line = toJournalLine(value, file);
    if (line) return line;
  }
  return undefined;
}

/** The first line has a number and a time of its own: no two pieces begin alike. */
async function digestAt(handle: FileHandle, offset: number): Promise<string> {
  const hash = createHash('sha256');
  const length = Math.min(MARK_BYTES, offset);
  for (const from of [0, offset - length]) {
    const buffer = Buffer.alloc(length);
    const { bytesRead } = await handle.read(buffer, 0, length, from);
    hash.update(buffer.subarray(0, bytesRead));
  }
  return hash.digest('hex').slice(0, 16);
}
