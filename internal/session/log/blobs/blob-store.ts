import { open, readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { ensurePrivateDir, writeFileAtomic } from '../../../platform/atomic-file.ts';
import type { Clock } from '../../../platform/clock.ts';
import { codeOf, GcError } from '../../../platform/errors.ts';
import { type BlobName, blobNameOf, nameOfHash } from './blob-name.ts';

const FILE_MODE = 0o600;
const FOLDER = /^[0-9a-f]{2}$/;
const HASH = /^[0-9a-f]{64}$/;

export interface StoredBlob {
  readonly hash: string;
  readonly bytes: number;
  /** Milliseconds since the epoch; moved each time the content is put again. */
  readonly putAt: number;
}

/** The folder of the blobs of a file of logs: beside it, and its own. */
export function blobFolderOf(logFile: string): string {
  const { dir, name } = parse(logFile);
  return join(dir, `${name}.blobs`);
}

/** Contents under their hashes, `<folder>/<2 hex>/<64 hex>`, one file each, for the owner only. */
export class BlobStore {
  readonly #folder: string;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(folder: string, clock: Pick<Clock, 'now'>) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /** On disk, past a power loss, when it returns; a content that is there already is kept as it is. */
  async put(content: Uint8Array): Promise<BlobName> {
    const name = blobNameOf(content);
    const hash = name.digest.slice('sha256:'.length);
    if (await this.#touch(hash)) return name;
    const folder = join(this.#folder, hash.slice(0, 2));
    ensurePrivateDir(this.#folder);
    ensurePrivateDir(folder);
    await writeFileAtomic(this.pathOf(hash), Buffer.from(content), FILE_MODE);
    for (const each of [folder, this.#folder]) await syncFolder(each);
    return name;
  }

  /** @throws GcError `blob-missing`, `blob-damaged` */
  async get(hash: string): Promise<Uint8Array> {
    const path = this.pathOf(hash);
    let content: Buffer;
    try {
      content = await readFile(path);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
      throw new GcError('blob-missing', `${nameOfHash(hash).uri} is not at ${path}`, {
        cause: error,
        next: 'restore it from a copy; the log itself is not damaged',
      });
    }
    if (blobNameOf(content).digest === nameOfHash(hash).digest) return content;
    throw new GcError('blob-damaged', `the content of ${path} does not match its name`, {
      next: 'restore it from a copy; the log itself is not damaged',
    });
  }

  async *list(): AsyncGenerator<StoredBlob> {
    for (const folder of (await namesIn(this.#folder)).filter((name) => FOLDER.test(name))) {
      for (const hash of (await namesIn(join(this.#folder, folder))).filter((name) => HASH.test(name))) {
        const found = await stat(this.pathOf(hash)).catch(absent);
        if (found) yield { hash, bytes: found.size, putAt: found.mtimeMs };
      }
    }
  }

  /** Unless somebody put it again at `putBefore` or later. Whether it is gone. */
  async remove(hash: string, putBefore: number): Promise<boolean> {
    const found = await stat(this.pathOf(hash)).catch(absent);
    if (found && found.mtimeMs >= putBefore) return false;
    await rm(this.pathOf(hash), { force: true });
    return true;
  }

  /** @throws GcError `invalid-blob` for what is no hash */
  pathOf(hash: string): string {
    if (HASH.test(hash)) return join(this.#folder, hash.slice(0, 2), hash);
    throw new GcError('invalid-blob', `not the name of a blob: ${JSON.stringify(hash.slice(0, 80))}`);
  }

  /** Whether the content is there and sound; then it counts as put now. A damaged one is written again. */
  async #touch(hash: string): Promise<boolean> {
    try {
      await this.get(hash);
      const now = this.#clock.now() / 1_000;
      await utimes(this.pathOf(hash), now, now);
      return true;
    } catch (error) {
      const code = codeOf(error);
      if (code === 'blob-missing' || code === 'blob-damaged' || code === 'ENOENT') return false;
      throw error;
    }
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return (await readdir(folder).catch(absent)) ?? [];
}

/** A new name is on disk only once its folder is. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function absent(error: unknown): undefined {
  if (codeOf(error) === 'ENOENT') return undefined;
  throw error;
}
