import { FileWork } from '../beads/file/file-work.ts';
import { leftBehind } from '../beads/open-work.ts';
import type { Bead } from '../beads/store.ts';
import type { WorkBeads } from '../beads/work.ts';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { messageOf } from '../platform/errors.ts';
import type { SessionRecord } from '../session/record.ts';
import { WaitStore } from '../session/wait-store.ts';
import { evaluateWaits, type NudgeFate, type Wait, type WaitWorld } from '../session/waits.ts';
import type { CityEngine } from './city-engine.ts';
import type { CityParts } from './city-parts.ts';
import type { OrderedSurvey } from './model.ts';
import { stopIntent } from './session-facts.ts';
import { type Rest, SessionRests } from './wait-rest.ts';

/** Between looks at a running session that another one waits for: agents do not say when they come to rest. */
const REST_LOOK_MS = 2_000;

export type BeadFact = ReturnType<WaitWorld['bead']>;

/**
 * The controller's look at waits, in each of its passes. While none is there it costs one comparison; the tables are
 * read only when the city changed.
 */
export class WaitKeeper {
  readonly store: WaitStore;
  readonly #engine: CityEngine;
  readonly #rests: SessionRests;
  #marker = '';
  #waits: readonly Wait[] = [];
  #beads: ReadonlyMap<string, BeadFact> = new Map();
  #fates: ReadonlyMap<string, NudgeFate> = new Map();
  #ready: ReadonlySet<string> = new Set();
  #nextWall: number | undefined;
  #nextLived: number | undefined;
  #workMarker = '';
  #isFirst = true;
  /** Waits that ended, by whom is not known yet, with their sessions. */
  readonly #vanished = new Map<string, string>();
  /** Sessions that were held when this controller came. */
  #held: readonly string[] = [];

  constructor(engine: CityEngine) {
    this.#engine = engine;
    this.store = new WaitStore(engine.parts.db);
    this.#rests = new SessionRests(engine);
  }

  /** Record ids of sessions that are to be up because a wait of theirs is over. */
  get ready(): ReadonlySet<string> {
    return this.#ready;
  }

