import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

/** What the guard needs to know of the file system. */
export interface FolderView {
  /** The path with all symbolic links resolved; `undefined` when something of it is not there. */
  realPath(path: string): string | undefined;
  /** Whether a name exists, as a link that leads nowhere does too. */
  exists(path: string): boolean;
}

export type Place =
  /** `path` has no symbolic link in it; only what stands after its last existing folder is yet to be made. */
  { readonly kind: 'inside'; readonly path: string } | { readonly kind: 'outside'; readonly why: string };

/**
 * Where a path that an agent names really is, seen from its work dir. Links are followed first and judged by where they
 * lead; a name that does not exist yet is judged by the deepest folder above it that does.
 */
export function placeOf(root: string, named: string, view: FolderView): Place {
  if (named === '' || named.includes('\0')) return { kind: 'outside', why: 'it is no path' };
  const realRoot = view.realPath(root);
  if (realRoot === undefined) return { kind: 'outside', why: `the work dir ${root} is gone` };
  const path = isAbsolute(named) ? resolve(named) : resolve(realRoot, named);
  let existing = path;
  const missing: string[] = [];
  for (;;) {
    const real = view.realPath(existing);
    if (real !== undefined) {
      const place = join(real, ...missing);
      return isWithin(realRoot, place)
        ? { kind: 'inside', path: place }
        : { kind: 'outside', why: `it is ${place}` };
    }
    if (view.exists(existing)) return { kind: 'outside', why: 'it is a link that leads nowhere' };
    const parent = dirname(existing);
    if (parent === existing) return { kind: 'outside', why: 'nothing of it exists' };
    missing.unshift(relative(parent, existing));
    existing = parent;
  }
}

export function isWithin(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}
