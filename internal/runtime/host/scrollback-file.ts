import { appendFileSync, readFileSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs';
import { codeOf } from '../../platform/errors.ts';

/** Everything kept of what scrolled off a screen, both files together. */
export const SCROLLBACK_LIMIT_BYTES = 4_194_304;
/** Gathered before it is written. */
const BATCH_CHARS = 16_384;
const OWNER_ONLY = 0o600;

/**
 * Text that scrolled off a screen, in one bounded owner-only file: when it reaches half of the limit it becomes the
 * older half and a new one begins. Lines are joined; the last one may go on on the screen. A disk that takes nothing
 * costs scrollback, never the agent.
 */
export class ScrollbackFile {
  readonly #path: string;
  readonly #limit: number;
  #batch = '';
  #size: number;
  #empty = true;

  constructor(path: string, limitBytes = SCROLLBACK_LIMIT_BYTES) {
    this.#path = path;
    this.#limit = limitBytes;
    this.#size = 0;
    this.clear();
  }

  /** Adds one row; `continues` when it goes on with the line before. */
  append(row: string, continues: boolean): void {
    this.#batch += continues || this.#empty ? row : `\n${row}`;
    this.#empty = false;
    if (this.#batch.length >= BATCH_CHARS) this.#flush();
  }

  /** Takes back rows that came back on the screen. Does nothing unless the text ends in exactly them. */
  takeBack(text: string): void {
    if (text === '') return;
    this.#flush();
    try {
      const current = readText(this.#path);
      if (!current.endsWith(text)) return;
      const kept = Buffer.byteLength(current) - Buffer.byteLength(text);
      truncateSync(this.#path, kept);
      this.#size = kept;
      this.#empty = kept === 0 && readText(this.#older).length === 0;
    } catch {
      // A person or the disk took the file: some rows may be shown twice.
    }
  }

  /** Everything kept, oldest first. */
  read(): string {
    this.#flush();
    return readText(this.#older) + readText(this.#path);
  }

  clear(): void {
    rmSync(this.#path, { force: true });
    rmSync(this.#older, { force: true });
    this.#batch = '';
    this.#size = 0;
    this.#empty = true;
  }

  get #older(): string {
    return `${this.#path}.old`;
  }

  #flush(): void {
    const batch = this.#batch;
    if (batch === '') return;
    this.#batch = '';
    try {
      appendFileSync(this.#path, batch, { mode: OWNER_ONLY });
      this.#size += Buffer.byteLength(batch);
      if (this.#size < this.#limit / 2) return;
      renameSync(this.#path, this.#older);
      this.#size = 0;
    } catch {
      // A full or missing disk: these lines are lost, the session goes on. The size is read again for the next try.
      this.#size = sizeOf(this.#path);
    }
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
