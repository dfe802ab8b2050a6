import { type RunOptions, type RunReport, simulate } from './run.ts';

/** Runs that a shrinking may take. */
const MAX_TRIES = 300;

/** What a violation says without names and times: the same fault in another story. */
const kindOf = (violation: string): string =>
  violation
    .replace(/[\d#]+/g, 'N')
    .replace(/\b[a-z]{3}\b/g, 'x')
    .slice(0, 40);

/** The same fault with as few steps as can be found by leaving steps out: halves first, then single ones. */
export async function shrink(
  options: RunOptions,
  found: RunReport,
): Promise<{ readonly report: RunReport; readonly without: ReadonlySet<number> }> {
  const meant = kindOf(found.violations[0] ?? '');
  const steps = found.failedAt === undefined ? found.steps : found.failedAt + 1;
  let without: ReadonlySet<number> = new Set(options.without);
  let report = found;
  let tries = 0;
  for (let size = Math.ceil(steps / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < steps && tries < MAX_TRIES; from += size) {
      const block = Array.from({ length: size }, (_, i) => from + i).filter(
        (step) => step < steps && !without.has(step),
      );
      if (block.length === 0) continue;
      const fewer = new Set([...without, ...block]);
      tries += 1;
      const next = await simulate({ ...options, steps, without: fewer });
      if (!next.violations.some((violation) => kindOf(violation) === meant)) continue;
      without = fewer;
      report = next;
    }
  }
  return { report, without };
}
