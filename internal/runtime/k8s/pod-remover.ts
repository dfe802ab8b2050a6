import { rfc3339 } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import type { KubeApi } from './api/kube-api.ts';
import { KubeError } from './api/kube-error.ts';
import type { Pod } from './api/pod.ts';
import type { K8sBackendOptions } from './k8s-options.ts';
import { ANNOTATION_STOPPED, sessionSelector } from './manifest.ts';
import type { PodParts } from './pod-parts.ts';
import { sessionOf } from './pod-state.ts';

const GONE_POLL_MS = 200;

export interface PodRemoverOptions
  extends PodParts,
    Pick<K8sBackendOptions, 'clock' | 'cityId' | 'settings' | 'role'> {}

/** Deletes pods of ours, each by its uid, and waits until they are gone. */
export class PodRemover {
  readonly #options: PodRemoverOptions;

  constructor(options: PodRemoverOptions) {
    this.#options = options;
  }

  /** Every pod of the session, as the cluster itself knows them now. @throws GcError `kill-incomplete`; KubeError */
  async removeSession(name: string, graceSeconds: number): Promise<void> {
    const { api, cityId } = this.#options;
    const cluster = await api();
    const { pods } = await cluster.listPods({ labelSelector: sessionSelector(cityId, name) });
    const ours = pods.filter((pod) => sessionOf(pod, cityId) === name);
    await this.remove(name, ours, graceSeconds);
  }

  /** Exactly these pods. @throws GcError `kill-incomplete`; KubeError */
  async remove(name: string, pods: readonly Pod[], graceSeconds: number): Promise<void> {
    const cluster = await this.#options.api();
    await Promise.all(pods.map((pod) => this.#removeOne(cluster, name, pod, graceSeconds)));
    // The stream of a pod that is gone ends by itself when its host cannot be told to.
    await this.#options.streams.drop(name).catch(() => undefined);
  }

  async #removeOne(cluster: KubeApi, session: string, pod: Pod, graceSeconds: number): Promise<void> {
    const { clock, informer, lifetime, role, sessions, timings } = this.#options;
    const { name, uid } = pod.metadata;
    sessions.expectEnd(uid);
    if (role === 'visitor') await this.#announce(cluster, pod);
    await cluster.deletePod(name, uid, graceSeconds);
    const deadline = clock.monotonic() + graceSeconds * 1_000 + timings.goneMs;
    for (;;) {
      const there = await cluster.getPod(name);
      if (there?.metadata.uid !== uid) break;
      if (clock.monotonic() > deadline) {
        sessions.notExpected(uid);
        throw this.#doesNotGo(session, there);
      }
      await clock.sleep(GONE_POLL_MS, lifetime);
    }
    informer.remove(uid);
  }

  /** The controller beside us must not take it for an accident. */
  async #announce(cluster: KubeApi, pod: Pod): Promise<void> {
    const { name, uid } = pod.metadata;
    const stopped = { [ANNOTATION_STOPPED]: rfc3339(this.#options.clock.now()) };
    await cluster.annotatePod(name, uid, stopped).catch((error: unknown) => {
      const gone = error instanceof KubeError && (error.kind === 'not-found' || error.kind === 'conflict');
      if (!gone) throw error;
    });
  }

  #doesNotGo(session: string, pod: Pod): GcError {
    const { name } = pod.metadata;
    const where = pod.spec?.nodeName ? ` on node ${pod.spec.nodeName}` : '';
    return new GcError(
      'kill-incomplete',
      `session "${session}": pod ${name}${where} is being deleted and does not go`,
      {
        next: `if its node is lost for good: kubectl -n ${this.#options.settings.namespace} delete pod ${name} --force`,
      },
    );
  }
}
