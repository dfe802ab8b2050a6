import { canContinueStart, canSleep, type SleepCapability } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import { heldSessions, overState, takeLimits } from './account-limits.ts';
import type { CityEngine } from './city-engine.ts';
import { clearDrainFlags } from './drain-operation.ts';
import type { Desired, OrderedSurvey } from './model.ts';
import { type Change, decisionKey, type Plan, type PlanInput } from './plan.ts';
import type { PoolKeeper } from './pool-keeper.ts';
import { plan } from './reconciler.ts';
import { cityChangeOf, storedDecision } from './record-changes.ts';
import { noteRoomWaits, runningElsewhere } from './room-waits.ts';
import { routeChanges } from './routes.ts';
import { lacksAgent, WAITS_FOR_KEY } from './session-facts.ts';
import { startLimits } from './start-limits.ts';
import { TraceKeeper } from './trace-keeper.ts';
import { cityRuntimeDir, TurnFlags } from './turn-flags.ts';
import { WaitKeeper } from './wait-keeper.ts';

/** Changes settle in two or three rounds; more means that somebody else keeps changing records. */
const MAX_ROUNDS = 8;

/** What the last pass saw: the base of every status. */
export interface Sighting {
  readonly survey: OrderedSurvey;
  readonly records: readonly SessionRecord[];
  readonly desired: ReadonlyMap<string, Desired>;
}

/** Looks, decides, writes and begins to act, once per call. */
export class CityPasses {
  readonly #engine: CityEngine;
  readonly #isPressed: () => boolean;
  readonly #pools: PoolKeeper;
  readonly #lastDecisions = new Map<string, string>();
  readonly #turns: TurnFlags;
  readonly waits: WaitKeeper;
  readonly #trace: TraceKeeper;
  #sighting: Sighting | undefined;
  #watched = false;
  #watchingSince: number | undefined;
  #steadySince: number | undefined;
  #lostWhat: string | undefined;
  #gaps = 0;
  /** Milliseconds from the end of the last pass until the next one that time alone asks for. */
  #restMs = 0;

  constructor(engine: CityEngine, isPressed: () => boolean, pools: PoolKeeper) {
    this.#engine = engine;
    this.#turns = new TurnFlags(cityRuntimeDir(engine.city.root));
    this.waits = new WaitKeeper(engine);
    this.#trace = new TraceKeeper(engine.parts);
    this.#pools = pools;
    this.#isPressed = isPressed;
  }

  get sighting(): Sighting | undefined {
    return this.#sighting;
  }

  restMs(): number {
    return this.#restMs;
  }

  retryIn(ms: number): void {
    this.#restMs = ms;
  }

  gapSeen(): void {
    this.#gaps += 1;
    this.#watchingSince = undefined;
    this.#steadySince = this.#engine.parts.clock.now();
  }

  infrastructureLost(what: string): void {
    this.#lostWhat = what;
  }

  /** A person may just have answered what its start asked: worth a look. */
  waitsForPerson(name: string): boolean {
    return this.#sighting?.records.some((r) => r.sessionName === name && r.metadata[WAITS_FOR_KEY]) ?? false;
  }

