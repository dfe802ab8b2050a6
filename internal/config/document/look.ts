import { type Dirent, readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { codeOf } from '../../platform/errors.ts';
import { kindOnDisk, type PathKind } from './read-source.ts';

/**
 * What is on the disk, asked once per load: a folder is listed once, and what it does not list is not asked for. Hundreds
 * of agents have a dozen places each where something might be.
 */
export class Look {
  readonly #folders = new Map<string, ReadonlyMap<string, Dirent> | undefined>();

  /** Sorted names in a folder, empty when there is none. @throws the system's error when it cannot be listed */
  names(folder: string): readonly string[] {
    return [...(this.#entries(folder)?.keys() ?? [])];
  }

  /** What is at a path, links followed; anything that cannot be looked at counts as absent. */
  kind(path: string): PathKind {
    const entry = this.#known(path);
    if (entry === 'absent') return 'absent';
    if (entry?.isDirectory()) return 'folder';
    if (entry?.isFile()) return 'file';
    return kindOnDisk(path);
  }

  /** What a folder that was listed has under this name, links not followed; `undefined`: the disk must be asked. */
  entry(path: string): 'plain' | 'link' | 'absent' | undefined {
    const entry = this.#known(path);
    if (entry === undefined || entry === 'absent') return entry;
    return entry.isSymbolicLink() ? 'link' : 'plain';
  }

  #known(path: string): Dirent | 'absent' | undefined {
    const parent = dirname(path);
    if (!this.#folders.has(parent)) return undefined;
    return this.#folders.get(parent)?.get(basename(path)) ?? 'absent';
  }

  #entries(folder: string): ReadonlyMap<string, Dirent> | undefined {
    if (this.#folders.has(folder)) return this.#folders.get(folder);
    const entries = this.#known(folder) === 'absent' ? undefined : listed(folder);
    this.#folders.set(folder, entries);
    return entries;
  }
}

function listed(folder: string): ReadonlyMap<string, Dirent> | undefined {
  try {
    const entries = readdirSync(folder, { withFileTypes: true });
    return new Map(entries.map((entry) => [entry.name, entry] as const).sort(([a], [b]) => (a < b ? -1 : 1)));
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}
