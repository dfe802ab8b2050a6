import type { Agent, City } from '../../config/city.ts';
import type { PoolScene } from '../pools.ts';
import { NO_WORK, type WorkFacts } from '../work-facts.ts';

type AgentPart = Partial<Agent> & Pick<Agent, 'name'>;

/** What pools read of an agent. */
export function anAgent(over: AgentPart): Agent {
  const dir = over.dir ?? '';
  const agent = {
    dir,
    binding: '',
    qualifiedName: dir === '' ? over.name : `${dir}/${over.name}`,
    suspended: false,
    maxActiveSessions: undefined,
    minActiveSessions: 0,
    scaleCheck: '',
    workQuery: '',
    namepoolNames: [],
    dependsOn: [],
    implicit: false,
    ...over,
  };
  return agent as unknown as Agent;
}

export interface CityPart {
  readonly agents: readonly Agent[];
  readonly namedSessions?: readonly Pick<
    City['namedSessions'][number],
    'identity' | 'templateQualifiedName' | 'mode'
  >[];
  readonly rigs?: readonly Partial<City['rigs'][number]>[];
  readonly workspace?: Partial<City['workspace']>;
}

/** What pools read of a city. */
export function aPoolCity({ agents, namedSessions = [], rigs = [], workspace = {} }: CityPart): City {
  const city = {
    root: '/city',
    agents,
    namedSessions,
    rigs: rigs.map((rig) => ({ suspended: false, maxActiveSessions: undefined, ...rig })),
    workspace: {
      name: 'c',
      sessionTemplate: '',
      suspended: false,
      maxActiveSessions: undefined,
      ...workspace,
    },
    beads: { provider: 'sqlite' },
  };
  return city as unknown as City;
}

/** So many pieces of work wait for a template. */
export function waiting(counts: Readonly<Record<string, number>>, over: Partial<WorkFacts> = {}): WorkFacts {
  const ids = (count: number) => new Set(Array.from({ length: count }, (_, i) => `w-${i}`));
  return {
    ...NO_WORK,
    waiting: new Map(Object.entries(counts).map(([template, count]) => [template, ids(count)])),
    ...over,
  };
}

export function aPoolScene(city: City, over: Partial<PoolScene> = {}): PoolScene {
  return {
    city,
    records: [],
    work: NO_WORK,
    counts: new Map(),
    called: new Set(),
    queried: new Set(),
    ...over,
  };
}