  async pass(): Promise<void> {
    const engine = this.#engine;
    const gapsBefore = this.#gaps;
    this.#trace.begin();
    const survey = await engine.look();
    await this.#liftLimits();
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const records = await engine.parts.store.list('open');
      if (await this.#correctRoutes(survey, records)) continue;
      if (await this.waits.look(records, survey)) continue;
      const { city } = engine;
      const seen = await this.#pools.look(city, records);
      const desired = await engine.desired(records, seen);
      this.#remember(survey, records, desired);
      await this.#turns.follow(seen.work, records, desired);
      // What was wanted by another config proves nothing now.
      if (engine.city !== city) continue;
      const input = this.#input(survey, records, desired);
      const next = plan(input);
      engine.time.lived();
      // What was seen before the gap proves nothing now.
      if (this.#gaps !== gapsBefore) return this.retryIn(0);
      await this.#write(next, records);
      await this.#trace.planned(input, next);
      if (next.changes.length > 0) continue;
      await noteRoomWaits(engine, next.roomWaits, records);
      for (const action of next.actions) engine.executor.dispatch(action);
      this.#seen(survey);
      this.#pools.passed(engine.city, survey.survey, records);
      this.#restMs = this.#restOf(next);
      return;
    }
    this.retryIn(BUSY_RECORDS_PAUSE_MS);
  }

  async #correctRoutes(survey: OrderedSurvey, records: readonly SessionRecord[]): Promise<boolean> {
    const { db, provider } = this.#engine.parts;
    const beads = routeChanges(provider, survey, records);
    if (beads.length > 0) await db.commit({ beads });
    return beads.length > 0;
  }

