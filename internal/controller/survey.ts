import { messageOf } from '../platform/errors.ts';
import { canObserve, type Observation, type Provider, type Survey } from '../runtime/provider.ts';
import { limited } from './limited.ts';
import type { LivedTime } from './lived-time.ts';

/** A look that takes longer has told nothing. */
export const SURVEY_TIMEOUT_MS = 10_000;

const PARALLEL_PROBES = 8;
/** What identifies a session, read one by one where the provider cannot be asked for all at once. */
const IDENTIFYING_KEYS = [
  'GC_SESSION_ID',
  'GC_INSTANCE_TOKEN',
  'GC_DRAIN_ACK',
  'GC_DRAIN_GENERATION',
  'GC_RESTART_REQUESTED',
];

/** One look at all sessions. Never throws: what could not be told is `unknown`. */
export async function surveyOf(provider: Provider, time: LivedTime): Promise<Survey> {
  const over = new AbortController();
  const timeout = time
    .sleepUntil(time.lived() + SURVEY_TIMEOUT_MS, over.signal)
    .then((): Survey => ({ kind: 'unknown', reason: `no answer within ${SURVEY_TIMEOUT_MS / 1_000}s` }));
  // Rejected by our own abort below, when the look was faster.
  timeout.catch(() => undefined);
  try {
    return await Promise.race([canObserve(provider) ? provider.observe() : probeEach(provider), timeout]);
  } catch (error) {
    return { kind: 'unknown', reason: messageOf(error) };
  } finally {
    over.abort();
  }
}

async function probeEach(provider: Provider): Promise<Survey> {
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
