import { describe, expect, it } from 'vitest';
import { type Ids, seededIds } from '../platform/ids.ts';
import type { RuntimeEvent } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import type { LifeRequest } from './city-api.ts';
import { drainOf, saysDone, stopIntent } from './session-facts.ts';
import { CityHarness, cityYaml } from './testing/city-harness.ts';
import type { Faults } from './testing/mortal.ts';

/**
 * A controller, the fake provider and faults in one process: calls fail, before or after their effect; notifications are
 * lost, doubled and late; the controller is killed at any moment. `GC_SIM_RUNS` runs more, `GC_SIM_SEED` one seed again.
 */
const RUNS = Number(process.env['GC_SIM_RUNS'] ?? 6);
const FIRST_SEED = Number(process.env['GC_SIM_SEED'] ?? 1);
const STEPS = 40;
const NAMES = ['a', 'b', 'c', 'd'];
const POOL_MAX = 3;
const IDLE_TIMEOUT_MS = 20_000;
const DRAIN_TIMEOUT_MS = 20_000;
const SLOTS = Array.from({ length: POOL_MAX }, (_, i) => `p-${i + 1}`);

class Chaos implements Faults {
  readonly ids: Ids;
  /** Probability of a fault per call. */
  level = 0.08;
  readonly violations: string[] = [];
  watch: ((method: string, name: string) => void) | undefined;

  constructor(seed: number) {
    this.ids = seededIds(`sim:${seed}`);
  }

  next(): ReturnType<Faults['next']> {
    const roll = this.ids.random() / this.level;
    if (roll >= 1) return 'fine';
    if (roll < 0.4) return 'fails';
    if (roll < 0.8) return 'fails after its effect';
    return roll < 0.9 ? 'dies before' : 'dies after';
  }

  before(method: string, name: string): void {
    this.watch?.(method, name);
  }

  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.ids.random() * items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  /** Lost, doubled, or fine; a lost one stands for a late one, because the patrol comes later. */
  deliver(event: RuntimeEvent): readonly RuntimeEvent[] {
    const roll = this.ids.random();
    if (roll < 0.25) return [];
    return roll < 0.4 ? [event, event] : [event];
  }
}

class Simulation {
  readonly chaos: Chaos;
  readonly h: CityHarness;
  readonly commands = new Map(NAMES.map((name) => [name, `run-${name}`]));
  readonly suspended = new Set<string>();
  /** A drain of them was acknowledged, and nobody took it back. */
  readonly drained = new Set<string>();
  /** Of every life that was seen: what proves in the runtime which one speaks. */
  readonly tokens = new Map<string, Set<string>>();

  constructor(seed: number) {
    this.chaos = new Chaos(seed);
    this.h = new CityHarness(this.#yaml(), { seed, faults: this.chaos });
    this.h.provider.deliver = (event) => this.chaos.deliver(event);
    this.h.provider.scripts.fallback = { delayMs: 1_500 };
    for (const name of [...NAMES, ...SLOTS]) this.h.provider.waitForIdleErrors.set(name, undefined);
    this.chaos.watch = (method, name) => this.#check(method, name);
  }

  /** Never a second process under one name; nothing that lives is ended without a reason on record. */
  #check(method: string, name: string): void {
    const session = this.h.provider.sessions.get(name);
    const lives = session !== undefined && session.ended === undefined;
    if (method === 'start' && lives) this.chaos.violations.push(`start of ${name}, which lives`);
    if (method === 'start') this.#checkLimit(name);
    if (method !== 'stop' || !lives || this.h.killed) return;
    this.#checkWork(name);
    this.#checkSilence(name);
    this.#checkDrain(name);
    const token = session.config.env['GC_INSTANCE_TOKEN'];
    const record = this.#recordNow(name);
    const reason =
      record && (stopIntent(record) ?? (record.state === 'creating' ? 'a start that failed' : undefined));
    if (reason === undefined && record?.instanceToken === token)
      this.chaos.violations.push(
        `stop of ${name} without a reason: ${record?.state} ${record?.stateReason} ${record?.sleepReason} gen ${record?.generation}`,
      );
  }