  #input(
    survey: OrderedSurvey,
    records: readonly SessionRecord[],
    desired: ReadonlyMap<string, Desired>,
  ): PlanInput {
    const { memory, executor, city, time, parts } = this.#engine;
    const room = this.#engine.room();
    return {
      now: parts.clock.now(),
      lived: time.lived(),
      desired,
      templates: new Set(city.agents.map((agent) => agent.qualifiedName)),
      records,
      survey,
      operations: executor.operations,
      effects: memory.effects,
      retryAt: memory.retryAt,
      idleSince: memory.idleSince,
      probedAt: memory.probedAt,
      sleepCapabilities: this.#sleepCapabilities(desired),
      drainTold: memory.drainTold,
      agentMissingSince: memory.agentMissingSince,
      canContinueStart: canContinueStart(parts.provider),
      askedAt: memory.askedAt,
      exits: memory.exits,
      pending: this.#asking(survey),
      readyWaits: this.waits.ready,
      infrastructureLost: this.#lostWhat,
      watchingSince: this.#watchingSince,
      steadySince: this.#steadySince,
      watched: this.#watched,
      accountWaits: heldSessions({
        limits: memory.accountLimits,
        desired,
        cityEnv: parts.env,
        now: parts.clock.now(),
      }),
      startSlots: this.#isPressed() ? 1 : city.daemon.maxWakesPerTick,
      limits: startLimits(city),
      room,
      // Asked for the limits alone: a city without any pays nothing for them.
      elsewhere: room ? runningElsewhere(this.#engine, desired.keys()) : new Set(),
      driftDrainTimeoutMs: city.daemon.driftDrainTimeoutMs,
      demand: this.#engine.demand,
      stopping: false,
      lastDecisions: this.#lastDecisions,
    };
  }

  /** Of sessions with something said about their sleep. */
  #sleepCapabilities(desired: ReadonlyMap<string, Desired>): ReadonlyMap<string, SleepCapability> {
    const { provider } = this.#engine.parts;
    if (!canSleep(provider)) return new Map();
    const asked = [...desired.values()].filter(({ sleep }) => sleep !== undefined && sleep.value !== 'off');
    return new Map(asked.map(({ sessionName }) => [sessionName, provider.sleepCapability(sessionName)]));
  }

  /** Reads nothing while no account has a limit. */
  async #liftLimits(): Promise<void> {
    const { memory, parts } = this.#engine;
    if (memory.accountLimits.size === 0) return;
    const over = overState(memory.accountLimits, await parts.store.list('open'), parts.clock.now());
    if (Object.keys(over).length === 0) return;
    await parts.db.commit({ state: over });
    takeLimits(memory.accountLimits, over);
  }

  /** Whoever has a question open, or asked a person something and has shown nothing since. */
  #asking({ survey }: OrderedSurvey): ReadonlySet<string> {
    const { asksSince, asking: open } = this.#engine.memory;
    if (survey.kind !== 'seen') return new Set(open);
    const asking = [...asksSince].filter(([name, since]) => {
      const { lastActivity } = survey.sessions.get(name) ?? {};
      return lastActivity !== undefined && lastActivity <= since;
    });
    return new Set([...open, ...asking.map(([name]) => name)]);
  }

  async #write(next: Plan, records: readonly SessionRecord[]): Promise<void> {
    const { db } = this.#engine.parts;
    if (next.changes.length > 0) {
      const change = cityChangeOf(next.changes, next.decisions, this.#engine.changeContext(records));
      await db.commit(change);
      takeLimits(this.#engine.memory.accountLimits, change.state);
      await this.#afterChanges(next.changes);
    } else if (next.decisions.length > 0) {
      await db.commit({ decisions: next.decisions.map(storedDecision) });
    }
    for (const decision of next.decisions)
      this.#lastDecisions.set(decision.sessionName, decisionKey(decision));
  }

  async #afterChanges(changes: readonly Change[]): Promise<void> {
    const { memory, executor } = this.#engine;
    const adopted = changes.filter((change) => change.kind === 'adopt').length;
    if (adopted > 0) this.#engine.parts.log(`Adopted ${adopted} running session(s) into bead store.`);
    for (const change of changes) {
      if (change.kind === 'ended') {
        memory.exits.delete(change.record.sessionName);
        this.#pools.ended(change.record, change.death);
      }
      if (change.kind === 'lost')
        for (const record of change.records) memory.exits.delete(record.sessionName);
      if (change.kind === 'begin-drain') memory.idleSince.delete(change.record.sessionName);
      if (change.kind === 'cancel-drain') {
        executor.cancel(change.record.sessionName);
        await clearDrainFlags(executor.context, change.record.sessionName);
      }
    }
  }

  #remember(
    survey: OrderedSurvey,
    records: readonly SessionRecord[],
    desired: ReadonlyMap<string, Desired>,
  ): void {
    this.#sighting = { survey, records, desired };
    const names = new Set(records.map((record) => record.sessionName));
    if (survey.survey.kind === 'seen') for (const name of survey.survey.sessions.keys()) names.add(name);
    const { memory } = this.#engine;
    memory.prune(names);
    for (const name of this.#lastDecisions.keys()) if (!names.has(name)) this.#lastDecisions.delete(name);
    this.#noteMissingAgents(survey, desired);
  }

  #noteMissingAgents(survey: OrderedSurvey, desired: ReadonlyMap<string, Desired>): void {
    if (survey.survey.kind !== 'seen') return;
    const { memory, time } = this.#engine;
    for (const [name, observation] of survey.survey.sessions) {
      const wanted = desired.get(name);
      const expected = wanted?.resolution === 'resolved' ? wanted.config.processNames : [];
      const missing = observation.liveness.kind === 'running' && lacksAgent(observation, expected);
      if (!missing) memory.agentMissingSince.delete(name);
      else if (!memory.agentMissingSince.has(name)) memory.agentMissingSince.set(name, time.lived());
    }
  }

  #seen(survey: OrderedSurvey): void {
    if (survey.survey.kind === 'unknown') return;
    this.#watched = true;
    this.#watchingSince ??= this.#engine.parts.clock.now();
    this.#lostWhat = undefined;
  }

  #restOf(next: Plan): number {
    const { city, parts, time } = this.#engine;
    let rest = city.daemon.patrolIntervalMs;
    if (next.nextWall !== undefined) rest = Math.min(rest, next.nextWall - parts.clock.now());
    if (next.nextLived !== undefined) rest = Math.min(rest, next.nextLived - time.lived());
    const wait = this.waits.restMs();
    if (wait !== undefined) rest = Math.min(rest, wait);
    const check = this.#pools.nextCheckAt();
    if (check !== undefined) rest = Math.min(rest, check - time.lived());
    return Math.max(0, rest);
  }
}

const BUSY_RECORDS_PAUSE_MS = 1_000;
