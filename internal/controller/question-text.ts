import type { CityDatabase } from '../beads/sqlite/city-database.ts';
import type { InteractionRow } from '../beads/sqlite/interaction-table.ts';
import type { PendingInteraction } from '../runtime/provider.ts';
import { firstLine, questionLine } from '../session/interaction-events.ts';
import { InteractionStore } from '../session/interaction-store.ts';
import { interactionId } from '../session/interactions.ts';

/** What is asked, in one line. */
export function askedLine({ prompt, kind }: PendingInteraction): string {
  const lines = (prompt ?? kind).split('\n');
  return (lines.find((line) => line.trim() !== '') ?? '').trim();
}

/** An open question, for the board. */
export interface OpenQuestionSeen {
  readonly id: string;
  /** `permission: Bash(touch x)`. */
  readonly what: string;
  /** Milliseconds since the epoch. */
  readonly askedMs: number;
}

/** By session id: the oldest that nobody has decided. */
export async function openQuestions(db: CityDatabase): Promise<ReadonlyMap<string, OpenQuestionSeen>> {
  const rows = (await new InteractionStore(db).standing()).filter(({ state }) => state === 'pending');
  return new Map(
    rows
      .toReversed()
      .map((row) => [row.sessionId, { id: interactionId(row), what: whatOf(row), askedMs: row.askedMs }]),
  );
}

function whatOf(row: InteractionRow): string {
  const input = firstLine(row.input);
  if (row.kind !== 'permission' || row.tool === '') return `${row.kind}: ${questionLine(row)}`;
  return input === row.tool ? `permission: ${input}` : `permission: ${row.tool}(${input})`;
}