  #checkLimit(name: string): void {
    const up = this.#living().filter((other) => other.startsWith('p-') && other !== name);
    if (name.startsWith('p-') && up.length >= POOL_MAX)
      this.chaos.violations.push(`${name} started beside ${up.join()}`);
  }

  /** Nobody who works is ended, but for silence, by its own word, and for a start of it that did not come to its end. */
  #checkWork(name: string): void {
    const works = this.h.city.db.beadTable.list({ status: 'in_progress', assignee: name }).length > 0;
    const record = this.#recordNow(name);
    const state = record?.state;
    const isMeant = MEANT_FOR_WORKERS.includes((record && stopIntent(record)) ?? '');
    if (works && state !== 'creating' && !isMeant)
      this.chaos.violations.push(`stop of ${name}, which works (${state})`);
  }

  /** Who is drained has its time; a new life is asked for by the life that ends. */
  #checkDrain(name: string): void {
    const record = this.#recordNow(name);
    const intent = record && stopIntent(record);
    const { metadata = {} } = record ?? {};
    const drainedMs = this.h.clock.now() - Date.parse(metadata['drain_at'] ?? '');
    if (intent === 'drained by a person' && !(drainedMs >= DRAIN_TIMEOUT_MS))
      this.chaos.violations.push(`stop of ${name}, drained for ${drainedMs} ms`);
    const life = `${record?.generation} ${record?.instanceToken}`;
    if (intent === 'restart requested' && metadata['restart_for'] !== life)
      this.chaos.violations.push(`restart of ${name}, which another life asked for`);
  }

  #checkSilence(name: string): void {
    const record = this.#recordNow(name);
    if (!record || stopIntent(record) !== 'idle-timeout') return;
    const { provider, clock } = this.h;
    const since = Math.max(provider.activity.get(name) ?? 0, provider.sessions.get(name)?.startedAt ?? 0);
    const isAttached = (provider.attached.get(name) ?? 0) > 0;
    if (clock.now() - since < IDLE_TIMEOUT_MS || isAttached)
      this.chaos.violations.push(
        `stop of ${name}, silent for ${clock.now() - since} ms, attached ${isAttached}`,
      );
  }

  #living(): readonly string[] {
    return [...this.h.provider.sessions].flatMap(([id, session]) => (session.ended ? [] : [id]));
  }

  #recordNow(name: string): SessionRecord | undefined {
    return this.h.recordsNow().find((record) => record.sessionName === name);
  }

  #yaml(): string {
    const text = cityYaml(
      [
        ['a', DRAIN_TIMEOUT],
        ['b', `depends_on: [a]\n${DRAIN_TIMEOUT}`],
        ['c', `depends_on: [a]\n${DRAIN_TIMEOUT}`],
        ['d', DRAIN_TIMEOUT],
      ],
      'daemon: { max_restarts: 0, shutdown_timeout: 1s }',
    );
    const pooled = text.replace(
      'named_sessions:',
      `  - { name: p, start_command: run-p, max_active_sessions: ${POOL_MAX}, idle_timeout: ${IDLE_TIMEOUT_MS / 1_000}s }\nnamed_sessions:`,
    );
    return NAMES.reduce(
      (yaml, name) => yaml.replace(`run-${name}\n`, `${this.commands.get(name)}\n`),
      pooled,
    );
  }

  async run(): Promise<void> {
    await this.#up();
    for (let step = 0; step < STEPS; step += 1) {
      await this.#act();
      await this.h.pass(this.chaos.pick([100, 500, 3_000]));
      if (this.h.killed) await this.#up();
    }
    await this.#calm();
  }

  async #up(): Promise<void> {
    for (;;) {
      const up = this.h.up();
      up.catch(() => undefined); // killed while it came up
      await this.h.until(() => this.h.killed || this.h.isUp);
      if (!this.h.killed) return;
    }
  }

  async #act(): Promise<void> {
    const { h, chaos } = this;
    const name = chaos.pick(NAMES);
    const living = this.#living();
    this.#noteLives();
    switch (
      chaos.pick([
        ...(['crash', 'crash', 'lose', 'edit', 'kill', 'suspend', 'wake', 'controller', 'nothing'] as const),
        ...(['route', 'route', 'claim', 'claim', 'done', 'leave'] as const),
        ...(['speak', 'attach', 'silence'] as const),
        ...(['drain', 'drain', 'undrain', 'ack', 'restart', 'late word'] as const),
      ])
    ) {
      case 'drain':
        return this.#person(
          () => h.api.drain(name),
          () => this.drained.add(name),
        );
      case 'undrain':
        this.drained.delete(name);
        return this.#person(() => h.api.undrain(name));
      case 'ack':
        return this.#speak(chaos.pick([...NAMES, ...living]), (session, life) =>
          h.api.acknowledgeDrain(session, life),
        );
      case 'restart':
        return this.#speak(chaos.pick([...NAMES, ...living]), (session, life) =>
          h.api.requestRestart(session, life),
        );
      case 'late word':
        return this.#lateWord(name);
      case 'route':
        if (h.isUp) await h.city.db.beads.create({ title: 'work', metadata: { 'gc.routed_to': 'p' } });
        return this.#tell();
      case 'claim':
        return this.#claim(living.filter((id) => id.startsWith('p-')));
      case 'done':
        return this.#finishWork(1);
      case 'leave':
        return this.#leave(living.filter((id) => id.startsWith('p-')));
      case 'speak':
        return this.#beside(living, (worker) => h.provider.touch(worker));
      case 'attach':
        return this.#beside(living, (worker) =>
          h.provider.setAttached(worker, h.provider.attached.get(worker) ? 0 : 1),
        );
      case 'silence':
        return this.h.pass(IDLE_TIMEOUT_MS);
      case 'crash':
        if (living.length > 0) h.provider.crash(chaos.pick(living), { code: 1 }, 'oh no');
        return;
      case 'lose':
        if (chaos.ids.random() < 0.3) h.provider.loseInfrastructure('server gone');
        return;
      case 'edit':
        this.commands.set(name, `run-${name}-${chaos.ids.hex(2)}`);
        h.writeConfig(this.#yaml());
        h.touchConfig();
        return;
      case 'controller':
        h.kill();
        await this.#up();
        return;
      case 'kill':
        this.drained.delete(name);
        return this.#person(() => h.api.kill(name));
      case 'suspend':
        this.drained.delete(name);
        return this.#person(
          () => h.api.suspend(name),
          () => this.suspended.add(name),
        );
      case 'wake':
        // Even without an answer it may have been done.
        this.suspended.delete(name);
        this.drained.delete(name);
        return this.#person(() => h.api.wake(name));
      case 'nothing':
        return;
    }
  }

  #noteLives(): void {
    for (const [name, session] of this.h.provider.sessions) {
      const token = session.config.env['GC_INSTANCE_TOKEN'] ?? '';
      this.tokens.set(name, (this.tokens.get(name) ?? new Set()).add(token));
    }
  }

  /** The agent that lives says something about its own life. */
  async #speak(name: string, says: (name: string, life: LifeRequest) => Promise<unknown>): Promise<void> {
    const session = this.h.provider.sessions.get(name);
    const token = session?.config.env['GC_INSTANCE_TOKEN'];
    if (session && !session.ended && token) await this.#person(() => says(name, { instance_token: token }));
  }

  /** A process of an earlier life that nobody ended says that it is done, or wants a new life. */
  async #lateWord(name: string): Promise<void> {
    const { h, chaos } = this;
    const now = this.#recordNow(name)?.instanceToken;
    const earlier = [...(this.tokens.get(name) ?? [])].filter((token) => token !== now);
    if (now === undefined || earlier.length === 0) return;
    const life = { instance_token: chaos.pick(earlier) };
    const says = chaos.pick([
      () => h.api.acknowledgeDrain(name, life),
      () => h.api.requestRestart(name, life),
    ]);
    await this.#person(says, () => chaos.violations.push(`${name} was told by an earlier life of it`));
  }

  /** Whoever changes work says so, or the word is lost. */
  #tell(): void {
    if (this.h.isUp && this.chaos.ids.random() < 0.7) this.h.runtime.poke();
  }

  /** An agent that is up takes what waits, as the store lets it. */
  async #claim(workers: readonly string[]): Promise<void> {
    const { h, chaos } = this;
    if (!h.isUp || workers.length === 0) return;
    const worker = chaos.pick(workers);
    const isReady = this.#recordNow(worker)?.state === 'active';
    const [waiting] = await h.city.db.beads.ready({ assignee: '', metadata: { 'gc.routed_to': 'p' } });
    if (!isReady || !waiting || !h.isUp) return;
    await h.city.db.beads.claim(waiting.id, worker);
    this.#tell();
  }

  /** Something that happens to a worker whom nobody is about to end. */
  #beside(living: readonly string[], happens: (worker: string) => void): void {
    const free = living.filter((id) => {
      const record = this.#recordNow(id);
      return id.startsWith('p-') && record !== undefined && stopIntent(record) === undefined;
    });
    if (free.length > 0) happens(this.chaos.pick(free));
  }

  async #finishWork(count: number): Promise<void> {
    if (!this.h.isUp) return;
    const { beads } = this.h.city.db;
    const taken = await beads.list({ status: 'in_progress', notTypes: ['session'] });
    for (const bead of taken.slice(0, count)) await beads.close(bead.id);
    this.#tell();
  }

  async #leave(workers: readonly string[]): Promise<void> {
    const { h, chaos } = this;
    if (!h.isUp || workers.length === 0) return;
    const worker = chaos.pick(workers);
    const has = await h.city.db.beads.list({ status: 'in_progress', assignee: worker });
    if (has.length === 0 && this.#living().includes(worker)) h.provider.crash(worker, { code: 0 });
  }

  /** Everything that waits is taken, done and over. */
  async #workIsDone(): Promise<boolean> {
    const { h } = this;
    if (!h.isUp) return false;
    for (const worker of this.#living().filter((id) => id.startsWith('p-'))) await this.#claim([worker]);
    await this.#finishWork(SLOTS.length);
    const open = await h.city.db.beads.list({ statuses: ['open', 'in_progress'], notTypes: ['session'] });
    const records = (await h.records()).filter((record) => record.template === 'p');
    return open.length === 0 && records.length === 0 && this.#living().every((id) => !id.startsWith('p-'));
  }

  /** A person's command; what was acknowledged must hold, what was not may have happened or not. */
  async #person(command: () => Promise<unknown>, acknowledged: () => void = () => undefined): Promise<void> {
    if (!this.h.isUp) return;
    let over = false;
    const done = command().then(acknowledged, () => undefined);
    void done.then(() => {
      over = true;
    });
    await this.h.until(() => over || this.h.killed);
  }

  /** Faults end. Then what is wanted runs, with the config in force, and nothing moves any more. */
  async #calm(): Promise<void> {
    const { h, chaos } = this;
    chaos.level = Number.EPSILON;
    for (const name of SLOTS) h.provider.attached.delete(name);
    h.provider.deliver = (event) => [event];
    if (!h.isUp) await this.#up();
    for (const name of this.drained)
      expect(this.#recordNow(name), 'an acknowledged drain holds').toSatisfy(isBeingDrained);
    const maybeSuspended = (await h.records('suspended')).map((record) => record.sessionName);
    for (const name of this.suspended)
      expect(maybeSuspended, 'an acknowledged suspend holds').toContain(name);
    const held = (await h.records()).filter((record) => NAMES.includes(record.sessionName) && isHeld(record));
    for (const { sessionName } of held) await this.#person(() => h.api.wake(sessionName));
    h.touchConfig();
    await h
      .until(async () => {
        if (h.killed) await this.#up();
        return (await this.#allRun()) && this.#workIsDone();
      }, 1_500_000)
      .catch(async (error: unknown) => {
        throw new Error(
          `${String(error)}\n${JSON.stringify([await h.api.sessions(), [...this.commands], h.lines.slice(-5)], null, 1)}`,
        );
      });
    await h.pass(31_000);
    const marker = h.city.db.changeMarker();
    const starts = h.starts();
    await h.pass(120_000);
    expect(h.starts(), 'nothing starts in a quiet city').toBe(starts);
    expect(h.city.db.changeMarker(), 'nothing is written in a quiet city').toBe(marker);
    expect(chaos.violations).toEqual([]);
  }

  async #allRun(): Promise<boolean> {
    const active = await this.h.records('active');
    return NAMES.every((name) => {
      const session = this.h.provider.sessions.get(name);
      const lives = session !== undefined && !session.ended;
      return (
        lives &&
        session.config.command === this.commands.get(name) &&
        active.some((r) => r.sessionName === name)
      );
    });
  }
}

const DRAIN_TIMEOUT = `drain_timeout: ${DRAIN_TIMEOUT_MS / 1_000}s`;
const MEANT_FOR_WORKERS = ['idle-timeout', 'drain acknowledged by agent', 'restart requested'];

function isBeingDrained(record: SessionRecord | undefined): boolean {
  if (!record) return false;
  const intent = stopIntent(record) ?? '';
  if (['drained by a person', 'drain acknowledged by agent'].includes(intent)) return true;
  return record.state === 'drained' || drainOf(record)?.reason === 'drained by a person';
}

/** Down, or about to be, because somebody said so. */
function isHeld(record: SessionRecord): boolean {
  return (
    record.state === 'suspended' ||
    isBeingDrained(record) ||
    stopIntent(record) !== undefined ||
    saysDone(record)
  );
}

describe('simulation', () => {
  it.each(Array.from({ length: RUNS }, (_, i) => FIRST_SEED + i))(
    'seed %i',
    { timeout: 120_000 },
    async (seed) => {
      const simulation = new Simulation(seed);
      try {
        await simulation.run();
      } finally {
        await simulation.h.end();
      }
    },
  );
});
