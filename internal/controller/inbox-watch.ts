import type { InboxStore } from '../session/inbox-store.ts';
import type { SessionRecord } from '../session/record.ts';
import type { CityEngine } from './city-engine.ts';
import { configuredNames } from './desired-state.ts';
import { canReceive, type InboxDelivery } from './inbox-delivery.ts';
import { standsAsleep } from './inbox-reception.ts';
import type { Desired } from './model.ts';
import type { Sighting } from './passes.ts';

/** A session that was woken for its messages and did not come up is not woken again sooner. */
const WAKE_AGAIN_MS = 60_000;

export interface InboxWatchOptions {
  readonly engine: CityEngine;
  readonly store: InboxStore;
  readonly delivery: InboxDelivery;
  /** Asks for a start, by its runtime name. */
  readonly wake: (sessionName: string) => Promise<unknown>;
}

/**
 * The controller's look at what waits, after each of its passes. The table is read only when the city changed or a
 * message's time is over, and then one row per session name, however many messages wait.
 */
export class InboxWatch {
  readonly #options: InboxWatchOptions;
  readonly #wokenAt = new Map<string, number>();
  #marker = '';
  #names: readonly string[] = [];
  #nextExpiry: number | undefined;

  constructor(options: InboxWatchOptions) {
    this.#options = options;
  }

  async look(sighting: Sighting): Promise<void> {
    const { delivery } = this.#options;
    const byName = new Map(sighting.records.map((record) => [record.sessionName, record]));
    if (this.#isStale()) await this.#read(byName);
    for (const name of this.#wokenAt.keys()) if (!this.#names.includes(name)) this.#wokenAt.delete(name);
    if (this.#names.length === 0) return;
    const configured = new Set(configuredNames(this.#options.engine.city).map((named) => named.sessionName));
    for (const name of this.#names) {
      const record = byName.get(name);
      if (record && canReceive(record)) delivery.ensure(name);
      else
        await this.#rouse(name, record, {
          desired: sighting.desired.get(name),
          isConfigured: configured.has(name),
        });
    }
  }

  #isStale(): boolean {
    const { db, clock } = this.#options.engine.parts;
    if (this.#nextExpiry !== undefined && this.#nextExpiry <= clock.now()) return true;
    return db.changeMarker() !== this.#marker;
  }

  async #read(byName: ReadonlyMap<string, SessionRecord>): Promise<void> {
    const { engine, store } = this.#options;
    const { db, clock } = engine.parts;
    this.#marker = db.changeMarker();
    this.#nextExpiry = await store.nextExpiry();
    if (this.#nextExpiry !== undefined && this.#nextExpiry <= clock.now()) {
      this.#nextExpiry = await store.expire();
    }
    const open = new Set([...byName.values()].map((record) => record.id));
    for (const id of await store.boundIds()) {
      if (!open.has(id)) await store.buryBound(id, `session ${id}, which it was for, is closed`);
    }
    this.#names = await store.waitingNames();
  }

  /** Down: its messages wake it where that is allowed, wait where it may come back, and are given up where nobody follows. */
  async #rouse(
    name: string,
    record: SessionRecord | undefined,
    { desired, isConfigured }: { readonly desired: Desired | undefined; readonly isConfigured: boolean },
  ): Promise<void> {
    const { engine, store } = this.#options;
    if (!record && !isConfigured) {
      const template = (await store.head(name))?.template ?? '';
      const isKnown = engine.city.agents.some((agent) => agent.qualifiedName === template);
      if (!isKnown) await store.bury(name, 'its session is closed, and no other one takes its name');
      return;
    }
    if (engine.city.workspace.suspended || desired?.suspended) return;
    if (record && !standsAsleep(engine, record)) return;
    const last = this.#wokenAt.get(name);
    const now = engine.time.lived();
    if (last !== undefined && now - last < WAKE_AGAIN_MS) return;
    if ((await store.head(name))?.delivery === 'queue') return;
    this.#wokenAt.set(name, now);
    // Why it did not come up is told by its own record.
    void this.#options.wake(name).catch(() => undefined);
  }
}
