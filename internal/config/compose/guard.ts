import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { codeOf } from '../../platform/errors.ts';
import type { Look } from '../document/look.ts';

/** Folders that what is read for a pack must not leave, not even through a symbolic link. */
export class Guard {
  readonly #roots = new Set<string>();
  readonly #folders = new Map<string, string>();
  readonly #look: Look;

  constructor(roots: readonly string[], look: Look) {
    this.#look = look;
    for (const root of roots) this.allow(root);
  }

  /** Adds a folder; one that does not exist adds nothing. */
  allow(root: string): void {
    const real = this.#real(root);
    if (real !== undefined) this.#roots.add(real);
  }

  /** Where a path really leads, when that is outside of every allowed folder; `undefined` when all is well. */
  outside(path: string): string | undefined {
    const real = this.#realOfEntry(path);
    if (real === undefined) return undefined;
    for (const root of this.#roots) {
      if (real === root || real.startsWith(root + sep)) return undefined;
    }
    return real;
  }

  /** Most paths are no links: then the folder's own way, asked once, is the answer. */
  #realOfEntry(path: string): string | undefined {
    const entry = this.#entry(path);
    if (entry === 'absent') return undefined;
    if (entry === 'link') return this.#real(path);
    const folder = this.#folder(dirname(path));
    return folder === undefined ? undefined : join(folder, basename(path));
  }

  /** The way of a folder: its parent's way where that is known and no link comes between. */
  #folder(path: string): string | undefined {
    const known = this.#folders.get(path);
    if (known !== undefined) return known;
    const parent = this.#folders.get(dirname(path));
    if (parent === undefined || this.#look.entry(path) !== 'plain') return this.#real(path);
    const real = join(parent, basename(path));
    this.#folders.set(path, real);
    return real;
  }

  #entry(path: string): 'plain' | 'link' | 'absent' {
    const known = this.#look.entry(path);
    if (known !== undefined) return known;
    try {
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (!found) return 'absent';
      return found.isSymbolicLink() ? 'link' : 'plain';
    } catch (error) {
      if (codeOf(error) !== undefined) return 'absent'; // It cannot even be looked at: reading it says why.
      throw error;
    }
  }

  #real(path: string): string | undefined {
    const known = this.#folders.get(path);
    if (known !== undefined) return known;
    try {
      const real = realpathSync.native(path);
      this.#folders.set(path, real);
      return real;
    } catch (error) {
      if (codeOf(error) !== undefined) return undefined; // Not there, or a loop of links: reading it says so.
      throw error;
    }
  }
}
