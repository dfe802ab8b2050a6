import { messageOf } from '../platform/errors.ts';
import { measureTrees, type TreeUsage } from '../platform/process-usage.ts';
import { canMeasure, type SessionUsage } from '../runtime/provider.ts';
import { displayName } from '../session/display.ts';
import type { SessionRecord } from '../session/record.ts';
import type { CityEngine } from './city-engine.ts';
import type { CityResources, SessionResources } from './city-resources.ts';
import type { OrderedSurvey } from './model.ts';
import { runningElsewhere } from './room-waits.ts';
import { type Sight, sightOf } from './session-facts.ts';

/** Long enough for a share of a core that means something, short enough to wait for. */
const MEASURE_OVER_MS = 500;

/** Looks at everything that runs, twice. Asked for by people, never by a tick: it reads every process's memory. */
export async function measureCity(
  engine: CityEngine,
  survey: OrderedSurvey,
  records: readonly SessionRecord[],
): Promise<CityResources> {
  const { clock } = engine.parts;
  const inOrder = records.toSorted((a, b) => a.sessionName.localeCompare(b.sessionName));
  const running = inOrder.flatMap((record) => {
    const sight = sightOf({ survey, effects: new Map() }, record.sessionName);
    return sight.kind === 'running' ? [{ record, pid: pidOf(sight) }] : [];
  });
  const far = runningElsewhere(
    engine,
    running.map(({ record }) => record.sessionName),
  );
  const here = running.filter(({ record }) => !far.has(record.sessionName));
  const leaders = here.flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
  const [trees, remote] = await Promise.all([
    measureTrees(leaders, MEASURE_OVER_MS, clock),
    far.size > 0 ? askProvider(engine) : new Map<string, SessionUsage>(),
  ]);
  const sessions = running.map(({ record, pid }): SessionResources => {
    const named = {
      id: record.id,
      display_name: displayName(record),
      session_name: record.sessionName,
      elsewhere: far.has(record.sessionName),
    };
    if (named.elsewhere) return { ...named, ...fromProvider(remote, record.sessionName) };
    const tree = pid === undefined ? undefined : trees.get(pid);
    return { ...named, ...(tree ? fromTree(tree) : { problem: 'its processes could not be found' }) };
  });
  return { machine: machineOf(engine), limits: limitsOf(engine), sessions, total: totalOf(sessions) };
}

function pidOf(sight: Extract<Sight, { kind: 'running' }>): number | undefined {
  const { liveness } = sight.observation;
  return liveness.kind === 'running' ? liveness.pid : undefined;
}

async function askProvider({ parts }: CityEngine): Promise<ReadonlyMap<string, SessionUsage> | string> {
  const { provider } = parts;
  if (!canMeasure(provider)) return `${provider.kind} does not tell what its sessions use`;
  try {
    return await provider.usage();
  } catch (error) {
    return messageOf(error);
  }
}

function fromProvider(
  usage: ReadonlyMap<string, SessionUsage> | string,
  name: string,
): Partial<SessionResources> {
  if (typeof usage === 'string') return { problem: usage };
  const found = usage.get(name);
  if (!found) return { problem: 'not measured yet' };
  return {
    memory: found.memoryBytes,
    ...(found.cpuMs === undefined ? {} : { cpu_ms: found.cpuMs }),
    ...(found.cpuShare === undefined ? {} : { cpu_share: found.cpuShare }),
  };
}

const fromTree = ({ memoryBytes, cpuMs, cpuShare, processes }: TreeUsage): Partial<SessionResources> => ({
  memory: memoryBytes,
  cpu_ms: cpuMs,
  cpu_share: Math.round(cpuShare * 1_000) / 1_000,
  processes,
});

function machineOf(engine: CityEngine): CityResources['machine'] {
  const { freeMemory, totalMemory, load, cores } = engine.machine();
  return { memory_free: freeMemory, memory_total: totalMemory, load, cores };
}

function limitsOf({ city }: CityEngine): CityResources['limits'] {
  const { maxLoadPerCore, minFreeMemory, memoryPerSession } = city.daemon;
  return {
    max_load_per_core: maxLoadPerCore,
    min_free_memory: minFreeMemory,
    memory_per_session: memoryPerSession,
  };
}

function totalOf(sessions: readonly SessionResources[]): CityResources['total'] {
  const here = sessions.filter((session) => !session.elsewhere);
  const sum = (of: (session: SessionResources) => number | undefined) =>
    here.reduce((total, session) => total + (of(session) ?? 0), 0);
  return {
    memory: sum((session) => session.memory),
    cpu_share: Math.round(sum((session) => session.cpu_share) * 1_000) / 1_000,
    processes: sum((session) => session.processes),
  };
}
