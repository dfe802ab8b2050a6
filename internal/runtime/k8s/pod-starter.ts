import { SessionInitializingError, StartFailedError } from '../errors.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import type { Launch } from '../terminal/backend.ts';
import { isDeadline } from '../terminal/start-errors.ts';
import type { Pod } from './api/pod.ts';
import { createPod, existing } from './create-pod.ts';
import type { K8sBackendOptions } from './k8s-options.ts';
import { type PathMap, pathMapOf } from './path-map.ts';
import { withoutMachine } from './pod-env.ts';
import type { PodParts } from './pod-parts.ts';
import { isDeleting, podState } from './pod-state.ts';
import { preparePod } from './prepare-pod.ts';
import { needsStaging } from './staging/bring.ts';

/** A failed start's pod is deleted with this grace: nothing of an agent ran in it for long. */
const CLEAN_UP_GRACE_SECONDS = 1;

export interface PodStarterOptions
  extends PodParts,
    Pick<K8sBackendOptions, 'clock' | 'ids' | 'settings' | 'cityId' | 'tenure' | 'machineEnv'> {
  /** Deletes the pods and waits until they are gone. */
  readonly remove: (name: string, pods: readonly Pod[], graceSeconds: number) => Promise<void>;
}

interface Preparing {
  readonly uid: string;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

/** One start. */
interface Plan {
  readonly name: string;
  readonly config: RuntimeConfig;
  readonly map: PathMap;
  readonly staged: boolean;
  readonly commandLine: string;
}

/** Makes pods and brings them to where their agents begin. */
export class PodStarter {
  readonly #options: PodStarterOptions;
  readonly #preparing = new Map<string, Preparing>();

  constructor(options: PodStarterOptions) {
    this.#options = options;
  }

  isPreparing(uid: string): boolean {
    return [...this.#preparing.values()].some((each) => each.uid === uid);
  }

  /** The session is being ended: nothing more is done for its pod. */
  cancel(name: string): void {
    this.#preparing
      .get(name)
      ?.abort.abort(new StartFailedError('start-cancelled', 'the start was cancelled'));
  }

  /**
   * As `TerminalBackend.create`. A pod that is still pulled or placed when the caller's deadline is over is not ended: it
   * goes on, for its grace, and the error is SessionInitializingError.
   */
  async create(name: string, launch: Launch, signal: AbortSignal): Promise<void> {
    const { sessions } = this.#options;
    const there = sessions.podOf(name);
    if (there && !isDeleting(there)) throw existing(there, name);
    sessions.forget(name);
    const given = configOf(launch);
    const config = { ...given, env: withoutMachine(given.env, this.#options.machineEnv ?? {}) };
    const map = pathMapOf(config);
    const staged = !this.#options.settings.prebaked && (await needsStaging(config, map));
    const plan: Plan = { name, config, map, staged, commandLine: launch.argv.at(-1) ?? '' };
    const pod = await this.#makePod(plan, signal);
    const preparing = this.#begin(plan, pod);
    try {
      await untilAborted(preparing.done, signal);
    } catch (error) {
      if (error !== signal.reason) throw error;
      if (isDeadline(error) && this.#mayStillCome(pod)) throw new SessionInitializingError(name);
      preparing.abort.abort(error);
      const cameUp = await preparing.done.then(
        () => true,
        () => false, // then its pod is gone; the caller gets its own reason
      );
      // It was done before it heard of the abort: nobody else knows of this pod.
      if (cameUp) await this.#options.remove(name, [pod], CLEAN_UP_GRACE_SECONDS).catch(() => undefined); // as above
      throw error;
    }
  }

  async #makePod({ name, ...plan }: Plan, signal: AbortSignal): Promise<Pod> {
    const { api, informer, clock, settings, cityId, tenure, timings } = this.#options;
    const pod = await createPod({
      api: await api(),
      clock,
      plan: { ...plan, session: name, cityId, settings, fence: tenure?.fence },
      goneMs: timings.goneMs,
      signal,
    });
    informer.apply(pod);
    return pod;
  }

  /** A failure, and only that, ends the pod again: with a time of its own, whatever the caller's deadline was. */
  #begin({ name, config, map, staged }: Plan, pod: Pod): Preparing {
    const { api, clock, ids, informer, streams, settings, timings, lifetime, remove } = this.#options;
    const abort = new AbortController();
    const limit = AbortSignal.timeout(timings.startupGraceMs);
    const work = async () => {
      try {
        await preparePod({
          api: await api(),
          informer,
          streams,
          clock,
          ids,
          session: name,
          pod,
          config,
          map,
          prebaked: settings.prebaked,
          staged,
          signal: AbortSignal.any([abort.signal, limit, lifetime]),
        });
      } catch (error) {
        // A controller that ends leaves the pod to the next one.
        if (!lifetime.aborted) await remove(name, [pod], CLEAN_UP_GRACE_SECONDS).catch(() => undefined); // found by the next look
        throw error;
      } finally {
        this.#preparing.delete(name);
      }
    };
    const preparing: Preparing = { uid: pod.metadata.uid, abort, done: work() };
    preparing.done.catch(() => undefined); // it may go on when nobody waits any more
    this.#preparing.set(name, preparing);
    return preparing;
  }

  #mayStillCome(pod: Pod): boolean {
    const now = this.#options.informer.pods.get(pod.metadata.uid);
    const state = now && podState(now);
    return state?.kind === 'preparing' && !state.hopeless && !state.running;
  }
}

function configOf(launch: Launch) {
  if (launch.config) return launch.config;
  throw new StartFailedError('internal', 'a pod cannot be made without a configuration');
}

function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const give = () => reject(signal.reason);
    if (signal.aborted) give();
    signal.addEventListener('abort', give, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', give));
  });
}
