import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadResult } from '../../../config/load-city.ts';
import { loadCity } from '../../../config/load-city.ts';
import type { MachineState } from '../../../platform/machine.ts';
import { openSessionLogStore } from '../../../session/log/sqlite/session-log-store.ts';
import type { SessionRecord } from '../../../session/record.ts';
import { toSessionRecord } from '../../../session/record-codec.ts';
import { CityEngine } from '../../city-engine.ts';
import type { CityParts } from '../../city-parts.ts';
import { CityRuntime } from '../../city-runtime.ts';
import type { ConfigWatchEvents } from '../../config-watch.ts';
import { LocalCityApi } from '../../local-city-api.ts';
import { type OpenedCity, openCity } from '../../open-city.ts';
import type { RunCommand } from '../../run-command.ts';
import { type CityText, cityTextOf, yamlOf } from './city-text.ts';
import { Dice } from './dice.ts';
import { climateOf, Weather } from './faults.ts';
import { guardDatabase, type Version } from './guarded-database.ts';
import { Life, LifeClock } from './life.ts';
import { SimClock, settled } from './sim-clock.ts';
import { type ProviderWitness, SimProvider } from './sim-provider.ts';
import { SimRuntime } from './sim-runtime.ts';

/** What a broken controller is made of, to prove that it is found out. */
export interface Seams {
  /** Of each process, before it works with them. */
  readonly parts?: (parts: OpenedCity, provider: SimProvider) => OpenedCity;
}

/** One process of ours with the city open. */
export interface CityProcess {
  readonly life: Life;
  readonly provider: SimProvider;
  readonly parts: CityParts;
  readonly api: LocalCityApi;
  readonly runtime: CityRuntime | undefined;
  close(): Promise<void>;
}

const START_OF_TIME = Date.UTC(2026, 0, 1, 8);
const UP_LIMIT_MS = 300_000;

/** A city, its machine, the people around it and all that goes wrong there, made of one seed. */
export class World {
  readonly seed: string;
  readonly dir: string;
  readonly clock = new SimClock(START_OF_TIME);
  readonly runtime: SimRuntime;
  readonly weather: Weather;
  readonly text: CityText;
  readonly story: string[] = [];
  readonly violations: string[] = [];
  readonly version: Version = { value: 0 };
  #records: { readonly at: number; readonly all: readonly SessionRecord[] } = { at: -1, all: [] };
  readonly lines: string[] = [];
  witness: ProviderWitness = { starts: noop, stops: noop, responds: noop };
  runCommand: RunCommand = async () => ({ kind: 'ok', stdout: '0' });
  /** The one that has the lock. */
  controller: CityProcess | undefined;
  isUp = false;
  readonly visitors = new Set<CityProcess>();
  readonly #toClose: CityProcess[] = [];
  readonly #seams: Seams;
  #generation = 0;
  #watch: ConfigWatchEvents | undefined;
  #yaml = '';

  constructor(seed: string, dir: string, seams: Seams = {}) {
    this.seed = seed;
    this.dir = dir;
    this.#seams = seams;
    const dice = new Dice(`${seed}:city`);
    this.text = cityTextOf(dice);
    this.weather = new Weather(new Dice(`${seed}:weather`), climateOf(dice));
    this.runtime = new SimRuntime(this.clock, (what) => this.note(what));
    this.runtime.delivery = () => this.weather.ofEvent();
    rmSync(join(dir, '.gc'), { recursive: true, force: true });
    mkdirSync(dir, { recursive: true });
    this.writeConfig();
  }

  note(what: string): void {
    if (this.story.length === LONGEST_STORY) {
      // Whoever never comes to an end is ended, so that the run does.
      this.violations.push(`it goes round in circles: ${this.story.slice(-8).join(' | ')}`);
      for (const process of [this.controller, ...this.visitors]) if (process) process.life.dead = true;
    }
    if (this.story.length > LONGEST_STORY) return;
    this.story.push(`${this.clock.monotonic()} ${what}`);
  }

  violates(what: string): void {
    this.violations.push(what);
    this.note(`VIOLATION ${what}`);
  }

