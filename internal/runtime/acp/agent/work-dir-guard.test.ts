import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type FolderView, placeOf } from './work-dir-guard.ts';

/** A file system of nothing but names: folders, files and links, resolved as a kernel does it. */
class Tree implements FolderView {
  readonly #links: ReadonlyMap<string, string>;
  readonly #names: ReadonlySet<string>;

  constructor(names: readonly string[], links: ReadonlyMap<string, string>) {
    this.#links = links;
    this.#names = new Set(['/', '/w', ...names, ...links.keys()]);
  }

  realPath(path: string): string | undefined {
    return this.#walk(path, 0);
  }

  exists(path: string): boolean {
    const parent = this.#walk(path.slice(0, path.lastIndexOf('/')) || '/', 0);
    return parent !== undefined && this.#names.has(join(parent, path.slice(path.lastIndexOf('/') + 1)));
  }

  #walk(path: string, depth: number): string | undefined {
    if (depth > 20) return undefined;
    let at = '/';
    for (const part of path.split('/')) {
      if (part === '' || part === '.') continue;
      if (part === '..') {
        at = at.slice(0, at.lastIndexOf('/')) || '/';
        continue;
      }
      const next = join(at, part);
      if (!this.#names.has(next)) return undefined;
      const target = this.#links.get(next);
      const real =
        target === undefined
          ? next
          : this.#walk(target.startsWith('/') ? target : join(at, target), depth + 1);
      if (real === undefined) return undefined;
      at = real;
    }
    return at;
  }
}

const join = (dir: string, name: string): string => (dir === '/' ? `/${name}` : `${dir}/${name}`);

const name = fc.constantFrom('a', 'b', 'w', '..', '.');
const path = fc.array(name, { maxLength: 5 }).map((parts) => `/${parts.join('/')}`);
const tree = fc
  .record({
    names: fc.array(fc.array(fc.constantFrom('a', 'b', 'w'), { minLength: 1, maxLength: 3 }), {
      maxLength: 8,
    }),
    links: fc.array(
      fc.tuple(
        fc.array(fc.constantFrom('a', 'b', 'w'), { minLength: 1, maxLength: 3 }),
        fc.oneof(path, name),
      ),
      { maxLength: 4 },
    ),
  })
  .map(({ names, links }) => {
    const all = names.flatMap((parts) => parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`));
    const linked = links
      .map(([parts, target]) => [`/${parts.join('/')}`, target] as const)
      .filter(([from]) => from !== '/w');
    return new Tree(all, new Map(linked));
  });

describe('the guard of the work dir', () => {
  it('never lets a name through that leads out, whatever links there are', () => {
    fc.assert(
      fc.property(
        tree,
        fc.oneof(
          path,
          path.map((p) => `/w${p}`),
          path.map((p) => p.slice(1)),
        ),
        (view, named) => {
          const place = placeOf('/w', named, view);
          if (place.kind === 'outside') return;
          expect(place.path === '/w' || place.path.startsWith('/w/')).toBe(true);
          // Nothing in what it answers is a link, and nothing in it leads anywhere else.
          const real = view.realPath(place.path);
          if (real !== undefined) expect(real).toBe(place.path);
          else expect(view.exists(place.path)).toBe(false);
        },
      ),
      { numRuns: 500 },
    );
  });

  it.each([
    ['/w/a', 'inside'],
    ['a/new/file', 'inside'],
    ['/w', 'inside'],
    ['/w/../b', 'outside'],
    ['../b', 'outside'],
    ['/wider', 'outside'],
    ['/w/out/x', 'outside'],
    ['/w/out', 'outside'],
    ['/w/dangling', 'outside'],
    ['/w/in/x', 'inside'],
    ['', 'outside'],
    ['/w/a\0', 'outside'],
  ])('%j is %s', (named, kind) => {
    const links = new Map([
      ['/w/out', '/b'],
      ['/w/dangling', '/nowhere'],
      ['/w/in', '/w/a'],
    ]);
    expect(placeOf('/w', named, new Tree(['/w/a', '/b', '/wider'], links)).kind).toBe(kind);
  });
});
