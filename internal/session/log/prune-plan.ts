/** What is judged of a log. */
export interface PruneCandidate {
  readonly uid: string;
  /** Milliseconds since the epoch. */
  readonly lastActivityAt: number;
  readonly bytes: number;
  /** The session whose conversation this one continues. */
  readonly continues?: string | undefined;
}

export interface PruneBudget {
  /** Milliseconds; 0: no limit. */
  readonly maxAgeMs: number;
  /** Of all logs together; 0: no limit. */
  readonly maxBytes: number;
  /** So many of the newest always stay. */
  readonly keep: number;
}

const DAY_MS = 86_400_000;
const MIB = 1_048_576;

export const DEFAULT_BUDGET: PruneBudget = { maxAgeMs: 30 * DAY_MS, maxBytes: 512 * MIB, keep: 10 };

/**
 * The logs to remove, oldest first. Never a live one, never one that a kept log continues, never one of the `keep`
 * newest; then what is too old, then the oldest until the rest fits. Without both limits nothing.
 */
export function prunePlan(
  candidates: readonly PruneCandidate[],
  budget: PruneBudget,
  live: ReadonlySet<string>,
  now: number,
): readonly string[] {
  const { maxAgeMs, maxBytes, keep } = budget;
  if (maxAgeMs === 0 && maxBytes === 0) return [];
  const newestFirst = [...candidates].sort(
    (a, b) => b.lastActivityAt - a.lastActivityAt || (a.uid < b.uid ? -1 : 1),
  );
  const oldestFirst = newestFirst.filter(({ uid }, index) => index >= keep && !live.has(uid)).reverse();
  const kept = new KeptLogs(candidates);
  if (maxAgeMs > 0) {
    const old = oldestFirst.filter(({ lastActivityAt }) => now - lastActivityAt > maxAgeMs);
    kept.removeFrom(old, () => true);
  }
  if (maxBytes > 0) kept.removeFrom(oldestFirst, () => kept.bytes > maxBytes);
  return kept.removed;
}

/** What is left while logs are taken away one by one, and which of them others need. */
class KeptLogs {
  readonly removed: string[] = [];
  bytes: number;
  readonly #gone = new Set<string>();
  /** How many of the kept continue it. */
  readonly #needed = new Map<string, number>();

  constructor(all: readonly PruneCandidate[]) {
    this.bytes = all.reduce((sum, each) => sum + each.bytes, 0);
    for (const { continues } of all) {
      if (continues !== undefined) this.#needed.set(continues, (this.#needed.get(continues) ?? 0) + 1);
    }
  }

  /** In order; begins again where a removal freed an older one that was needed before. */
  removeFrom(order: readonly PruneCandidate[], more: () => boolean): void {
    let index = 0;
    while (index < order.length && more()) {
      const next = order[index];
      index += 1;
      if (!next || this.#gone.has(next.uid) || this.#needed.get(next.uid)) continue;
      this.#remove(next);
      if (next.continues !== undefined && !this.#needed.get(next.continues)) index = 0;
    }
  }

  #remove({ uid, bytes, continues }: PruneCandidate): void {
    this.#gone.add(uid);
    this.removed.push(uid);
    this.bytes -= bytes;
    if (continues !== undefined) this.#needed.set(continues, (this.#needed.get(continues) ?? 1) - 1);
  }
}