  /** Milliseconds until time alone changes something; `undefined`: it does not. */
  restMs(): number | undefined {
    const { parts, time } = this.#engine;
    const rests = [
      ...(this.#nextWall === undefined ? [] : [this.#nextWall - parts.clock.now()]),
      ...(this.#nextLived === undefined ? [] : [this.#nextLived - time.lived()]),
    ];
    return rests.length === 0 ? undefined : Math.min(...rests);
  }

  /** `true`: it changed records, which are to be read again. */
  async look(records: readonly SessionRecord[], survey: OrderedSurvey): Promise<boolean> {
    // Before anything is read: what is written in between is seen next time.
    const marker = this.#engine.parts.db.changeMarker();
    const isChanged = marker !== this.#marker;
    if (isChanged && (await this.#read(records))) return true;
    this.#marker = marker;
    if (this.#waits.length === 0) return this.#atRest();
    await this.#lookAtBeads(isChanged);
    return this.#evaluate(records, survey);
  }

  credit(shiftMs: number): Promise<void> {
    return this.store.credit(shiftMs);
  }

  #atRest(): boolean {
    this.#ready = new Set();
    this.#nextWall = undefined;
    this.#nextLived = undefined;
    return false;
  }

  /**
   * Also settles what other hands did: waits of which the bead was closed or deleted, and holds that nothing ends. Scripts
   * may set holds of their own: those are taken for orphans by the next controller only.
   */
  async #read(records: readonly SessionRecord[]): Promise<boolean> {
    if (this.#isFirst) await this.#readFirst(records);
    for (const { id, sessionId } of this.#waits) this.#vanished.set(id, sessionId);
    this.#waits = await this.store.live();
    for (const { id } of this.#waits) this.#vanished.delete(id);
    const told = this.#waits.flatMap(({ nudgeId }) => (nudgeId === '' ? [] : [nudgeId]));
    this.#fates = told.length === 0 ? new Map() : await this.store.fates(told);
    if (this.#vanished.size + this.#held.length === 0) return false;
    const sessions = [...this.#vanished.values(), ...this.#held];
    await this.store.repair([...this.#vanished.keys()], sessions, CONTROLLER_ACTOR);
    this.#vanished.clear();
    this.#held = [];
    return true;
  }

  async #readFirst(records: readonly SessionRecord[]): Promise<void> {
    for (const { id, sessionId } of await this.store.closedElsewhere()) this.#vanished.set(id, sessionId);
    this.#held = records.filter(({ waitHold }) => waitHold).map(({ id }) => id);
    this.#isFirst = false;
  }

  async #lookAtBeads(isChanged: boolean): Promise<void> {
    const { work } = this.#engine.parts;
    const marker = work.changeMarker();
    if (!isChanged && marker === this.#workMarker) return;
    const ids = this.#waits.flatMap(({ state, beads }) => (state === 'pending' ? beads : []));
    this.#beads = await beadFacts(this.#engine, ids);
    // What could not be told is looked at again.
    this.#workMarker = [...this.#beads.values()].includes('unknown') ? '' : marker;
  }

  async #evaluate(records: readonly SessionRecord[], survey: OrderedSurvey): Promise<boolean> {
    const { clock } = this.#engine.parts;
    const awaited = new Set(
      this.#waits.flatMap(({ state, sessions }) => (state === 'pending' ? sessions : [])),
    );
    const rests =
      awaited.size === 0 ? new Map<string, Rest>() : await this.#rests.look(awaited, records, survey);
    const byId = new Map(records.map((record) => [record.id, record]));
    const plan = evaluateWaits(this.#waits, {
      now: clock.now(),
      bead: (id) => this.#beads.get(id) ?? 'unknown',
      rest: (id) => rests.get(id) ?? 'unknown',
      session: (id) => sessionFact(byId.get(id)),
      nudge: (id) => this.#fates.get(id) ?? { kind: 'under way' },
    });
    this.#ready = plan.ready;
    this.#nextWall = plan.nextAt;
    this.#nextLived = awaited.size > 0 ? this.#engine.time.lived() + REST_LOOK_MS : undefined;
    if (plan.steps.length === 0) return false;
    await this.store.apply(plan, CONTROLLER_ACTOR);
    return true;
  }
}

/** Up for good: what is being ended, or is not ready yet, is told later. */
function sessionFact(record: SessionRecord | undefined): ReturnType<WaitWorld['session']> {
  if (!record || record.closed) return undefined;
  const isUp =
    record.lastWokeAt !== undefined &&
    stopIntent(record) === undefined &&
    (record.state === 'active' || record.state === 'awake');
  return { epoch: record.continuationEpoch, isUp };
}

/** In the city's work, else among its own records: sessions, letters and other waits are beads too. */
export async function beadFacts(
  engine: CityEngine,
  ids: readonly string[],
): Promise<ReadonlyMap<string, BeadFact>> {
  try {
    return await readBeadFacts(engine, ids);
  } catch (error) {
    engine.parts.log(`beads that sessions wait for could not be looked at: ${messageOf(error)}`);
    return new Map(ids.map((id) => [id, 'unknown']));
  }
}

/** As `beadFacts`, for whoever asks for himself. @throws GcError of the store */
export async function readBeadFacts(
  { parts: { work, db } }: { readonly parts: Pick<CityParts, 'work' | 'db'> },
  ids: readonly string[],
): Promise<ReadonlyMap<string, BeadFact>> {
  const unique = [...new Set(ids)];
  // Asked before and after: a file that is being put back is not taken for one without these beads.
  const wasMissing = isMissing(work);
  const found = new Map(await work.look((view) => unique.map((id) => [id, view.find(id)] as const)));
  const isGone = wasMissing || isMissing(work);
  const records = work.kind === 'database' ? [] : unique.filter((id) => found.get(id) === undefined);
  if (records.length > 0) {
    await db.read(() => {
      for (const id of records) found.set(id, db.beadTable.find(id));
    });
  }
  const facts = new Map(unique.map((id) => [id, factOf(found.get(id))]));
  if (![...facts.values()].includes('missing')) return facts;
  // It may stand in a file that is away, or in the store that the city's work was in before.
  const mayBeElsewhere = isGone || (await leftBehind(db)) !== undefined;
  return new Map(
    [...facts].map(([id, fact]) => [id, fact === 'missing' && mayBeElsewhere ? 'unknown' : fact]),
  );
}

export const isMissing = (work: WorkBeads): boolean => work instanceof FileWork && work.isMissing();

function factOf(bead: Bead | undefined): BeadFact {
  if (!bead) return 'missing';
  return bead.status === 'closed' ? 'closed' : 'open';
}
