import { sessionNameIn } from '../agent/session-name.ts';
import type { BeadStore } from '../beads/store.ts';
import type { City } from '../config/city.ts';
import type { SessionRecord } from '../session/record.ts';
import { asksForWork, type DemandChecks, demandChecks, queryKey } from './demand-checks.ts';
import type { CityDemand } from './model.ts';
import { isHeldBack } from './pool-record.ts';
import { decidePools, type PoolSlot, poolAgents, type ScaleCount } from './pools.ts';
import type { ScaleChecks } from './scale-checks.ts';
import { holdsWorkBeads, isAmong, NO_WORK, RECORD_TYPES, type WorkFacts, workFacts } from './work-facts.ts';

export interface DemandOptions {
  readonly beads: BeadStore;
  /** Two equal answers: no bead changed in between. */
  readonly changeMarker: () => string;
  readonly checks: ScaleChecks;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Some work of the template was taken, or there is less of it. */
  readonly progressed: (template: string) => void;
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
  /** Made once per config. */
  #asked: (DemandChecks & { readonly city: City }) | undefined;
  #marker = '';
  #work: WorkFacts = NO_WORK;
  #last: { readonly key: readonly unknown[]; readonly seen: SeenDemand } | undefined;

  constructor(options: DemandOptions) {
    this.#options = options;
  }

  /** The same object as long as nothing changed. */
  async look(city: City, records: readonly SessionRecord[]): Promise<SeenDemand> {
    const { checks } = this.#options;
    if (this.#asked?.city !== city) this.#asked = { city, ...demandChecks(city) };
    checks.keepFresh(this.#asked.checks, city);
    await this.#readWork(city);
    const key = [city, records, this.#work, checks.version];
    if (this.#last?.key.every((part, i) => part === key[i])) return this.#last.seen;
    const seen = this.#decide(city, records);
    this.#last = { key, seen };
    return seen;
  }

  progressed(template: string): void {
    this.#progressAt.set(template, this.#options.now());
    this.#options.progressed(template);
  }

  #decide(city: City, records: readonly SessionRecord[]): SeenDemand {
    const { checks } = this.#options;
    const { counted, queried: askedAgents } = this.#asked ?? demandChecks(city);
    const counts = new Map<string, ScaleCount>(
      counted.map(({ qualifiedName }) => [qualifiedName, checks.count(qualifiedName)]),
    );
    const found = askedAgents.filter((agent) => asksForWork(checks.count(queryKey(agent))));
    const queried = new Set(found.map(({ qualifiedName }) => qualifiedName));
    const named = calledSessions(city, records, { work: this.#work, counts, queried });
    const calledIdentities = new Set(named.keys());
    const pools = decidePools({ city, records, work: this.#work, counts, called: calledIdentities, queried });
    const wanted = new Map(pools.wanted);
    const called = new Set([...pools.called, ...this.#calledByHand(records)]);
    for (const { sessionName, why } of named.values()) {
      wanted.set(sessionName, why);
      called.add(sessionName);
    }
    return {
      slots: pools.slots,
      work: this.#work,
      demand: {
        wanted,
        called,
        busy: new Set([...pools.busy, ...this.#busy(records)]),
        progressAt: this.#progress(city),
        opaque: new Set(counts.keys()),
        unanswered: new Set([...counts].flatMap(([name, { kind }]) => (kind === 'unknown' ? [name] : []))),
      },
    };
  }

  /** Sessions that people made have work assigned to them too. */
  #calledByHand(records: readonly SessionRecord[]): readonly string[] {
    const { callers } = this.#work;
    return records.flatMap((record) =>
      record.origin === 'manual' && isAmong(callers, record, record.namedIdentity)
        ? [record.sessionName]
        : [],
    );
  }

  /** Whoever has open work in its hands, also those that the config does not name any more. */
  #busy(records: readonly SessionRecord[]): readonly string[] {
    const { assignees } = this.#work;
    return records.flatMap((record) =>
      !isHeldBack(record) && isAmong(assignees, record, record.namedIdentity) ? [record.sessionName] : [],
    );
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

interface CallFacts {
  readonly work: WorkFacts;
  readonly counts: ReadonlyMap<string, ScaleCount>;
  readonly queried: ReadonlySet<string>;
}

/** On-demand sessions that have work to do, by identity. */
function calledSessions(
  city: City,
  records: readonly SessionRecord[],
  facts: CallFacts,
): ReadonlyMap<string, { readonly sessionName: string; readonly why: string }> {
  const pools = new Set(poolAgents(city).map(({ qualifiedName }) => qualifiedName));
  const called = new Map<string, { readonly sessionName: string; readonly why: string }>();
  for (const { identity, mode, templateQualifiedName: template } of city.namedSessions) {
    if (mode !== 'on_demand') continue;
    const record = records.find((r) => r.namedIdentity === identity && r.sessionName !== '');
    const sessionName = record?.sessionName ?? sessionNameIn(city, identity);
    const why = whyCalled(facts, { record, identity, sessionName, template, isPools: pools.has(template) });
    if (why !== undefined) called.set(identity, { sessionName, why });
  }
  return called;
}

interface Callee {
  readonly record: SessionRecord | undefined;
  readonly identity: string;
  readonly sessionName: string;
  readonly template: string;
  readonly isPools: boolean;
}

function whyCalled(
  { work, counts, queried }: CallFacts,
  { record, identity, sessionName, template, isPools }: Callee,
): string | undefined {
  if (isAmong(work.callers, record, identity) || work.callers.has(sessionName))
    return 'work is assigned to it';
  if (!isPools && queried.has(template)) return 'its work_query finds work';
  const count = isPools ? undefined : counts.get(template);
  return count && asksForWork(count) ? 'its scale_check asks for it' : undefined;
}
