import { GcError } from '../../platform/errors.ts';
import type { CityPacks, DeclaredPack } from './declared-packs.ts';
import { packsOfPack } from './declared-packs.ts';
import type { ResolvedSource } from './resolve-source.ts';

/** A pack that is asked for, what it is on this machine, and what it asks for in turn. */
export interface PackNode {
  readonly declared: DeclaredPack;
  readonly resolved: ResolvedSource;
  readonly children: readonly PackNode[];
}

/** Turns what is asked for into a folder; `root` is the repository that the asking pack came in. */
export type PackResolver = (declared: DeclaredPack, root: string | undefined) => Promise<ResolvedSource>;

/** A city with more packs than this has a loop that no cycle check sees. */
const MAX_NODES = 5_000;

/**
 * Follows everything that a city asks for, depth first, in the order of the files. A pack that leads back to itself is
 * not followed again: the loader reports the cycle. @throws GcError `config-unreadable`, `too-many-packs`
 */
export async function walkPacks(
  cityRoot: string,
  city: CityPacks,
  resolvePack: PackResolver,
): Promise<readonly PackNode[]> {
  let count = 0;
  const visit = async (
    declared: readonly DeclaredPack[],
    root: string | undefined,
    above: readonly string[],
  ): Promise<PackNode[]> => {
    const nodes: PackNode[] = [];
    for (const each of declared) {
      count += 1;
      if (count > MAX_NODES) {
        throw new GcError('too-many-packs', `more than ${MAX_NODES} packs are asked for`, {
          next: 'look for packs that import each other: gc import list --tree',
        });
      }
      const resolved = await resolvePack(each, root);
      const isFollowed = resolved.kind === 'dir' && !above.includes(resolved.dir);
      const children = isFollowed
        ? await visit(await packsOfPack(resolved.dir, cityRoot), resolved.root, [...above, resolved.dir])
        : [];
      nodes.push({ declared: each, resolved, children });
    }
    return nodes;
  };
  return visit(city.declared, undefined, [cityRoot]);
}