  writeConfig(): void {
    this.#yaml = yamlOf(this.text);
    writeFileSync(join(this.dir, 'city.yaml'), this.#yaml);
    for (const line of this.#yaml.trimEnd().split('\n')) this.note(`  | ${line}`);
  }

  touchConfig(): void {
    this.#watch?.changed();
  }

  #env() {
    return { PATH: '/usr/bin:/bin', HOME: this.dir, TMPDIR: this.dir, GC_SESSION: 'fake' };
  }

  async #load(): Promise<LoadResult> {
    const file = join(this.dir, 'city.yaml');
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const key = `${this.dir}\n${text}`;
    const known = LOADED.get(key);
    if (known) return known;
    const result = await loadCity(this.dir, { env: this.#env() });
    if (LOADED.size > KEPT_CITIES) LOADED.clear();
    LOADED.set(key, result);
    return result;
  }

  /** @throws what keeps the city from opening, a broken config above all */
  async #open(role: 'controller' | 'visitor', life: Life): Promise<CityProcess> {
    const clock = new LifeClock(this.clock, life);
    const kill = () => this.#kill(life);
    const note = (what: string) => this.note(what);
    const { runtime, weather } = this;
    const witness: ProviderWitness = {
      starts: (...args) => this.witness.starts(...args),
      stops: (...args) => this.witness.stops(...args),
      responds: (...args) => this.witness.responds(...args),
    };
    const provider = new SimProvider({ runtime, clock: this.clock, life, weather, witness, note, kill });
    const loaded = await this.#load();
    const ids = new Dice(`${this.seed}:ids:${life.name}`);
    const opened = await openCity({
      cityDir: this.dir,
      env: this.#env(),
      clock,
      ids,
      role,
      program: '/usr/bin/gc',
      makeProvider: async () => ({ provider }),
      openLogs: (file, logClock, logIds) => openSessionLogStore(file, { clock: logClock, ids: logIds }),
      ...(loaded.kind === 'ok' ? { city: loaded.city } : {}),
      log: (line) => this.lines.push(`${life.name} ${line}`),
    });
    guardDatabase(opened.db, life, { version: this.version, fateOf: () => weather.ofCommit(), kill });
    const own = this.#seams.parts?.(opened, provider) ?? opened;
    const parts = { ...own, load: () => this.#load() };
    return { life, provider, parts, ...this.#atWork(role, parts), close: () => opened.close() };
  }

  #atWork(role: 'controller' | 'visitor', parts: CityParts): Pick<CityProcess, 'api' | 'runtime'> {
    if (role === 'visitor') {
      const engine = new CityEngine(parts, { poke: noop, trouble: noop, gap: noop }, () => MACHINE);
      return {
        runtime: undefined,
        api: new LocalCityApi({ engine, controller: { running: false }, actor: 'human' }),
      };
    }
    const runtime = new CityRuntime(parts, {
      watchConfig: (_city, _signal, events) => {
        this.#watch = events;
        return { rewatch: noop };
      },
      isPressed: () => false,
      machine: () => MACHINE,
      runCommand: (request) => this.runCommand(request),
    });
    const controller = { running: true, pid: 1, mode: 'standalone' } as const;
    return {
      runtime,
      api: new LocalCityApi({ engine: runtime.engine, runtime, controller, actor: 'human' }),
    };
  }

  /** A controller comes up, unless one lives. Killed ones are followed by others. */
  async up(): Promise<void> {
    if (this.controller) return;
    const opened = await this.#waitFor('controller');
    if (!opened) return;
    this.controller = opened;
    this.isUp = false;
    this.note(`${opened.life.name} comes up`);
    opened.runtime?.start().then(
      () => {
        if (this.controller !== opened) return;
        this.isUp = true;
        this.note(`${opened.life.name} is up`);
      },
      (error: unknown) => {
        this.note(`${opened.life.name} did not come up: ${String(error)}`);
        this.#kill(opened.life);
      },
    );
    await this.clock.pass(UP_LIMIT_MS, () => this.isUp || this.controller !== opened);
    if (!this.isUp && this.controller === opened) this.violates('the controller does not come up');
    await this.sweep();
  }

  /** What a command opens; `undefined` when it cannot. */
  async visit(): Promise<CityProcess | undefined> {
    const opened = await this.#waitFor('visitor');
    if (opened) this.visitors.add(opened);
    return opened;
  }

  /** Something is done with what a process has open, until it is done or the process dies. */
  async with<T>(work: (process: CityProcess) => Promise<T>): Promise<T | undefined> {
    const process = this.someone;
    if (!process) return undefined;
    let over: { found: T | undefined } | undefined;
    work(process).then(
      (found) => {
        over = { found };
      },
      (error: unknown) => {
        this.note(`  not done: ${String(error)}`);
        over = { found: undefined };
      },
    );
    await this.clock.pass(UP_LIMIT_MS, () => over !== undefined || process.life.dead);
    return over?.found;
  }

  async #waitFor(role: 'controller' | 'visitor'): Promise<CityProcess | undefined> {
    this.#generation += 1;
    const life = new Life(`${role === 'controller' ? 'C' : 'V'}${this.#generation}`, this.clock);
    let over: { found: CityProcess | undefined } | undefined;
    this.#open(role, life).then(
      (found) => {
        over = { found };
      },
      (error: unknown) => {
        this.note(`the city does not open: ${String(error)}`);
        over = { found: undefined };
      },
    );
    await this.clock.pass(UP_LIMIT_MS, () => over !== undefined || life.dead);
    if (!over && !life.dead) this.violates('the city does not open');
    return over?.found;
  }

