import type { City } from '../config/city.ts';
import { canSleep } from '../runtime/provider.ts';
import { type AccountLimit, isHeld } from '../session/account-limit.ts';
import type { SessionRecord } from '../session/record.ts';
import { WaitStore } from '../session/wait-store.ts';
import { accountOfSession } from './account-limits.ts';
import type { AgentStatus, CityStatus, SessionView } from './city-api.ts';
import type { CityEngine } from './city-engine.ts';
import { ConversationGlances, type GlanceRequest } from './conversation-glances.ts';
import { isSuspended } from './desired-state.ts';
import type { Desired, OrderedSurvey } from './model.ts';
import { neededTemplates } from './needed-templates.ts';
import { type OpenQuestionSeen, openQuestions } from './question-text.ts';
import { type GlimpseRequest, Screens } from './screens.ts';
import { type Sight, sightOf } from './session-facts.ts';
import { awakeOf, sessionView, type ViewFacts } from './session-view.ts';
import { NO_WAITS, type WaitsSeen, waitsSeen } from './wait-views.ts';

/** What a status is made of: the last look, and the records as they are now. */
export interface BoardInput {
  readonly survey: OrderedSurvey;
  readonly records: readonly SessionRecord[];
  readonly desired: ReadonlyMap<string, Desired>;
  readonly controlled: boolean;
}

const NOT_LOOKED_AT: Sight = { kind: 'unknown', reason: 'not looked at' };

/** Builds what people see of a city's sessions. */
export class Board {
  readonly #engine: CityEngine;
  readonly #screens: Screens;
  readonly #glances: ConversationGlances;

  constructor(engine: CityEngine) {
    this.#engine = engine;
    this.#screens = new Screens(engine.parts.provider, engine.parts.clock);
    this.#glances = new ConversationGlances(engine.parts);
  }

