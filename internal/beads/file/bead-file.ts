import { existsSync, linkSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { open, readdir, readFile, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf, GcError, messageOf } from '../../platform/errors.ts';
import { type HeldFileLock, lockFile } from '../../platform/file-lock.ts';
import { FileBeadView } from './bead-table.ts';
import { type BeadDocument, documentText, EMPTY_DOCUMENT, parseDocument } from './document.ts';

export interface BeadFileOptions {
  /** Absolute. */
  readonly file: string;
  /** Where the locking programs are looked for. */
  readonly path: string;
  /** Sets this process apart from others that write the same file. */
  readonly owner: string;
  /** Monotonic, milliseconds. */
  readonly elapsed: () => number;
  /** Numbers up to this one were given out, whatever the file says. */
  readonly lowestSeq: () => Promise<number>;
  readonly lockTimeoutMs?: number;
}

/** One change of the document, made under the lock. What it throws rejects it alone. */
export interface BeadFileJob {
  /** The document after it; the same object: nothing is written. */
  run(document: BeadDocument): BeadDocument;
  done(): void;
  failed(error: unknown): void;
}

/**
 * Makes the new file count: `install` puts it in the place of the old one and may be called once. What it throws, and
 * what is thrown after it, leaves the old file.
 */
export type Commit<J> = (change: {
  readonly install: () => void;
  readonly jobs: readonly J[];
  readonly document: BeadDocument;
}) => Promise<void>;

const OWNER_ONLY = 0o600;
/** Ours, beside the file: what a killed process left of it goes away with the next write. */
const TEMPORARY = '.gc-tmp';
/** One holding of the lock is not kept longer than this while new jobs come in: others want it too. */
const MAX_HOLD_MS = 100;

interface Loaded {
  readonly stamp: string;
  readonly document: BeadDocument;
  readonly view: FileBeadView;
}

/**
 * The file with its lock. Reads need none, because writers replace the file as a whole; jobs that come together share
 * one holding of the lock and one write. Source of file and lock: Gas City (`beads.json`, flock on `beads.json.lock`).
 */
export class BeadFile<J extends BeadFileJob> {
  readonly file: string;
  readonly #options: BeadFileOptions;
  readonly #commit: Commit<J>;
  #loaded: Loaded | undefined;
  #queue: J[] = [];
  #writing: Promise<void> | undefined;
  #written = 0;
  #ownStamp = '';

  constructor(options: BeadFileOptions, commit: Commit<J>) {
    this.file = options.file;
    this.#options = options;
    this.#commit = commit;
  }

  /** What tells one content from another; `-` when there is no file. */
  stamp(): string {
    const found = statSync(this.file, { bigint: true, throwIfNoEntry: false });
    return found ? `${found.ino}.${found.size}.${found.mtimeNs}.${found.ctimeNs}` : NO_FILE;
  }

  /** Whether the file is as this object wrote it last. */
  isOwn(stamp: string): boolean {
    return stamp === this.#ownStamp;
  }

  /** @throws GcError `store-corrupt` */
  async view(): Promise<FileBeadView> {
    const stamp = this.stamp();
    if (this.#loaded?.stamp === stamp) return this.#loaded.view;
    try {
      return (await this.#load()).view;
    } catch (error) {
      if (codeOf(error) !== 'store-corrupt') throw error;
    }
    // A program that writes in place may be in the middle of it: under the lock nobody is.
    const lock = await this.#lock();
    try {
      return (await this.#load()).view;
    } finally {
      lock.release();
    }
  }

  /** Jobs of one moment are written together. */
  enqueue(job: J): void {
    this.#queue.push(job);
    if (!this.#writing) this.#start();
  }

  /** Resolves when nothing is being written any more. */
  async settled(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  #start(): void {
    this.#writing = this.#drain().finally(() => {
      this.#writing = undefined;
      if (this.#queue.length > 0) this.#start();
    });
  }

  async #drain(): Promise<void> {
    let lock: HeldFileLock;
    try {
      lock = await this.#lock();
    } catch (error) {
      for (const job of this.#queue.splice(0)) job.failed(error);
      return;
    }
    const since = this.#options.elapsed();
    try {
      while (this.#queue.length > 0 && this.#options.elapsed() - since < MAX_HOLD_MS) {
        await this.#batch(this.#queue.splice(0), lock);
        // Whoever waited for one change and makes the next at once finds the lock still held.
        await new Promise<void>((resolve) => setImmediate(resolve));
      }
    } finally {
      lock.release();
    }
  }

  async #batch(jobs: readonly J[], lock: HeldFileLock): Promise<void> {
    let pending = jobs;
    try {
      const before = atLeast((await this.#load()).document, await this.#options.lowestSeq());
      const made: J[] = [];
      let document = before;
      for (const job of jobs) {
        try {
          document = job.run(document);
          made.push(job);
        } catch (error) {
          job.failed(error);
        }
      }
      pending = made;
      if (document === before) await this.#commit({ install: () => undefined, jobs: made, document });
      else await this.#write(document, made, lock);
      for (const job of made) job.done();
    } catch (error) {
      for (const job of pending) job.failed(error);
    }
  }

  async #write(document: BeadDocument, jobs: readonly J[], lock: HeldFileLock): Promise<void> {
    const text = documentText(document);
    const target = behindLinks(this.file);
    await this.#removeLeftovers(target);
    this.#written += 1;
    const own = `${target}.${this.#options.owner}`;
    const made = `${own}.${this.#written}${TEMPORARY}`;
    const kept = `${own}.kept${TEMPORARY}`;
    let isInstalled = false;
    try {
      await writeSynced(made, text, modeOf(target));
      const install = () => {
        if (isInstalled) return;
        if (!lock.isHeld()) throw lostLock(this.file);
        keepOld(target, kept);
        renameSync(made, target);
        isInstalled = true;
        // Before anybody who watches the file can ask whose change it is.
        this.#ownStamp = this.stamp();
      };
      await this.#commit({ install, jobs, document });
    } catch (error) {
      if (isInstalled) restoreOld(target, kept);
      rmSync(made, { force: true });
      throw asFileError(error, this.file);
    }
    rmSync(kept, { force: true });
    this.#loaded = { stamp: this.#ownStamp, document, view: new FileBeadView(document) };
  }

  async #load(): Promise<Loaded> {
    for (;;) {
      const stamp = this.stamp();
      if (this.#loaded?.stamp === stamp) return this.#loaded;
      const document = await this.#read();
      // Replaced while it was read: what was read may be older than the stamp says.
      if (this.stamp() !== stamp) continue;
      this.#loaded = { stamp, document, view: new FileBeadView(document) };
      return this.#loaded;
    }
  }

  async #read(): Promise<BeadDocument> {
    try {
      // A pipe or a device would keep whoever reads it for ever.
      const found = statSync(this.file, { throwIfNoEntry: false });
      if (found && !found.isFile()) throw noRegularFile(this.file);
      return parseDocument(await readFile(this.file, 'utf8'), this.file);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return EMPTY_DOCUMENT;
      throw asFileError(error, this.file);
    }
  }

  async #lock(): Promise<HeldFileLock> {
    // The city's database lies in the same folder: where that is gone, a new one would be somebody else's.
    if (!existsSync(dirname(this.file))) throw removedFolder(this.file);
    const { path, lockTimeoutMs } = this.#options;
    const lock = `${this.file}.lock`;
    const timeout = lockTimeoutMs === undefined ? {} : { timeoutMs: lockTimeoutMs };
    try {
      return await lockFile(lock, { path, ...timeout });
    } catch (error) {
      throw asFileError(error, lock);
    }
  }

  /** Under the lock nobody else of ours writes: what lies there was left by the dead. */
  async #removeLeftovers(target: string): Promise<void> {
    if (this.#written > 0) return;
    const folder = dirname(target);
    const names = await readdir(folder);
    for (const name of names) {
      if (name.startsWith(`${basename(target)}.`) && name.endsWith(TEMPORARY))
        await rm(join(folder, name), { force: true });
    }
  }
}

export const NO_FILE = '-';

const atLeast = (document: BeadDocument, seq: number): BeadDocument =>
  document.seq >= seq ? document : { ...document, seq };

async function writeSynced(path: string, text: string, mode: number): Promise<void> {
  const handle = await open(path, 'w', mode);
  try {
    await handle.writeFile(text);
    await handle.chmod(mode);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Of a file that is there its own, else nobody but the owner can read it. */
function modeOf(file: string): number {
  const found = statSync(file, { throwIfNoEntry: false });
  return found ? found.mode & 0o777 : OWNER_ONLY;
}

/** Another name for the old content, so that it can come back without a byte being written. */
function keepOld(file: string, kept: string): void {
  rmSync(kept, { force: true });
  try {
    linkSync(file, kept);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

function restoreOld(file: string, kept: string): void {
  try {
    renameSync(kept, file);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    rmSync(file, { force: true });
  }
}

/** Where a link leads, so that the file is replaced and not the link. */
function behindLinks(file: string): string {
  try {
    return realpathSync(file);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    return file;
  }
}

function noRegularFile(file: string): GcError {
  return new GcError('store-unwritable', `${file} is no regular file`, {
    next: 'move it away; nothing is read from it or written into it meanwhile',
  });
}

function lostLock(file: string): GcError {
  return new GcError(
    'store-busy',
    `the program that held ${file}.lock for us was ended; nothing was changed`,
    {
      next: 'try again',
    },
  );
}

function removedFolder(file: string): GcError {
  return new GcError('store-removed', `the folder of ${file} was removed while it was in use`, {
    next: 'nothing more is written; stop the city with gc stop and start it again',
  });
}

function asFileError(error: unknown, file: string): unknown {
  const code = codeOf(error) ?? '';
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    return new GcError('store-full', `cannot write ${file}: ${messageOf(error)}`, {
      cause: error,
      next: 'free some disk space; nothing acknowledged was lost',
    });
  }
  if (['EACCES', 'EPERM', 'EROFS', 'EISDIR', 'ENOTDIR'].includes(code)) {
    return new GcError('store-unwritable', `cannot use ${file}: ${messageOf(error)}`, {
      cause: error,
      next: 'check who owns the folder and its permissions',
    });
  }
  return error;
}
