import type { City } from '../config/city.ts';
import type { SessionRecord } from '../session/record.ts';
import type { AgentStatus, CityStatus, SessionView } from './city-api.ts';
import type { CityEngine } from './city-engine.ts';
import { isSuspended } from './desired-state.ts';
import type { Desired, OrderedSurvey } from './model.ts';
import { neededTemplates } from './needed-templates.ts';
import { type GlimpseRequest, Screens } from './screens.ts';
import { type Sight, sightOf } from './session-facts.ts';
import { sessionView } from './session-view.ts';

/** What a status is made of: the last look, and the records as they are now. */
export interface BoardInput {
  readonly survey: OrderedSurvey;
  readonly records: readonly SessionRecord[];
  readonly desired: ReadonlyMap<string, Desired>;
  readonly controlled: boolean;
}

/** Builds what people see of a city's sessions. */
export class Board {
  readonly #engine: CityEngine;
  readonly #screens: Screens;

  constructor(engine: CityEngine) {
    this.#engine = engine;
    this.#screens = new Screens(engine.parts.provider, engine.parts.clock);
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
    const up = upTemplates(records, sights);
    const { demand } = this.#engine;
    const needed = neededTemplates(input.desired.values(), demand);
    const templates = new Set(this.#engine.city.agents.map((agent) => agent.qualifiedName));
    return records.map((record) =>
      sessionView({
        now: this.#engine.parts.clock.now(),
        record,
        desired: input.desired.get(record.sessionName),
        sight: sights.get(record.id) ?? { kind: 'unknown', reason: 'not looked at' },
        operation: this.#engine.executor.operations.get(record.sessionName),
        glimpse: this.#screens.get(record.sessionName),
        roomWait: this.#engine.memory.roomWaits.get(record.sessionName)?.why,
        setback: this.#engine.memory.setbacks.get(record.sessionName),
        up,
        templates,
        needed: needed.has(record.template),
        demanded: demand.wanted.has(record.sessionName),
        controlled: input.controlled,
      }),
    );
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