  /** In the order of the city file, then by name. */
  async views(input: BoardInput): Promise<readonly SessionView[]> {
    const rank = new Map([...input.desired.keys()].map((name, i) => [name, i]));
    const place = (record: SessionRecord) => rank.get(record.sessionName) ?? rank.size;
    const records = input.records.toSorted(
      (a, b) => place(a) - place(b) || a.sessionName.localeCompare(b.sessionName),
    );
    const sights = new Map(records.map((record) => [record.id, this.#sight(input, record)]));
    await this.#screens.refresh(
      records.flatMap((record) => glimpseRequest(record, sights.get(record.id), input)),
    );
    const up = records.flatMap((record) => glanceRequest(record, sights.get(record.id)));
    await this.#glances.refresh(up, records);
    const templates = new Set(this.#engine.city.agents.map((agent) => agent.qualifiedName));
    const waits = await this.#waits(records);
    const questions = await openQuestions(this.#engine.parts.db);
    const known = { up: upTemplates(records, sights), templates, waits, questions };
    const facts = records.map((record) =>
      this.#facts(input, record, sights.get(record.id) ?? NOT_LOOKED_AT, known),
    );
    const needed = this.#needed(input, facts);
    return facts.map((of) => sessionView({ ...of, needed: needed.has(of.record.template) }));
  }

  #facts(
    input: BoardInput,
    record: SessionRecord,
    sight: Sight,
    {
      up,
      templates,
      waits,
      questions,
    }: Pick<ViewFacts, 'up' | 'templates'> & {
      readonly waits: WaitsSeen;
      readonly questions: ReadonlyMap<string, OpenQuestionSeen>;
    },
  ): ViewFacts {
    const { demand, memory, executor, parts } = this.#engine;
    const name = record.sessionName;
    const { provider } = parts;
    return {
      now: parts.clock.now(),
      record,
      desired: input.desired.get(name),
      sight,
      operation: executor.operations.get(name),
      glimpse: this.#screens.get(name),
      roomWait: memory.roomWaits.get(name)?.why,
      setback: memory.setbacks.get(name),
      conversation: sight.kind === 'running' ? this.#glances.get(record) : undefined,
      accountLimit: this.#limitOf(record, input.desired.get(name)),
      up,
      templates,
      question: questions.get(record.id),
      waitsOn: waits.texts.get(record.id),
      waitReady: waits.ready.has(record.id),
      needed: false,
      demanded: demand.wanted.has(name),
      called: demand.called.has(name),
      sleepCapability: canSleep(provider) ? provider.sleepCapability(name) : undefined,
      controlled: input.controlled,
    };
  }

  #limitOf(record: SessionRecord, desired: Desired | undefined): AccountLimit | undefined {
    const { memory, parts } = this.#engine;
    if (memory.accountLimits.size === 0) return undefined;
    const limit = memory.accountLimits.get(accountOfSession(record, desired, parts.env));
    return limit && isHeld(limit, record.sessionName, parts.clock.now()) ? limit : undefined;
  }

  /** Only where one sleeps for a wait is it read what for. */
  async #waits(records: readonly SessionRecord[]): Promise<WaitsSeen> {
    if (!records.some(({ waitHold, closed }) => waitHold && !closed)) return NO_WAITS;
    return waitsSeen(await new WaitStore(this.#engine.parts.db).live(), records);
  }

  #needed(input: BoardInput, facts: readonly ViewFacts[]): ReadonlySet<string> {
    const { demand } = this.#engine;
    const awake = new Map(facts.map((of) => [of.record.sessionName, awakeOf(of)]));
    return neededTemplates(input.desired.values(), ({ sessionName, mode }) => {
      const decision = awake.get(sessionName);
      if (!decision) return mode === 'always' || demand.wanted.has(sessionName);
      return decision.wake || decision.reason === 'quarantined';
    });
  }

  #sight(input: BoardInput, record: SessionRecord): Sight {
    if (record.closed) return { kind: 'absent' };
    return sightOf({ survey: input.survey, effects: new Map() }, record.sessionName);
  }
}

function glimpseRequest(
  record: SessionRecord,
  sight: Sight | undefined,
  input: BoardInput,
): GlimpseRequest[] {
  if (sight?.kind !== 'running') return [];
  const desired = input.desired.get(record.sessionName);
  return [
    {
      observation: sight.observation,
      providerKind: record.providerKind,
      readyPromptPrefix: desired?.resolution === 'resolved' ? desired.config.readyPromptPrefix : '',
      tells: record.transport === 'acp',
    },
  ];
}

function glanceRequest(record: SessionRecord, sight: Sight | undefined): GlanceRequest[] {
  if (sight?.kind !== 'running') return [];
  return [{ record, lastActivity: sight.observation.lastActivity }];
}

function upTemplates(
  records: readonly SessionRecord[],
  sights: ReadonlyMap<string, Sight>,
): ReadonlySet<string> {
  const up = records.filter((record) => {
    const settled = record.state === 'active' || record.state === 'awake';
    return settled && sights.get(record.id)?.kind === 'running';
  });
  return new Set(up.map((record) => record.template));
}

/** Who is up, in numbers. What could not be told is counted apart, never as stopped. */
export function summaryOf(city: City, sessions: readonly SessionView[]): CityStatus['summary'] {
  const count = (...conditions: SessionView['condition'][]) =>
    sessions.filter((session) => conditions.includes(session.condition)).length;
  const running = count('idle', 'working', 'running', 'waits', 'draining');
  return {
    total_agents: city.agents.length,
    running_agents: agentsOf(city, sessions).filter((agent) => agent.running).length,
    wanted_sessions: sessions.filter((session) => session.wanted).length,
    running_sessions: running,
    waiting_for_person: count('waits'),
    backing_off: count('backing-off', 'quarantined'),
    unknown_sessions: count('unknown'),
    active_sessions: sessions.filter((session) => session.state === 'active').length,
    suspended_sessions: count('suspended'),
  };
}

const RUNNING: readonly SessionView['condition'][] = ['idle', 'working', 'running', 'waits', 'draining'];

export function agentsOf(city: City, sessions: readonly SessionView[]): readonly AgentStatus[] {
  const running = new Set(sessions.filter((s) => RUNNING.includes(s.condition)).map((s) => s.template));
  return city.agents.map((agent) => ({
    name: agent.name,
    qualified_name: agent.qualifiedName,
    scope: agent.dir === '' ? 'city' : 'rig',
    running: running.has(agent.qualifiedName),
    suspended: isSuspended(city, agent),
  }));
}
