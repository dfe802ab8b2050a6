import { editDistance } from '../platform/edit-distance.ts';

/** At most this many suggestions: more help nobody. */
const MAX_SUGGESTIONS = 3;

/** The names that `typed` was probably meant to be, best first. */
export function nearestNames(typed: string, names: readonly string[]): readonly string[] {
  const wanted = typed.toLowerCase();
  const limit = Math.max(1, Math.floor(wanted.length / 3));
  const scored = [...new Set(names)]
    .map((name) => ({ name, distance: closeness(wanted, name.toLowerCase()) }))
    .filter(({ distance }) => distance <= limit);
  scored.sort((a, b) => a.distance - b.distance || a.name.localeCompare(b.name));
  return scored.slice(0, MAX_SUGGESTIONS).map(({ name }) => name);
}

/** Distance to the whole name or to its last part, whichever is nearer. */
function closeness(typed: string, name: string): number {
  const leaf = name.slice(name.lastIndexOf('/') + 1);
  const bare = leaf.slice(leaf.indexOf('.') + 1);
  return Math.min(editDistance(typed, name), editDistance(typed, leaf), editDistance(typed, bare));
}
