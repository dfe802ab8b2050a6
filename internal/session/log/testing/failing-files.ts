import type { LogFile, LogFiles } from '../jsonl/files.ts';

/** What the disk says when a call fails. */
function diskError(code: string): Error {
  return Object.assign(new Error(`${code}: made to fail`), { code });
}

/** A disk of which every single call can be made to fail, a write after a part of it was written. */
export class FailingFiles {
  readonly files: LogFiles;
  /** Calls so far. */
  calls = 0;
  /** Calls from this one on fail, as many as `failures` says. */
  failAt = Number.POSITIVE_INFINITY;
  failures = 1;
  code = 'ENOSPC';
  /** What each call did, for a test that wants to say which one failed. */
  readonly names: string[] = [];
  #next: string | undefined;

  constructor(real: LogFiles) {
    this.files = {
      makeFolder: (path) => this.#call('makeFolder', () => real.makeFolder(path)),
      open: async (path, create) => {
        const file = await this.#call('open', () => real.open(path, create));
        return file && this.#wrap(file);
      },
      stamp: (path) => this.#call('stamp', () => real.stamp(path)),
      list: (folder) => this.#call('list', () => real.list(folder)),
      rename: (from, to) => this.#call('rename', () => real.rename(from, to)),
      remove: (path) => this.#call('remove', () => real.remove(path)),
      syncFolder: (path) => this.#call('syncFolder', () => real.syncFolder(path)),
    };
  }

  /** The next call of that name fails. */
  failNext(name: string): void {
    this.#next = name;
  }

  #wrap(file: LogFile): LogFile {
    return {
      stamp: () => this.#call('file.stamp', () => file.stamp()),
      read: (position, length) => this.#call('file.read', () => file.read(position, length)),
      write: (data, position) =>
        this.#call(
          'file.write',
          () => file.write(data, position),
          () => file.write(data.subarray(0, data.length >> 1), position),
        ),
      truncate: (length) => this.#call('file.truncate', () => file.truncate(length)),
      sync: () => this.#call('file.sync', () => file.sync()),
      close: () => this.#call('file.close', () => file.close(), file.close),
    };
  }

  async #call<T>(name: string, work: () => Promise<T>, before?: () => Promise<void>): Promise<T> {
    this.calls += 1;
    this.names.push(name);
    const counted = this.calls >= this.failAt && this.calls < this.failAt + this.failures;
    if (!counted && this.#next !== name) return work();
    this.#next = undefined;
    await before?.();
    throw diskError(this.code);
  }
}
