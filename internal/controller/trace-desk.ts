import { type TraceArmRow, type TraceQuery, type TraceRow, TraceTable } from '../beads/sqlite/trace-table.ts';
import { rfc3339 } from '../platform/clock.ts';
import { GcError } from '../platform/errors.ts';
import type { CityEngine } from './city-engine.ts';
import { requireAgent } from './new-session.ts';
import type {
  TraceApi,
  TraceArm,
  TraceArmed,
  TraceDisarm,
  TraceFilter,
  TraceRecord,
  TraceStatus,
} from './trace-api.ts';

/** Records are kept for so long. */
const LONGEST_ARM_MS = 7 * 24 * 3_600_000;

/** What is watched, and what was seen of it. A controller goes by the same rows from its next pass on. */
export class TraceDesk implements TraceApi {
  readonly #engine: Pick<CityEngine, 'city' | 'parts'>;
  readonly #poke: () => void;
  readonly #table: TraceTable;

  constructor(engine: Pick<CityEngine, 'city' | 'parts'>, poke: () => void) {
    this.#engine = engine;
    this.#poke = poke;
    this.#table = new TraceTable(engine.parts.db.connection);
  }

  async arm({ template, for_ms, level, source }: TraceArm): Promise<TraceStatus> {
    const { qualifiedName } = requireAgent(this.#engine.city, template);
    if (!(for_ms > 0 && for_ms <= LONGEST_ARM_MS)) {
      throw new GcError('invalid-duration', 'a trace is armed for more than nothing and at most 7 days', {
        next: `gc trace start --template ${qualifiedName} --for 15m`,
      });
    }
    const { db, clock } = this.#engine.parts;
    await db.write(() => {
      const now = clock.now();
      this.#table.forgetExpired(now);
      this.#table.prune(now);
      this.#table.arm({ template: qualifiedName, source, level, armedMs: now, expiresMs: now + for_ms });
    });
    this.#poke();
    return this.status();
  }

  async disarm({ template, all }: TraceDisarm): Promise<TraceStatus> {
    const { db, clock } = this.#engine.parts;
    const armed = await db.read(() => this.#table.arms(clock.now()));
    const name = armed.some((arm) => arm.template === template)
      ? template
      : requireAgent(this.#engine.city, template).qualifiedName;
    await db.write(() => {
      const now = clock.now();
      this.#table.disarm(name, all ? undefined : 'manual');
      this.#table.forgetExpired(now);
      this.#table.prune(now);
    });
    this.#poke();
    return this.status();
  }

  status(): Promise<TraceStatus> {
    const { db, clock } = this.#engine.parts;
    return db.read(() => {
      const oldest = this.#table.oldest();
      return {
        arms: this.#table.arms(clock.now()).map(toArmed),
        records: this.#table.count(),
        ...(oldest === undefined ? {} : { oldest: rfc3339(oldest) }),
      };
    });
  }

  async records(filter: TraceFilter): Promise<readonly TraceRecord[]> {
    const query = this.#queryOf(filter);
    return (await this.#engine.parts.db.read(() => this.#table.records(query))).map(toRecord);
  }

  reasons(filter: TraceFilter): Promise<Readonly<Record<string, number>>> {
    const query = this.#queryOf(filter);
    return this.#engine.parts.db.read(() => this.#table.reasons(query));
  }

  #queryOf(filter: TraceFilter): TraceQuery {
    const { template, trace_id, since_ms, after_seq, ...rest } = filter;
    return {
      ...rest,
      ...(template === undefined ? {} : { template: this.#meant(template) }),
      ...(trace_id === undefined ? {} : { traceId: trace_id }),
      ...(since_ms === undefined ? {} : { sinceMs: since_ms }),
      ...(after_seq === undefined ? {} : { afterSeq: after_seq }),
    };
  }

  /** An agent that is not in the config any more still has its records. */
  #meant(template: string): string {
    try {
      return requireAgent(this.#engine.city, template).qualifiedName;
    } catch (error) {
      if (error instanceof GcError && error.code === 'agent-not-found') return template;
      throw error;
    }
  }
}

function toArmed({ template, level, source, armedMs, expiresMs }: TraceArmRow): TraceArmed {
  return { template, level, source, armed_at: rfc3339(armedMs), expires_at: rfc3339(expiresMs) };
}

function toRecord({ seq, traceId, tick, atMs, template, session, type, what, reason, inputs }: TraceRow) {
  return { seq, trace_id: traceId, tick, at: rfc3339(atMs), template, session, type, what, reason, inputs };
}
