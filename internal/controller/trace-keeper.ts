import type { CityDatabase } from '../beads/sqlite/city-database.ts';
import { type TraceArmRow, type TraceLevel, TraceTable } from '../beads/sqlite/trace-table.ts';
import type { Clock } from '../platform/clock.ts';
import { messageOf } from '../platform/errors.ts';
import type { Ids } from '../platform/ids.ts';
import type { Plan, PlanInput } from './plan.ts';
import { traceRecords } from './trace-records.ts';

export interface TraceKeeperOptions {
  readonly db: CityDatabase;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Its pass goes on without its records: that is told once. */
  log(line: string): void;
}

const LIFE_BYTES = 4;

/**
 * Writes down what the passes of one controller decide about the templates that are watched, one transaction per plan. With
 * nothing watched a pass costs one look at an empty table, and nothing is written.
 */
export class TraceKeeper {
  readonly #options: TraceKeeperOptions;
  readonly #table: TraceTable;
  #life: string | undefined;
  #tick = 0;
  #round = 0;
  #told = '';
  #levels: ReadonlyMap<string, TraceLevel> = new Map();

  constructor(options: TraceKeeperOptions) {
    this.#options = options;
    this.#table = new TraceTable(options.db.connection);
  }

  /** A pass begins. */
  begin(): void {
    this.#tick += 1;
    this.#round = 0;
  }

  /** A plan was made from this, and its changes are written. */
  async planned(input: PlanInput, plan: Plan): Promise<void> {
    const { db, clock, log } = this.#options;
    try {
      if (this.#round === 0) this.#levels = levelsOf(await db.read(() => this.#table.arms(clock.now())));
      this.#round += 1;
      if (this.#levels.size > 0) await this.#write(input, plan);
      this.#told = '';
    } catch (error) {
      const line = `trace: ${messageOf(error)}`;
      if (line !== this.#told) log(line);
      this.#told = line;
    }
  }

  async #write(input: PlanInput, plan: Plan): Promise<void> {
    const { db, clock, ids } = this.#options;
    const drafts = traceRecords(input, plan, this.#round, this.#levels);
    this.#life ??= ids.hex(LIFE_BYTES);
    const traceId = `${this.#life}-${this.#tick}`;
    const atMs = clock.now();
    const tick = this.#tick;
    await db.write(() => {
      this.#table.insert(drafts.map((draft) => ({ ...draft, traceId, tick, atMs })));
      this.#table.prune(atMs);
    });
  }
}

/** Whoever wants more detail gets it. */
export function levelsOf(arms: readonly TraceArmRow[]): ReadonlyMap<string, TraceLevel> {
  const levels = new Map<string, TraceLevel>();
  for (const { template, level } of arms)
    if (level === 'detail' || !levels.has(template)) levels.set(template, level);
  return levels;
}
