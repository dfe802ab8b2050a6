import { sessionNameIn } from '../agent/session-name.ts';
import type { BeadStore } from '../beads/store.ts';
import type { City } from '../config/city.ts';
import { scaleCheckOf } from '../config/default-commands.ts';
import type { SessionRecord } from '../session/record.ts';
import type { CityDemand } from './model.ts';
import { decidePools, type PoolSlot, poolAgents, type ScaleCount } from './pools.ts';
import type { ScaleChecks } from './scale-checks.ts';
import { isAmong, NO_WORK, RECORD_TYPES, type WorkFacts, workFacts } from './work-facts.ts';

export interface DemandOptions {
  readonly beads: BeadStore;
  /** Two equal answers: no bead changed in between. */
  readonly changeMarker: () => string;
  readonly checks: ScaleChecks;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** What is to be up because of work, and the pool slots that takes. */
export interface SeenDemand {
  readonly demand: CityDemand;
  /** The same object as long as no bead changed. */
  readonly work: WorkFacts;
  readonly slots: readonly PoolSlot[];
}

/**
 * What waiting work asks for. The city's own store is asked directly, and only when something in it changed; scale
 * checks run beside the passes, which use their last answers.
 */
export class DemandWatch {
  readonly #options: DemandOptions;
  readonly #progressAt = new Map<string, number>();
  /** The last moment before the first look at work, milliseconds since the epoch. */
  #unknownUntil: number | undefined;
  #marker = '';
  #work: WorkFacts = NO_WORK;
  #last: { readonly key: readonly unknown[]; readonly seen: SeenDemand } | undefined;

  constructor(options: DemandOptions) {
    this.#options = options;
  }

  /** The same object as long as nothing changed. */
  async look(city: City, records: readonly SessionRecord[]): Promise<SeenDemand> {
    const { checks } = this.#options;
    checks.keepFresh(
      checkedAgents(city).map((agent) => ({ agent, command: scaleCheckOf(agent) })),
      city,
    );
    await this.#readWork(city);
    const key = [city, records, this.#work, checks.version];
    if (this.#last?.key.every((part, i) => part === key[i])) return this.#last.seen;
    const seen = this.#decide(city, records);
    this.#last = { key, seen };
    return seen;
  }

  progressed(template: string): void {
    this.#progressAt.set(template, this.#options.now());
  }

  #decide(city: City, records: readonly SessionRecord[]): SeenDemand {
    const { checks } = this.#options;
    const called = calledSessions(city, records, this.#work);
    const counts = new Map<string, ScaleCount>(
      checkedAgents(city).map(({ qualifiedName }) => [qualifiedName, checks.count(qualifiedName)]),
    );
    const pools = decidePools({ city, records, work: this.#work, counts, called: new Set(called.keys()) });
    const wanted = new Map(pools.wanted);
    for (const sessionName of called.values()) wanted.set(sessionName, 'work is assigned to it');
    return {
      slots: pools.slots,
      work: this.#work,
      demand: {
        wanted,
        busy: pools.busy,
        progressAt: this.#progress(city),
        opaque: new Set(counts.keys()),
      },
    };
  }

  /** What was taken before the first look is not known: there may have been progress. */
  #progress(city: City): ReadonlyMap<string, number> {
    const unknownUntil = this.#unknownUntil;
    if (unknownUntil === undefined) return new Map(this.#progressAt);
    const templates = poolAgents(city).map((agent) => agent.qualifiedName);
    return new Map([...templates.map((name) => [name, unknownUntil] as const), ...this.#progressAt]);
  }

  async #readWork(city: City): Promise<void> {
    const { beads, changeMarker } = this.#options;
    if (!holdsWorkBeads(city)) return;
    const marker = changeMarker();
    if (marker === this.#marker) return;
    const [open, inProgress, ready] = await Promise.all([
      beads.list({ status: 'open', notTypes: RECORD_TYPES }),
      beads.list({ status: 'in_progress', notTypes: RECORD_TYPES }),
      beads.ready(),
    ]);
    const work = workFacts({ open, inProgress, ready });
    this.#unknownUntil ??= this.#options.now() - 1;
    this.#noteProgress(work);
    this.#work = work;
    this.#marker = marker;
  }

  /** Work that waited and does not wait any longer: somebody took it. */
  #noteProgress(next: WorkFacts): void {
    for (const [template, before] of this.#work.waiting) {
      const after = next.waiting.get(template);
      for (const id of before) if (!after?.has(id)) this.progressed(template);
    }
  }
}

/** The city's database is where its work is; otherwise only commands can tell. */
export function holdsWorkBeads(city: Pick<City, 'beads'>): boolean {
  return city.beads.provider === 'sqlite';
}

/** Agents whose demand a command tells. */
function checkedAgents(city: City) {
  return poolAgents(city).filter((agent) => agent.scaleCheck !== '' || !holdsWorkBeads(city));
}

/** On-demand sessions that have work to do: identity to session name. */
function calledSessions(
  city: City,
  records: readonly SessionRecord[],
  work: WorkFacts,
): ReadonlyMap<string, string> {
  const called = new Map<string, string>();
  for (const { identity, mode } of city.namedSessions) {
    if (mode !== 'on_demand') continue;
    const record = records.find((r) => r.namedIdentity === identity && r.sessionName !== '');
    const sessionName = record?.sessionName ?? sessionNameIn(city, identity);
    const isCalled = isAmong(work.callers, record, identity) || work.callers.has(sessionName);
    if (isCalled) called.set(identity, sessionName);
  }
  return called;
}
