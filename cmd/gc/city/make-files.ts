import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { GcError, messageOf } from '../../../internal/platform/errors.ts';

export type NewEntry =
  | { readonly kind: 'folder' }
  | {
      readonly kind: 'file';
      readonly content: string | Buffer;
      /** Permission bits; absent: as the process makes files. */
      readonly mode?: number;
      /** One that is there already stays as it is; else the same content may be there, and nothing else. */
      readonly keep?: boolean;
      /** What was read and is replaced; the old bytes come back after an error. */
      readonly replaces?: string;
    }
  | { readonly kind: 'link'; readonly target: string };

/**
 * Makes all of it below `root`, or nothing: what was made is taken away again when one thing cannot be.
 * @throws GcError with the code of `failure`
 */
export function makeFiles(
  root: string,
  entries: ReadonlyMap<string, NewEntry>,
  failure: { readonly code: string; readonly what: string },
): { undo(): void } {
  const undos: (() => void)[] = [];
  const undo = (): void => {
    for (const step of undos.splice(0).reverse()) step();
  };
  try {
    for (const [path, entry] of entries) {
      const file = join(root, path);
      makeFolder(entry.kind === 'folder' ? file : dirname(file), undos);
      if (entry.kind === 'link') makeLink(file, entry.target, undos);
      else if (entry.kind === 'file') makeFile(file, entry, undos);
    }
  } catch (error) {
    undo();
    throw new GcError(failure.code, `${failure.what}: ${messageOf(error)}; nothing was left behind`, {
      cause: error,
      next: 'check the permissions of that folder and the space on its disk',
    });
  }
  return { undo };
}

function makeFolder(folder: string, undos: (() => void)[]): void {
  const first = mkdirSync(folder, { recursive: true });
  if (first === undefined) return;
  const made: string[] = [];
  for (let dir = folder; dir.length >= first.length; dir = dirname(dir)) made.push(dir);
  undos.push(() => made.forEach(removeIfEmpty));
}

function makeFile(
  file: string,
  { content, mode, keep, replaces }: Extract<NewEntry, { kind: 'file' }>,
  undos: (() => void)[],
): void {
  if (replaces !== undefined && existsSync(file)) {
    writeFileSync(file, content);
    undos.push(() => writeFileSync(file, replaces));
    return;
  }
  if (lstatSync(file, { throwIfNoEntry: false })) {
    if (keep || readFileSync(file).equals(Buffer.from(content))) return;
    throw new Error(`${file} is there already, with other content`);
  }
  writeFileSync(file, content, { flag: 'wx' });
  undos.push(() => rmSync(file, { force: true }));
  if (mode !== undefined) chmodSync(file, mode);
}

function makeLink(file: string, target: string, undos: (() => void)[]): void {
  symlinkSync(target, file);
  undos.push(() => rmSync(file, { force: true }));
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // somebody put something into it meanwhile: theirs to keep
  }
}
