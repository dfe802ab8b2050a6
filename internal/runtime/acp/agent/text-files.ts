import { constants, existsSync, lstatSync, realpathSync } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { codeOf, messageOf } from '../../../platform/errors.ts';
import { refusal } from './connection.ts';
import { INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND } from './rpc-codes.ts';
import { type FolderView, placeOf } from './work-dir-guard.ts';

/** Of one file, given or taken in one request. */
export const MAX_FILE_BYTES = 2_097_152;
/** Lines far down a larger file are looked for within this. */
const MAX_SCAN_BYTES = 268_435_456;
const READ_BYTES = 65_536;
const NEWLINE = 10;
/** A pipe or a device must not hold us up; a link put in place meanwhile is not followed. */
const CAREFULLY = constants.O_NONBLOCK | constants.O_NOFOLLOW;

const REAL_FOLDERS: FolderView = {
  realPath: (path) => {
    try {
      return realpathSync(path);
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR' || codeOf(error) === 'ELOOP')
        return undefined;
      throw error;
    }
  },
  exists: (path) => existsSync(path) || lstatSync(path, { throwIfNoEntry: false }) !== undefined,
};

/** The text files of one work dir, for an agent that reads and writes through its client. */
export class TextFiles {
  readonly #root: string;

  constructor(workDir: string) {
    this.#root = workDir;
  }

  /** @param line the first one wanted, from 1 @throws a JSON-RPC refusal */
  read(path: string, line: number | undefined, limit: number | undefined): Promise<string> {
    return this.#carefully(path, constants.O_RDONLY, (handle) => readLines(handle, path, line ?? 1, limit));
  }

  /** Makes the file, and folders above it, when they are missing. @throws a JSON-RPC refusal */
  async write(path: string, content: string): Promise<void> {
    const bytes = Buffer.byteLength(content);
    if (bytes > MAX_FILE_BYTES)
      throw refusal(INVALID_PARAMS, `${bytes} bytes for ${path}: at most ${MAX_FILE_BYTES} are written`);
    await this.#carefully(path, constants.O_WRONLY | constants.O_CREAT, async (handle) => {
      await handle.truncate(0);
      await handle.writeFile(content);
    });
  }

  async #carefully<T>(named: string, flags: number, use: (handle: FileHandle) => Promise<T>): Promise<T> {
    try {
      const path = this.#inside(named);
      if ((flags & constants.O_CREAT) !== 0) await mkdir(dirname(path), { recursive: true });
      const handle = await open(path, flags | CAREFULLY, 0o666);
      try {
        // What was checked may have been replaced before it was opened.
        if (this.#inside(named) !== path) throw this.#refused(named, 'it changed meanwhile');
        const found = await handle.stat();
        if (!found.isFile()) throw refusal(INVALID_PARAMS, `${named} is not a file`);
        return await use(handle);
      } finally {
        await handle.close();
      }
    } catch (error) {
      throw toRefusal(error, named);
    }
  }

  #inside(named: string): string {
    const place = placeOf(this.#root, named, REAL_FOLDERS);
    if (place.kind === 'outside') throw this.#refused(named, place.why);
    return place.path;
  }

  #refused(named: string, why: string): Error {
    return refusal(INVALID_PARAMS, `${named} is not in the work dir ${this.#root}: ${why}`);
  }
}

function toRefusal(error: unknown, path: string): Error {
  switch (codeOf(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return refusal(NOT_FOUND, `Resource not found: ${path}`, { uri: pathToFileURL(path).href });
    case 'EISDIR':
    case 'ELOOP':
    case 'ENXIO':
      return refusal(INVALID_PARAMS, `${path} is not a file`);
    case undefined:
      return error instanceof Error ? error : refusal(INTERNAL_ERROR, messageOf(error));
    default:
      return refusal(INTERNAL_ERROR, messageOf(error));
  }
}

/** Lines from a file of any size, read in pieces. */
async function readLines(
  handle: FileHandle,
  path: string,
  first: number,
  limit: number | undefined,
): Promise<string> {
  const last = limit === undefined ? Number.POSITIVE_INFINITY : first + limit;
  const kept: Buffer[] = [];
  let length = 0;
  let line = 1;
  for (let scanned = 0; line < last; ) {
    const buffer = Buffer.alloc(READ_BYTES);
    const { bytesRead } = await handle.read(buffer, 0, READ_BYTES);
    if (bytesRead === 0) break;
    scanned += bytesRead;
    if (scanned > MAX_SCAN_BYTES)
      throw refusal(INVALID_PARAMS, `${path} is too large to look for line ${first}`);
    const chunk = buffer.subarray(0, bytesRead);
    let from = 0;
    while (from < chunk.length && line < last) {
      const newline = chunk.indexOf(NEWLINE, from);
      const end = newline < 0 ? chunk.length : newline + 1;
      if (line >= first) {
        kept.push(chunk.subarray(from, end));
        length += end - from;
      }
      if (newline >= 0) line += 1;
      from = end;
    }
    if (length > MAX_FILE_BYTES) {
      throw refusal(
        INVALID_PARAMS,
        `${path}: more than ${MAX_FILE_BYTES} bytes; ask for fewer lines (line, limit)`,
      );
    }
  }
  return Buffer.concat(kept).toString('utf8');
}
