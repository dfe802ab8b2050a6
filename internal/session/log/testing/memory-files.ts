import type { FileStamp, LogFile, LogFiles } from '../jsonl/files.ts';

interface Held {
  bytes: Buffer;
  version: bigint;
  readonly inode: bigint;
}

/** A disk in memory, for tests that open a log thousands of times. */
export class MemoryFiles implements LogFiles {
  readonly held = new Map<string, Held>();
  #inodes = 0n;

  put(path: string, bytes: Buffer | string): void {
    this.#inodes += 1n;
    this.held.set(path, { bytes: Buffer.from(bytes), version: 0n, inode: this.#inodes });
  }

  bytes(path: string): Buffer {
    return this.held.get(path)?.bytes ?? Buffer.alloc(0);
  }

  async makeFolder(): Promise<void> {}

  async open(path: string, create: boolean): Promise<LogFile | undefined> {
    if (!this.held.has(path) && create) this.put(path, '');
    const file = this.held.get(path);
    return file && handleOf(file);
  }

  async stamp(path: string): Promise<FileStamp | undefined> {
    const file = this.held.get(path);
    return file && stampOf(file);
  }

  async list(folder: string): Promise<readonly string[]> {
    return [...this.held.keys()]
      .filter((path) => path.startsWith(`${folder}/`))
      .map((path) => path.slice(folder.length + 1));
  }

  async rename(from: string, to: string): Promise<void> {
    const file = this.held.get(from);
    if (file) this.held.set(to, file);
    this.held.delete(from);
  }

  async remove(path: string): Promise<void> {
    this.held.delete(path);
  }

  async syncFolder(): Promise<void> {}
}

function handleOf(file: Held): LogFile {
  const change = (bytes: Buffer) => {
    file.bytes = bytes;
    file.version += 1n;
  };
  return {
    stamp: async () => stampOf(file),
    read: async (position, length) => Buffer.from(file.bytes.subarray(position, position + length)),
    write: async (data, position) => {
      const gap = Buffer.alloc(Math.max(0, position - file.bytes.length));
      const after = file.bytes.subarray(position + data.length);
      change(Buffer.concat([file.bytes.subarray(0, position), gap, data, after]));
    },
    truncate: async (length) => change(Buffer.from(file.bytes.subarray(0, length))),
    sync: async () => undefined,
    close: async () => undefined,
  };
}

const stampOf = (file: Held): FileStamp => ({
  size: file.bytes.length,
  mtimeNs: file.version,
  inode: file.inode,
  owner: 0,
});
