import type { Clock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import { SessionExistsError, SessionInitializingError, StartFailedError } from '../errors.ts';
import type { KubeApi } from './api/kube-api.ts';
import { KubeError } from './api/kube-error.ts';
import type { Pod } from './api/pod.ts';
import { type PodPlan, podManifest } from './manifest.ts';
import { podName, podNameInCity } from './names.ts';
import { isDeleting, podState, sessionOf } from './pod-state.ts';

const POLL_MS = 250;

export interface Creation {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly plan: Omit<PodPlan, 'podName'>;
  readonly goneMs: number;
  readonly signal: AbortSignal;
}

/**
 * Creates the pod of a session under its published name, or, where another city has that one, under one of its own.
 * @throws SessionExistsError, SessionInitializingError; StartFailedError `pod-not-created`, `pod-not-gone`; KubeError
 */
export async function createPod(creation: Creation): Promise<Pod> {
  const { plan } = creation;
  const names = [podName(plan.session), podNameInCity(plan.session, plan.cityId)];
  for (const name of names) {
    const manifest = podManifestOf({ ...plan, podName: name });
    const pod = await tryCreate(creation, name, manifest);
    if (pod) return pod;
  }
  throw new StartFailedError(
    'pod-not-created',
    `the names ${names.join(' and ')} are taken by pods that are not ours`,
    {
      next: `kubectl -n ${plan.settings.namespace} get pods`,
    },
  );
}

function podManifestOf(plan: PodPlan): object {
  try {
    return podManifest(plan);
  } catch (error) {
    if (!(error instanceof GcError)) throw error;
    const message = `building pod for session "${plan.session}": ${error.message}`;
    throw new StartFailedError('pod-not-built', message, {
      cause: error,
      ...(error.next === undefined ? {} : { next: error.next }),
    });
  }
}

/** `undefined`: somebody else's pod has the name. */
async function tryCreate(creation: Creation, name: string, manifest: object): Promise<Pod | undefined> {
  const { api, clock, plan, goneMs, signal } = creation;
  const deadline = clock.monotonic() + goneMs;
  for (;;) {
    try {
      return await api.createPod(manifest, signal);
    } catch (error) {
      if (!(error instanceof KubeError && error.kind === 'conflict')) throw explained(error, plan.session);
    }
    const there = await api.getPod(name, signal);
    if (there && sessionOf(there, plan.cityId) !== plan.session) return undefined;
    if (there && !isDeleting(there)) throw existing(there, plan.session);
    if (clock.monotonic() > deadline) throw notGone(there, plan);
    await clock.sleep(POLL_MS, signal);
  }
}

export function existing(pod: Pod, session: string): GcError {
  if (podState(pod).kind === 'preparing') return new SessionInitializingError(session);
  return new SessionExistsError(session, ` (pod: ${pod.metadata.name})`);
}

function notGone(pod: Pod | undefined, plan: Creation['plan']): GcError {
  const name = pod?.metadata.name ?? '';
  const where = pod?.spec?.nodeName ? ` on node ${pod.spec.nodeName}` : '';
  return new StartFailedError(
    'pod-not-gone',
    `pod ${name}${where} of an earlier life of session "${plan.session}" is being deleted and does not go`,
    {
      next: `if its node is lost for good: kubectl -n ${plan.settings.namespace} delete pod ${name} --force`,
    },
  );
}

function explained(error: unknown, session: string): unknown {
  if (!(error instanceof KubeError) || error.kind !== 'invalid') return error;
  return new StartFailedError('pod-not-created', `creating pod for session "${session}": ${error.message}`, {
    cause: error,
  });
}
