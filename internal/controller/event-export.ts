import { join } from 'node:path';
import type { CityDatabase } from '../beads/sqlite/city-database.ts';
import { JsonlExport } from '../events/jsonl-export.ts';

/**
 * Keeps `<gcDir>/events.jsonl` in step with the city's events, for tools that read Gas City's event log. Only the
 * city's controller may do it. Answers what ends it, with the last events written.
 */
export function exportEvents(
  db: CityDatabase,
  gcDir: string,
  onError: (error: unknown) => void,
): () => Promise<void> {
  const file = join(gcDir, 'events.jsonl');
  const jsonl = new JsonlExport({ file, bus: db.events, table: db.eventTable, access: db });
  const lifetime = new AbortController();
  const running = jsonl.run(lifetime.signal, onError).catch(onError);
  return async () => {
    lifetime.abort();
    await running;
    await jsonl.flush().catch(onError);
  };
}
