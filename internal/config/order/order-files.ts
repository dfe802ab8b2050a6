import { dirname, join, resolve, sep } from 'node:path';
import type { City } from '../city.ts';
import { namesIn, pathKind } from '../document/read-source.ts';

/** A folder with orders, and whose it is. */
export interface OrderRoot {
  readonly dir: string;
  /** The pack's folder, or the city's. */
  readonly packDir: string;
}

export interface OrderFile extends OrderRoot {
  readonly file: string;
}

/**
 * Folders with the orders of the city, weakest first: beside each formula layer, and the city's own. A pack without
 * formulas counts too, which it does not in Gas City. Source: Gas City order roots.
 */
export function cityOrderRoots({ root, layers }: Pick<City, 'root' | 'layers'>): readonly OrderRoot[] {
  const own = { dir: join(root, 'orders'), packDir: root };
  return unique([...rootsOf(layers.packDirs.city, layers.formulas.city), own]);
}

/** The same for what a rig's own packs and its own formulas bring. */
export function rigOrderRoots(
  { root, layers }: Pick<City, 'root' | 'layers'>,
  rig: { readonly name: string; readonly formulasDir: string },
): readonly OrderRoot[] {
  const formulas = layers.formulas.rigs[rig.name] ?? [];
  const roots = rootsOf(layers.packDirs.rigs[rig.name] ?? [], formulas);
  if (rig.formulasDir === '') return unique(roots);
  const own = resolve(root, rig.formulasDir);
  return unique([...roots, { dir: besides(own), packDir: dirname(own) }]);
}

function rootsOf(packDirs: readonly string[], formulas: readonly string[]): readonly OrderRoot[] {
  return packDirs.flatMap((packDir) => {
    const layers = formulas.filter((layer) => layer.startsWith(packDir + sep));
    const dirs = layers.length === 0 ? [join(packDir, 'orders')] : layers.map(besides);
    return dirs.map((dir) => ({ dir, packDir }));
  });
}

const besides = (layer: string): string => join(dirname(layer), 'orders');

function unique(roots: readonly OrderRoot[]): readonly OrderRoot[] {
  return [...new Map(roots.map((root) => [root.dir, root])).values()];
}

const FLAT = /(\.order)?\.toml$/;

/**
 * The file of each order by its name; a later root wins. In one root `<name>.toml` goes before the older spellings
 * `<name>.order.toml`, `<name>/order.toml` and `formulas/orders/<name>/order.toml`.
 */
export async function orderFiles(roots: readonly OrderRoot[]): Promise<ReadonlyMap<string, OrderFile>> {
  const files = new Map<string, OrderFile>();
  for (const root of roots) {
    const older = join(dirname(root.dir), 'formulas', 'orders');
    const found = [...(await foldersIn(older)), ...(await foldersIn(root.dir)), ...(await flatIn(root.dir))];
    for (const [name, file] of found) files.set(name, { ...root, file });
  }
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

type Found = readonly (readonly [string, string])[];

async function foldersIn(dir: string): Promise<Found> {
  return existing((await visibleIn(dir)).map((name) => [name, join(dir, name, 'order.toml')] as const));
}

async function flatIn(dir: string): Promise<Found> {
  const names = (await visibleIn(dir)).filter((name) => FLAT.test(name));
  const isOlder = (name: string) => name.endsWith('.order.toml');
  const sorted = [...names.filter(isOlder), ...names.filter((name) => !isOlder(name))];
  return existing(sorted.map((name) => [name.replace(FLAT, ''), join(dir, name)] as const));
}

async function existing(files: Found): Promise<Found> {
  const kinds = await Promise.all(files.map(([, file]) => pathKind(file)));
  return files.filter((_, index) => kinds[index] === 'file');
}

async function visibleIn(dir: string): Promise<readonly string[]> {
  return (await namesIn(dir)).filter((name) => !/^[._]/.test(name));
}
