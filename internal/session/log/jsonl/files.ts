import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { codeOf, GcError, messageOf } from '../../../platform/errors.ts';

/** What tells one state of a file from another. */
export interface FileStamp {
  readonly size: number;
  readonly mtimeNs: bigint;
  readonly inode: bigint;
  /** User id of the owner. */
  readonly owner: number;
}

/** One open file, read and written at positions. */
export interface LogFile {
  stamp(): Promise<FileStamp>;
  /** Shorter only at the end of the file. */
  read(position: number, length: number): Promise<Buffer>;
  /** All of it, in one call of the operating system unless that writes a part only. */
  write(data: Uint8Array, position: number): Promise<void>;
  truncate(length: number): Promise<void>;
  /** Content and length are on disk when it returns. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Every act on the disk, one by one, so that each may be made to fail. */
export interface LogFiles {
  makeFolder(path: string): Promise<void>;
  /** `undefined` when there is none and `create` is not set. */
  open(path: string, create: boolean): Promise<LogFile | undefined>;
  stamp(path: string): Promise<FileStamp | undefined>;
  list(folder: string): Promise<readonly string[]>;
  rename(from: string, to: string): Promise<void>;
  /** Nothing happens when there is none. */
  remove(path: string): Promise<void>;
  /** New and renamed names in the folder are on disk when it returns. */
  syncFolder(path: string): Promise<void>;
}

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;

export const diskFiles: LogFiles = {
  async makeFolder(path) {
    await mkdir(path, { recursive: true, mode: FOLDER_MODE });
  },
  async open(path, create) {
    try {
      return await openOnDisk(path, create);
    } catch (error) {
      if (!create && codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  },
  async stamp(path) {
    try {
      return stampOf(await stat(path, { bigint: true }));
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  },
  list: (folder) => readdir(folder),
  rename,
  remove: (path) => rm(path, { force: true }),
  async syncFolder(path) {
    const folder = await open(path, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  },
};

/** A file that is only read, such as one that somebody sent. */
export async function openToRead(path: string): Promise<LogFile> {
  return onDisk(await open(path, 'r'));
}

async function openOnDisk(path: string, create: boolean): Promise<LogFile> {
  return onDisk(await openOrMake(path, create));
}

function onDisk(handle: FileHandle): LogFile {
  return {
    async stamp() {
      return stampOf(await handle.stat({ bigint: true }));
    },
    async read(position, length) {
      const buffer = Buffer.allocUnsafe(length);
      let filled = 0;
      while (filled < length) {
        const { bytesRead } = await handle.read(buffer, filled, length - filled, position + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return buffer.subarray(0, filled);
    },
    async write(data, position) {
      let written = 0;
      while (written < data.length) {
        const { bytesWritten } = await handle.write(data, written, data.length - written, position + written);
        written += bytesWritten;
      }
    },
    truncate: (length) => handle.truncate(length),
    sync: () => handle.datasync(),
    close: () => handle.close(),
  };
}

async function openOrMake(path: string, create: boolean): Promise<FileHandle> {
  try {
    return await open(path, 'r+', FILE_MODE);
  } catch (error) {
    if (!create || codeOf(error) !== 'ENOENT') throw error;
    return open(path, 'wx+', FILE_MODE);
  }
}

function stampOf(found: { size: bigint; mtimeNs: bigint; ino: bigint; uid: bigint }): FileStamp {
  return { size: Number(found.size), mtimeNs: found.mtimeNs, inode: found.ino, owner: Number(found.uid) };
}

export function sameStamp(a: FileStamp | undefined, b: FileStamp | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.size === b.size && a.mtimeNs === b.mtimeNs && a.inode === b.inode;
}

/** Where a file is written before it gets its name. */
export const unfinished = (path: string): string => `${path}.tmp`;

/** Writes the whole file or nothing: a file beside it, on disk, then renamed. The caller syncs the folder. */
export async function replaceFile(files: LogFiles, path: string, content: string): Promise<void> {
  const beside = unfinished(path);
  await writeNew(files, beside, content);
  await files.rename(beside, path);
}

/** A file that holds exactly this, on disk. */
export async function writeNew(files: LogFiles, path: string, content: string | Uint8Array): Promise<void> {
  await withFile(files, path, true, async (file) => {
    const bytes = Buffer.from(content);
    await file.truncate(0);
    await file.write(bytes, 0);
    await file.sync();
  });
}

/** Runs `work` on a file and closes it. @throws GcError `log-missing` when there is none and it is not to be made */
export async function withFile<T>(
  files: LogFiles,
  path: string,
  create: boolean,
  work: (file: LogFile) => Promise<T>,
): Promise<T> {
  const file = await files.open(path, create);
  if (!file) throw new GcError('log-missing', `${path} is gone`, { next: 'restore it from a copy' });
  try {
    return await work(file);
  } finally {
    await file.close().catch(() => undefined); // what was synced is on disk; what was only read needs nothing
  }
}

const FULL = new Set(['ENOSPC', 'EIO', 'EDQUOT', 'EFBIG', 'EMFILE', 'ENFILE']);
const UNWRITABLE = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EISDIR', 'ELOOP']);

/** Gives failures of the disk a code and a next step of ours; anything else passes through. */
export function asLogStoreError(error: unknown, what: string): unknown {
  if (error instanceof GcError) return error;
  const code = codeOf(error) ?? '';
  if (FULL.has(code)) {
    return new GcError('store-full', `cannot write ${what}: ${messageOf(error)}`, {
      cause: error,
      next: 'free some disk space; nothing acknowledged was lost',
    });
  }
  if (UNWRITABLE.has(code)) {
    return new GcError('store-unwritable', `cannot open ${what}: ${messageOf(error)}`, {
      cause: error,
      next: 'check who owns the folder and its permissions',
    });
  }
  return error;
}