  kill(process: CityProcess): void {
    this.#kill(process.life);
  }

  /** `kill -9`: nothing of it goes on, nothing of it is cleaned up. */
  #kill(life: Life): void {
    if (life.dead) return;
    life.dead = true;
    this.note(`${life.name} is killed`);
    if (this.controller?.life === life) {
      this.#toClose.push(this.controller);
      this.controller = undefined;
      this.isUp = false;
      this.#watch = undefined;
    }
    for (const visitor of this.visitors) {
      if (visitor.life !== life) continue;
      this.visitors.delete(visitor);
      this.#toClose.push(visitor);
    }
  }

  /** A controller has ended by itself. */
  left(process: CityProcess): void {
    if (this.controller !== process) return;
    process.life.dead = true;
    this.controller = undefined;
    this.isUp = false;
    this.#watch = undefined;
    this.#toClose.push(process);
  }

  leave(visitor: CityProcess): void {
    if (!this.visitors.delete(visitor)) return;
    visitor.life.dead = true;
    this.#toClose.push(visitor);
  }

  /** Lets go of what the dead had open. */
  async sweep(): Promise<void> {
    await settled();
    for (const { parts } of this.#toClose.splice(0)) parts.db.close();
  }

  async end(): Promise<void> {
    for (const visitor of [...this.visitors]) this.leave(visitor);
    if (this.controller) this.#kill(this.controller.life);
    await this.sweep();
    rmSync(join(this.dir, '.gc'), { recursive: true, force: true });
  }

  /** Whoever has the city open. */
  get someone(): CityProcess | undefined {
    return this.controller ?? [...this.visitors][0];
  }

  /** Ids of work that is not done. */
  async openWork(): Promise<readonly string[]> {
    const query = { statuses: ['open', 'in_progress'] as const, notTypes: ['session', 'message', 'gate'] };
    const found = await this.someone?.parts.work.list({ ...query, statuses: [...query.statuses] });
    return (found ?? []).map((bead) => bead.id);
  }

  /** Open session records as they are committed. */
  recordsNow(): readonly SessionRecord[] {
    const { someone } = this;
    if (!someone) return [];
    if (this.#records.at !== this.version.value) {
      const found = someone.parts.db.beadTable.list({ type: 'session' });
      this.#records = { at: this.version.value, all: found.map(toSessionRecord) };
    }
    return this.#records.all;
  }
}

const MACHINE: MachineState = { freeMemory: 12e9, totalMemory: 16e9, load: [0.1, 0.1, 0.1], cores: 4 };
/** Lines; the longest that ends has a few thousand. */
const LONGEST_STORY = 20_000;
const KEPT_CITIES = 400;
const LOADED = new Map<string, LoadResult>();
const noop = () => undefined;
