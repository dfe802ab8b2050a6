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
  return Math.min(distance(typed, name), distance(typed, leaf), distance(typed, bare));
}

/** Insertions, deletions, replacements and swaps of neighbours. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min(
        (previous[j] ?? 0) + 1,
        (current[j - 1] ?? 0) + 1,
        (previous[j - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) best = Math.min(best, (before[j - 2] ?? 0) + 1);
      current.push(best);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}
