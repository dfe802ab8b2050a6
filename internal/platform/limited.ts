import pLimit from 'p-limit';

/** Runs `work` for every item, at most `limit` at a time; the results in the order of the items. Rejects when one does. */
export function limited<T, R>(
  limit: number,
  items: readonly T[],
  work: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const run = pLimit(limit);
  return Promise.all(items.map((item) => run(() => work(item))));
}
