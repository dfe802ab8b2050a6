/**
 * Edits from one text to the other: letters put in, left out, replaced, or two neighbours swapped. Anything above
 * `limit` is reported as `limit + 1`.
 */
export function editDistance(a: string, b: string, limit = Number.POSITIVE_INFINITY): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let older: readonly number[] = [];
  let previous: readonly number[] = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (older[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      current.push(Math.min(replaced, swapped, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    if (Math.min(...current) > limit && Math.min(...previous) > limit) return limit + 1;
    older = previous;
    previous = current;
  }
  return Math.min(previous[b.length] ?? 0, limit + 1);
}
