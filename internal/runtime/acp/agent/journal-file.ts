import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { ensurePrivateDirFor } from '../../../platform/atomic-file.ts';
import { fieldsOf } from '../../../platform/fields.ts';
import { earlierJournal, rotatedJournal } from '../journal-files.ts';

const OWNER_ONLY = 0o600;
/** A journal that is larger is set aside once as `.1`; the one set aside before it goes. */
export const MAX_JOURNAL_BYTES = 8_388_608;
/** The last line is found in this much of the end. */
const TAIL_BYTES = 1_048_576;
const NEWLINE = 10;

/** What the end of a journal tells about the conversation in it. */
export interface JournalEnd {
  readonly seq: number;
  readonly conversation: string;
  /** The work dir of the life that wrote it. */
  readonly cwd: string;
}

/**
 * Lines of JSON, appended as they come. What was written is the kernel's at once, so it outlives this process. The file
 * stays when its session is gone, for whoever reads it later, until the same name has begun two other conversations.
 */
export class JournalFile {
  readonly #path: string;
  readonly #maxBytes: number;
  #fd: number | undefined;
  #bytes = 0;

  constructor(path: string, maxBytes = MAX_JOURNAL_BYTES) {
    this.#path = path;
    this.#maxBytes = maxBytes;
  }

  /** `undefined` without a readable journal. */
  end(): JournalEnd | undefined {
    const { seq, conversation, cwd } = fieldsOf(lastLine(this.#path) ?? lastLine(rotatedJournal(this.#path)));
    if (typeof seq !== 'number' || typeof conversation !== 'string' || typeof cwd !== 'string')
      return undefined;
    return { seq, conversation, cwd };
  }

  /** Opens it to go on, or anew: then what it held is set aside, once. @throws Node's file errors */
  open(goesOn: boolean): void {
    ensurePrivateDirFor(this.#path);
    if (!goesOn && (existsSync(this.#path) || existsSync(rotatedJournal(this.#path)))) this.#setAside();
    const cut = endsInTheMiddle(this.#path);
    this.#fd = openSync(this.#path, 'a', OWNER_ONLY);
    this.#bytes = fstatSync(this.#fd).size;
    if (cut) this.append('');
  }

  /** @throws Node's file errors */
  append(line: string): void {
    if (this.#fd === undefined) return;
    const bytes = Buffer.from(`${line}\n`);
    if (this.#bytes > 0 && this.#bytes + bytes.length > this.#maxBytes) this.#rotate();
    for (let from = 0; from < bytes.length; ) from += writeSync(this.#fd, bytes, from);
    this.#bytes += bytes.length;
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  /** Whoever reads it may not be done with it. */
  #setAside(): void {
    for (const place of [(path: string) => path, rotatedJournal]) {
      const [from, to] = [place(this.#path), place(earlierJournal(this.#path))];
      rmSync(to, { force: true });
      if (existsSync(from)) renameSync(from, to);
    }
  }

  #rotate(): void {
    this.close();
    renameSync(this.#path, rotatedJournal(this.#path));
    this.#fd = openSync(this.#path, 'a', OWNER_ONLY);
    this.#bytes = 0;
  }
}

/** A host that was killed while it wrote leaves half a line. */
function endsInTheMiddle(path: string): boolean {
  const tail = readTail(path, 1);
  return tail.length > 0 && tail[0] !== NEWLINE;
}

function lastLine(path: string): unknown {
  const lines = readTail(path, TAIL_BYTES).toString('utf8').split('\n');
  for (const line of lines.reverse()) {
    try {
      const value: unknown = JSON.parse(line);
      if (value !== null) return value;
    } catch {
      // an empty line, or one that was cut
    }
  }
  return undefined;
}

function readTail(path: string, length: number): Buffer {
  if (!existsSync(path) || !statSync(path).isFile()) return Buffer.alloc(0);
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    const bytes = Buffer.alloc(Math.min(size, length));
    const read = readSync(fd, bytes, 0, bytes.length, size - bytes.length);
    return bytes.subarray(0, read);
  } finally {
    closeSync(fd);
  }
}
