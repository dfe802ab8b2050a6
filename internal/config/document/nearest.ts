import { editDistance } from '../../platform/edit-distance.ts';

/** A suggestion may differ from what was written by this many edits, or by a third of its length if that is more. */
const MAX_EDITS = 2;

/** The entry of `known` closest to `written`, `undefined` when nothing is close enough to be what was meant. */
export function nearest(written: string, known: Iterable<string>): string | undefined {
  const limit = Math.max(MAX_EDITS, Math.floor(written.length / 3));
  const wanted = written.toLowerCase();
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of [...known].sort()) {
    if (candidate === '') continue;
    const distance = editDistance(wanted, candidate.toLowerCase(), limit);
    const meaningful = distance <= limit && distance < Math.min(candidate.length, written.length);
    if (meaningful && distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** `; did you mean "x"?`, or nothing. */
export function didYouMean(written: string, known: Iterable<string>): string {
  const found = nearest(written, known);
  return found === undefined ? '' : `; did you mean "${found}"?`;
}
