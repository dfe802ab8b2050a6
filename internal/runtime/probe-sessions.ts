import { limited } from '../platform/limited.ts';
import { canObserve, type Observation, type Provider, type Survey } from './provider.ts';

const PARALLEL_PROBES = 8;
/** What identifies a session, read one by one where the provider cannot be asked for all at once. */
const IDENTIFYING_KEYS = [
  'GC_SESSION_ID',
  'GC_INSTANCE_TOKEN',
  'GC_DRAIN_ACK',
  'GC_DRAIN_GENERATION',
  'GC_RESTART_REQUESTED',
];

/** Every session of a provider: in one call where it can, else one by one. Throws what the provider throws. */
export async function surveySessions(provider: Provider): Promise<Survey> {
  if (canObserve(provider)) return provider.observe();
  const names = await provider.listRunning('');
  const observations = await limited(PARALLEL_PROBES, names, (name) => probe(provider, name));
  return { kind: 'seen', sessions: new Map(observations.map((o) => [o.name, o])) };
}

async function probe(provider: Provider, name: string): Promise<Observation> {
  const [running, attached, lastActivity] = await Promise.all([
    provider.isRunning(name),
    provider.isAttached(name),
    provider.getLastActivity(name),
  ]);
  const meta: Record<string, string> = {};
  for (const key of IDENTIFYING_KEYS) meta[key] = await provider.getMeta(name, key);
  return {
    name,
    liveness: livenessOf(running),
    attached: attached === 'unknown' ? undefined : Number(attached === 'yes'),
    lastActivity,
    processNames: undefined,
    meta,
  };
}

function livenessOf(running: 'yes' | 'no' | 'unknown'): Observation['liveness'] {
  switch (running) {
    case 'yes':
      return { kind: 'running', pid: undefined };
    case 'no':
      return { kind: 'exited', exit: {}, lastLines: '' };
    case 'unknown':
      return { kind: 'unknown', reason: 'the provider could not tell' };
  }
}
