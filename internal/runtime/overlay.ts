import { constants } from 'node:fs';
import {
  access,
  chmod,
  copyFile,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { writeFileAtomic } from '../platform/atomic-file.ts';
import { codeOf, GcError } from '../platform/errors.ts';
import { isMergeable, mergeSettings } from './overlay-merge.ts';

/** The folder of an overlay whose subfolders are for one agent program each. */
const PER_PROVIDER = 'per-provider';
const NEW_FOLDER_MODE = 0o755;

/** `merge`: agent settings are merged with what is there. `replace`: every file is. */
type Existing = 'merge' | 'replace';

interface Copy {
  readonly existing: Existing;
  readonly signal: AbortSignal;
  /** Real paths of the folders above, to notice links that lead back. */
  readonly above: ReadonlySet<string>;
  /** Real path of the folder that links must not lead out of; `undefined`: they may lead anywhere. */
  readonly within: string | undefined;
}

/**
 * Lays an overlay over a work dir: its universal part (everything but `per-provider/`), then `per-provider/<slot>/` of
 * each slot in order, later ones winning. A missing overlay is fine. Links to folders are followed, dangling links are
 * recreated. Files that are there are replaced and keep their mode; the mergeable settings files are merged.
 * @param within what a pack's overlay must not lead out of, not even through a link; `undefined` for the city's own.
 * @throws GcError `overlay-failed` at the first entry that cannot be copied.
 */
export async function applyOverlay(
  source: string,
  target: string,
  slots: readonly string[],
  signal: AbortSignal,
  within?: string,
): Promise<void> {
  if (!(await isFolder(source))) return;
  const root = within === undefined ? undefined : await realpath(within);
  const copy: Copy = { existing: 'merge', signal, above: new Set(), within: root };
  await copyFolder(source, target, '', copy, (relative) => relative === PER_PROVIDER);
  for (const slot of new Set(slots.filter((name) => name !== ''))) {
    const from = join(source, PER_PROVIDER, slot);
    if (await isFolder(from)) await copyFolder(from, target, '', copy, () => false);
  }
}

/** Copies a file or folder to `target`, replacing files; a missing source is fine. @throws GcError `overlay-failed` */
export async function copyFileOrFolder(source: string, target: string, signal: AbortSignal): Promise<void> {
  const found = await statOrUndefined(source);
  if (!found) return;
  const copy: Copy = { existing: 'replace', signal, above: new Set(), within: undefined };
  if (found.isDirectory()) await copyFolder(source, target, '', copy, () => false);
  else await copyEntry(source, target, '', copy);
}

async function isFolder(path: string): Promise<boolean> {
  const found = await statOrUndefined(path);
  if (found && !found.isDirectory()) throw new GcError('overlay-failed', `${path} is not a folder`);
  return found !== undefined;
}

async function copyFolder(
  source: string,
  target: string,
  relative: string,
  copy: Copy,
  skip: (relative: string) => boolean,
): Promise<void> {
  const real = await realpath(source);
  refuseOutside(source, real, copy);
  if (copy.above.has(real))
    throw new GcError('overlay-failed', `the link ${source} leads back to a folder above it`);
  const inside: Copy = { ...copy, above: new Set([...copy.above, real]) };
  await mkdir(target, { recursive: true, mode: NEW_FOLDER_MODE });
  const names = await readdir(source);
  for (const name of names.sort()) {
    copy.signal.throwIfAborted();
    const path = relative === '' ? name : `${relative}/${name}`;
    if (skip(path)) continue;
    const from = join(source, name);
    const found = await statOrUndefined(from);
    if (found?.isDirectory()) await copyFolder(from, join(target, name), path, inside, skip);
    else await copyEntry(from, join(target, name), path, inside);
  }
}

function refuseOutside(path: string, real: string, { within }: Copy): void {
  if (within === undefined || real === within || real.startsWith(within + sep)) return;
  throw new GcError('overlay-failed', `${path} leads out of its pack, to ${real}`, {
    next: 'copy the file into the pack',
  });
}

async function copyEntry(source: string, target: string, relative: string, copy: Copy): Promise<void> {
  const found = await statOrUndefined(source);
  const there = await lstatOrUndefined(target);
  if (there?.isDirectory()) throw new GcError('overlay-failed', `${target} is a folder, ${source} is a file`);
  await mkdir(dirname(target), { recursive: true, mode: NEW_FOLDER_MODE });
  if (!found) {
    await rm(target, { force: true });
    await symlink(await readlink(source), target);
    return;
  }
  if (copy.within !== undefined) refuseOutside(source, await realpath(source), copy);
  if (!found.isFile()) throw new GcError('overlay-failed', `${source} is neither a file nor a folder`);
  const kept = there?.isFile() ? there.mode & 0o777 : undefined;
  if (copy.existing === 'merge' && there && isMergeable(relative)) {
    await mergeInto(source, target, kept ?? found.mode & 0o777);
    return;
  }
  // Written through, a link would change a file outside of the work dir.
  if (there?.isSymbolicLink()) await rm(target);
  await copyFile(source, target);
  if (kept !== undefined) await chmod(target, kept);
}

async function mergeInto(source: string, target: string, mode: number): Promise<void> {
  const overlay = await readFile(source, 'utf8');
  const base = await readFile(target, 'utf8').catch(() => undefined); // unreadable: replaced, as if it were not JSON
  const merged = mergedOrOverlay(base, overlay);
  if (merged === base) return;
  await access(dirname(target), constants.W_OK);
  if ((await lstatOrUndefined(target))?.isSymbolicLink()) await rm(target);
  await writeFileAtomic(target, merged, mode);
}

function mergedOrOverlay(base: string | undefined, overlay: string): string {
  if (base === undefined) return overlay;
  try {
    return mergeSettings(base, overlay);
  } catch (error) {
    if (codeOf(error) === 'overlay-merge') return overlay; // as the original: what cannot be merged is replaced
    throw error;
  }
}

async function statOrUndefined(path: string) {
  return await stat(path).catch(missingIsUndefined);
}

async function lstatOrUndefined(path: string) {
  return await lstat(path).catch(missingIsUndefined);
}

function missingIsUndefined(error: unknown): undefined {
  const code = codeOf(error);
  if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
  throw error;
}
