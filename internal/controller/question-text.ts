import type { PendingInteraction } from '../runtime/provider.ts';

/** What is asked, in one line. */
export function askedLine({ prompt, kind }: PendingInteraction): string {
  const lines = (prompt ?? kind).split('\n');
  return (lines.find((line) => line.trim() !== '') ?? '').trim();
}
