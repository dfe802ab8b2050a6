import { createHash } from 'node:crypto';

/** What tells one controller's city from another's where both keep their pods in one namespace. */
export type CityHolder =
  /** Whoever holds the lease controls the city, on whatever machine or pod. */
  | { readonly kind: 'lease'; readonly namespace: string; readonly name: string }
  | { readonly kind: 'machine'; readonly identity: string };

const ID_CHARS = 16;

/**
 * A city's mark on its pods: 16 lowercase hex digits, the same for the same folder and holder whatever happens to `.gc`.
 * The path alone will not do: `/city` is what every controller in a pod calls its own.
 */
export function clusterCityId(root: string, holder: CityHolder): string {
  const parts =
    holder.kind === 'lease'
      ? ['lease', holder.namespace, holder.name, root]
      : ['machine', holder.identity, root];
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, ID_CHARS);
}
