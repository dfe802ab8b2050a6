import type { City } from '../config/city.ts';
import { type MachineState, readMachine } from '../platform/machine.ts';
import { canRoute } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import { readLimits } from './account-limits.ts';
import { hasLimits, type Room } from './admission.ts';
import type { CityParts } from './city-parts.ts';
import type { SeenDemand } from './demand.ts';
import { DesiredBook } from './desired-state.ts';
import type { EndingContext } from './endings.ts';
import { Executor } from './executor.ts';
import { LivedTime, type TimeGap } from './lived-time.ts';
import { type CityDemand, type Desired, NO_DEMAND, type OrderedSurvey } from './model.ts';
import { type PoolSlot, recordedSlots } from './pools.ts';
import type { ChangeContext } from './record-changes.ts';
import { tellRoutes } from './routes.ts';
import { RuntimeMemory } from './runtime-memory.ts';
import { Looks } from './survey.ts';

export interface EngineEvents {
  poke(): void;
  trouble(error: unknown): void;
  gap(gap: TimeGap): void;
}

/** What the controller and the commands without a controller have in common: looking, resolving, acting. */
export class CityEngine {
  readonly parts: CityParts;
  readonly memory = new RuntimeMemory();
  readonly time: LivedTime;
  readonly executor: Executor;
  readonly #looks: Looks;
  readonly #machine: () => MachineState;
  #city: City;
  #book: DesiredBook;
  /** `undefined`: nobody looks for demand here, or the config is another one since. */
  #seen: SeenDemand | undefined;
  #recorded: { readonly records: readonly SessionRecord[]; readonly slots: readonly PoolSlot[] } | undefined;
  /** The place of the last loss of everything. */
  #lostAt = 0;
  #toldRoutes = false;
  #limitsLoaded = false;

  /** @param machine how the machine is looked at, where limits for starts are set */
  constructor(parts: CityParts, events: EngineEvents, machine: () => MachineState = readMachine) {
    this.parts = parts;
    this.#machine = machine;
    this.#city = parts.city;
    this.#book = new DesiredBook(parts.city, parts.resolver(parts.city));
    this.time = new LivedTime(parts.clock, (gap) => events.gap(gap));
    this.#looks = new Looks(parts.provider, this.time);
    this.executor = new Executor({
      db: parts.db,
      work: parts.work,
      store: parts.store,
      provider: parts.provider,
      clock: parts.clock,
      ids: parts.ids,
      time: this.time,
      memory: this.memory,
      cityEnv: parts.env,
      ending: () => this.ending(),
      lostDuring: (operation) => this.#lostAt > operation.order,
      poke: () => events.poke(),
      trouble: (error) => events.trouble(error),
    });
  }

  get city(): City {
    return this.#city;
  }

  /** Another config is in force: everything is resolved anew when it is next needed. */
  use(city: City): void {
    this.#city = city;
    this.#seen = undefined;
    this.#recorded = undefined;
    this.#book = new DesiredBook(city, this.parts.resolver(city));
  }

  /** Files that a config names may have changed without it. */
  forgetResolved(): void {
    this.#book.forget();
  }

  /** What the last pass saw that work asks for. */
  get demand(): CityDemand {
    return this.#seen?.demand ?? NO_DEMAND;
  }

  /** `seen`: what a pass found now; everybody else goes by what the last one found. */
  desired(
    records: readonly SessionRecord[],
    seen: SeenDemand | undefined = this.#seen,
  ): Promise<ReadonlyMap<string, Desired>> {
    this.#seen = seen;
    return this.#book.desired(records, seen?.slots ?? this.#slotsOf(records));
  }

  #slotsOf(records: readonly SessionRecord[]): readonly PoolSlot[] {
    if (this.#recorded?.records !== records) {
      this.#recorded = { records, slots: recordedSlots(this.#city, records) };
    }
    return this.#recorded.slots;
  }

  async look(): Promise<OrderedSurvey> {
    await this.#tellRoutes();
    await this.#loadLimits();
    const order = this.memory.nextOrder();
    return { order, survey: await this.#looks.now() };
  }

  /** Once: from then on starts tell the provider, and what it sees. */
  async #tellRoutes(): Promise<void> {
    const { provider, store } = this.parts;
    if (this.#toldRoutes || !canRoute(provider)) return;
    tellRoutes(provider, await store.list('open'));
    this.#toldRoutes = true;
  }

  /** Once: what changes them from then on tells the memory too. */
  async #loadLimits(): Promise<void> {
    if (this.#limitsLoaded) return;
    this.#limitsLoaded = true;
    for (const [account, limit] of await readLimits(this.parts.db))
      this.memory.accountLimits.set(account, limit);
  }

  /** The limits for starts and the machine as it is now; `undefined`: there are none. */
  room(): Room | undefined {
    const { maxLoadPerCore, minFreeMemory, memoryPerSession } = this.#city.daemon;
    const limits = { maxLoadPerCore, minFreeMemory, memoryPerSession };
    return hasLimits(limits) ? { limits, machine: this.#machine() } : undefined;
  }

  machine(): MachineState {
    return this.#machine();
  }

  /** Everything that lived is gone together. */
  lost(): void {
    this.#lostAt = this.memory.nextOrder();
  }

  ending(): EndingContext {
    const { maxRestarts, restartWindowMs } = this.#city.daemon;
    return {
      now: this.parts.clock.now(),
      policy: { maxRestarts, restartWindowMs },
      random: () => this.parts.ids.random(),
      limits: this.memory.accountLimits,
    };
  }

  changeContext(records: readonly SessionRecord[]): ChangeContext {
    const aliases = new Set(records.map((record) => record.alias).filter((alias) => alias !== ''));
    return { ...this.ending(), ids: this.parts.ids, aliases };
  }
}
