import { type FileHandle, open, rename, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { codeOf, GcError, messageOf } from '../platform/errors.ts';
import type { CityEvent } from './event.ts';
import type { EventTable } from './event-table.ts';
import { CONTROLLER_ACTOR } from './event-types.ts';
import { readTail } from './jsonl-tail.ts';
import type { DatabaseAccess, SqliteEventBus } from './sqlite-bus.ts';

const OWNER_ONLY = 0o600;
const PAGE_ROWS = 500;

export interface JsonlExportOptions {
  /** `<city>/.gc/events.jsonl` */
  readonly file: string;
  readonly bus: SqliteEventBus;
  readonly table: EventTable;
  readonly access: DatabaseAccess;
}

interface Position {
  /** Number of the last record in the file. */
  seq: number;
  /** Size that the file has if nobody else touched it. */
  size: number;
  inode: number;
}

/**
 * Appends the city's events, in order, to a file with one JSON object per line, for tools that read Gas City's event
 * log. The rows stay the truth: what was exported is read from the file's own end, a damaged end is cut off and
 * written again, a deleted file is written anew. One process at a time exports: the controller.
 */
export class JsonlExport {
  readonly #options: JsonlExportOptions;
  #position: Position | undefined;

  constructor(options: JsonlExportOptions) {
    this.#options = options;
  }

  /** Follows the city's events until the signal aborts. A failed write is reported and tried again with the next event. */
  async run(signal: AbortSignal, onError: (error: unknown) => void): Promise<void> {
    const after = await this.#options.bus.latestSeq();
    await this.flush().catch(onError);
    for await (const _page of this.#options.bus.pages(after, signal)) await this.flush().catch(onError);
  }

  /** Appends everything that the file lacks. Returns how many events that was. @throws GcError `events-unwritable` */
  async flush(): Promise<number> {
    const { file } = this.#options;
    let handle: FileHandle | undefined;
    try {
      handle = await open(file, 'a+', OWNER_ONLY);
      const position = await this.#locate(handle);
      return await this.#append(handle, position);
    } catch (error) {
      this.#position = undefined;
      throw new GcError('events-unwritable', `cannot write ${file}: ${messageOf(error)}`, {
        cause: error,
        next: 'check free space and permissions; the events themselves are safe in city.db',
      });
    } finally {
      await handle?.close();
    }
  }

  async #append(handle: FileHandle, position: Position): Promise<number> {
    let written = 0;
    for (;;) {
      const page = await this.#options.access.read(() =>
        this.#options.table.list({ afterSeq: position.seq, limit: PAGE_ROWS }),
      );
      const last = page.at(-1);
      if (!last) return written;
      const bytes = Buffer.from(page.map(exportLine).join(''));
      await handle.appendFile(bytes);
      position.seq = last.seq;
      position.size += bytes.length;
      written += page.length;
    }
  }

  async #locate(handle: FileHandle): Promise<Position> {
    const { ino, size } = await handle.stat();
    const known = this.#position;
    if (known && known.inode === ino && known.size === size) return known;
    const tail = readTail(handle.fd);
    const position: Position = { seq: tail.seq, size: tail.end, inode: ino };
    this.#position = position;
    if (tail.size > tail.end) await this.#mend(handle, tail.end, tail.size);
    if (tail.unterminated) {
      await handle.appendFile('\n');
      position.size += 1;
    }
    // The database was deleted or lost its last moments: numbers that stand in the file stay taken.
    await this.#options.access.write(() => this.#options.table.continueAfter(tail.seq));
    return position;
  }

  async #mend(handle: FileHandle, end: number, size: number): Promise<void> {
    const { file, bus } = this.#options;
    if (end === 0) await keepDamaged(file, handle, size);
    await handle.truncate(end);
    await bus.record({
      type: 'events.repaired',
      actor: CONTROLLER_ACTOR,
      subject: basename(file),
      message: `cut ${size - end} unreadable bytes from the end, at byte ${end}`,
    });
  }
}

/** One line of the export, with its line end. Source: Gas City's `events.jsonl`. */
export function exportLine(event: CityEvent): string {
  return `${JSON.stringify(event)}\n`;
}

/** A file without one readable record may be somebody's data: it is copied aside before it is emptied. */
async function keepDamaged(file: string, handle: FileHandle, size: number): Promise<void> {
  const copy = `${file}.damaged`;
  if (await exists(copy)) return;
  const partial = `${copy}.partial`;
  const target = await open(partial, 'w', OWNER_ONLY);
  try {
    const buffer = Buffer.alloc(Math.min(size, 1_048_576));
    for (let position = 0; position < size; ) {
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
      if (bytesRead === 0) break;
      await target.write(buffer, 0, bytesRead);
      position += bytesRead;
    }
  } finally {
    await target.close();
  }
  await rename(partial, copy);
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}
