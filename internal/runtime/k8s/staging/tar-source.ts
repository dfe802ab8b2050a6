import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink, realpath, stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { pack as newPack, type Pack } from 'tar-stream';
import { codeOf, GcError } from '../../../platform/errors.ts';

/** A workspace beyond this belongs into an image, or is fetched by a pre_start command. */
const MAX_TOTAL_BYTES = 2_147_483_648;
const FILE_MODE = 0o777;
/** `tar` reads whole records, and waits for the rest of one. */
const RECORD_BYTES = 10_240;
const FILLER = Buffer.alloc(65_536);

/** A file or folder of this machine and where it goes, relative to where the archive is unpacked. */
export interface TarSource {
  readonly from: string;
  /** `''`: a folder's contents go to the root itself. */
  readonly to: string;
  /** Folders and files left out, by absolute path and name. */
  readonly skip?: ((path: string, name: string) => boolean) | undefined;
}

export interface TarFile {
  readonly name: string;
  readonly text: string;
}

/**
 * A tar archive of `sources`, one after the other (later ones replace earlier ones where it is unpacked), and of `last`,
 * whose arrival proves that everything before it arrived. Nothing is held whole in memory. Owners are left out. Links
 * that stay inside of their source stay links; other ones are the file that they lead to, or an empty folder; dangling
 * ones, sockets, pipes and devices are left out. A file that grows meanwhile is cut, one that shrinks is filled up.
 * @throws GcError `staging-too-large`, `staging-failed`; the signal's reason
 */
export async function* tarOf(
  sources: readonly TarSource[],
  last: TarFile,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const pack = newPack();
  const writer = new Writer(pack, signal);
  const writing = (async () => {
    for (const source of sources) await writer.add(source);
    await writer.text(last.name, last.text);
    pack.finalize();
  })();
  writing.catch((error: unknown) => pack.destroy(error instanceof Error ? error : new Error(String(error))));
  try {
    let length = 0;
    for await (const chunk of pack as AsyncIterable<Uint8Array>) {
      length += chunk.length;
      yield chunk;
    }
    await writing;
    const rest = length % RECORD_BYTES;
    if (rest > 0) yield FILLER.subarray(0, RECORD_BYTES - rest);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof GcError) throw error;
    throw new GcError('staging-failed', `reading files for a pod: ${String(error)}`, { cause: error });
  } finally {
    pack.destroy();
  }
}

class Writer {
  readonly #pack: Pack;
  readonly #signal: AbortSignal;
  #total = 0;

  constructor(pack: Pack, signal: AbortSignal) {
    this.#pack = pack;
    this.#signal = signal;
  }

  /** A missing source is fine. */
  async add(source: TarSource): Promise<void> {
    const found = await orMissing(stat(source.from));
    if (!found) return;
    if (found.isDirectory()) await this.#folder(source, await realpath(source.from), source.from, source.to);
    else if (found.isFile()) await this.#file(source.from, source.to, found.size, found.mode);
  }

  async text(name: string, text: string): Promise<void> {
    await new Promise<void>((done, fail) => {
      this.#pack.entry({ name, mode: 0o644 }, text, (error) => (error ? fail(error) : done()));
    });
  }

  async #folder(source: TarSource, root: string, folder: string, to: string): Promise<void> {
    const names = await readdir(folder);
    for (const name of names.sort()) {
      this.#signal.throwIfAborted();
      const path = join(folder, name);
      if (source.skip?.(path, name)) continue;
      await this.#entry(source, root, path, to === '' ? name : `${to}/${name}`);
    }
  }

  async #entry(source: TarSource, root: string, path: string, to: string): Promise<void> {
    const own = await orMissing(lstat(path));
    if (own?.isSymbolicLink()) {
      const target = await readlink(path);
      if (staysInside(root, path, source.from, target))
        return this.#header({ name: to, type: 'symlink', linkname: target });
    }
    const found = own?.isSymbolicLink() ? await orMissing(stat(path)) : own;
    if (found?.isFile()) await this.#file(path, to, found.size, found.mode);
    if (!found?.isDirectory()) return;
    await this.#header({ name: to, type: 'directory', mode: found.mode & FILE_MODE });
    if (!own?.isSymbolicLink()) await this.#folder(source, root, path, to);
  }

  async #header(header: { name: string; type: 'symlink' | 'directory'; linkname?: string; mode?: number }) {
    await new Promise<void>((done, fail) => {
      this.#pack.entry(header, (error) => (error ? fail(error) : done()));
    });
  }

  async #file(path: string, name: string, size: number, mode: number): Promise<void> {
    this.#total += size;
    if (this.#total > MAX_TOTAL_BYTES) {
      throw new GcError('staging-too-large', `more than 2 GiB would be copied into the pod, at ${path}`, {
        next: 'use an image that holds the workspace (session.k8s.prebaked), or fetch it in pre_start',
      });
    }
    await new Promise<void>((done, fail) => {
      const entry = this.#pack.entry({ name, size, mode: mode & FILE_MODE }, (error) =>
        error ? fail(error) : done(),
      );
      this.#fill(entry, path, size).then(() => entry.end(FILLER.subarray(0, 0)), fail);
    });
  }

  async #fill(entry: ReturnType<Pack['entry']>, path: string, size: number): Promise<void> {
    const write = async (bytes: Uint8Array) => {
      if (!entry.write(bytes)) await drained(entry, this.#signal);
    };
    let left = size;
    if (size > 0) {
      for await (const part of createReadStream(path, { end: size - 1, signal: this.#signal })) {
        left -= part.length;
        await write(part);
      }
    }
    for (; left > 0; left -= FILLER.length) await write(FILLER.subarray(0, left));
  }
}

function drained(entry: ReturnType<Pack['entry']>, signal: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    const give = () => fail(signal.reason);
    signal.addEventListener('abort', give, { once: true });
    entry.once('drain', (): void => {
      signal.removeEventListener('abort', give);
      done();
    });
  });
}

/** A relative link to something in the same source means the same thing where it is unpacked. */
function staysInside(root: string, path: string, from: string, target: string): boolean {
  if (target.startsWith('/')) return false;
  const place = join(root, relative(from, path));
  const leadsTo = resolve(place, '..', target);
  return leadsTo.startsWith(root + sep);
}

async function orMissing<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return undefined;
    throw error;
  }
}
