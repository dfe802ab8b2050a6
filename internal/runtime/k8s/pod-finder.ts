import { setImmediate } from 'node:timers/promises';
import { GcError, messageOf } from '../../platform/errors.ts';
import { RuntimeUnavailableError, SessionNotFoundError } from '../errors.ts';
import type { BackendSession } from '../terminal/backend.ts';
import type { Pod } from './api/pod.ts';
import type { K8sBackendOptions } from './k8s-options.ts';
import { lastLinesOf } from './last-lines.ts';
import { citySelector, sessionSelector } from './manifest.ts';
import type { PodParts } from './pod-parts.ts';
import { PodSessions } from './pod-sessions.ts';
import { podState } from './pod-state.ts';

/** The first look at a cluster waits for it so long before the answer is that it could not be told. */
const FIRST_LOOK_MS = 10_000;
/** What a visitor has found of one pod counts for so long: one nudge asks for the same pod a dozen times. */
const VISIT_MS = 1_000;

export type Looked =
  | { readonly kind: 'unknown'; readonly reason: string }
  | {
      readonly kind: 'seen';
      readonly pod: Pod | undefined;
      /** Without a pod: one that somebody deleted. */
      readonly session: BackendSession | undefined;
    };

export type LookedAtAll =
  | { readonly kind: 'unknown'; readonly reason: string }
  | { readonly kind: 'seen'; readonly sessions: ReadonlyMap<string, BackendSession> };

export interface PodFinderOptions extends PodParts, Pick<K8sBackendOptions, 'clock' | 'cityId' | 'role'> {
  readonly isPreparing: (uid: string) => boolean;
}

/** Finds sessions: a controller in its memory of the cluster, a visitor by one request. */
export class PodFinder {
  readonly #options: PodFinderOptions;
  readonly #visited = new Map<string, { readonly pod: Pod | undefined; readonly at: number }>();

  constructor(options: PodFinderOptions) {
    this.#options = options;
  }

  get follows(): boolean {
    return this.#options.role !== 'visitor';
  }

  async look(name: string): Promise<Looked> {
    const { sessions } = this.#options;
    if (this.follows) {
      const reason = await this.#unlessSynced();
      if (reason !== undefined) return { kind: 'unknown', reason };
      return { kind: 'seen', pod: sessions.podOf(name), session: sessions.session(name) };
    }
    try {
      const pod = await this.#visit(name);
      return { kind: 'seen', pod, session: pod && (await this.#visitedSession(name, pod)) };
    } catch (error) {
      return { kind: 'unknown', reason: withNext(messageOf(error), error) };
    }
  }

  async lookAtAll(): Promise<LookedAtAll> {
    if (!this.follows) return await this.#visitAll();
    const reason = await this.#unlessSynced();
    if (reason !== undefined) return { kind: 'unknown', reason };
    return { kind: 'seen', sessions: this.#options.sessions.all() };
  }

  /** The session's pod, dead or alive. @throws SessionNotFoundError, RuntimeUnavailableError */
  async present(name: string): Promise<Pod> {
    const pod = await this.find(name);
    if (!pod) throw new SessionNotFoundError(name);
    return pod;
  }

  /** @throws SessionNotFoundError, RuntimeUnavailableError */
  async living(name: string): Promise<Pod> {
    const pod = await this.present(name);
    if (podState(pod).kind === 'dead') throw new SessionNotFoundError(name);
    return pod;
  }

  /** @throws RuntimeUnavailableError */
  async find(name: string): Promise<Pod | undefined> {
    const looked = await this.look(name);
    if (looked.kind === 'unknown') throw new RuntimeUnavailableError(looked.reason);
    return looked.pod;
  }

  /** The pods of all sessions that the last look saw. */
  pods(): readonly (readonly [name: string, pod: Pod])[] {
    const { sessions } = this.#options;
    const found = this.follows
      ? sessions.names.map((name) => [name, sessions.podOf(name)] as const)
      : [...this.#visited].map(([name, { pod }]) => [name, pod] as const);
    return found.flatMap(([name, pod]) => (pod ? [[name, pod] as const] : []));
  }

  /** What a change was answered. */
  note(name: string, pod: Pod): void {
    if (this.follows) this.#options.informer.apply(pod);
    else this.#visited.set(name, { pod, at: this.#options.clock.monotonic() });
  }

  forget(name: string): void {
    this.#options.sessions.forget(name);
    this.#visited.delete(name);
  }

  /** Waits for the first look at the cluster. @throws what keeps it from being seen; the signal's reason */
  async synced(signal: AbortSignal): Promise<void> {
    const { informer } = this.#options;
    informer.start();
    await informer.until(() => {
      if (informer.state.kind === 'synced') return true;
      const { failure } = informer;
      if (failure !== undefined) throw failure;
      return undefined;
    }, signal);
  }

  /** Why nothing can be told of the cluster now, `undefined` when something can. */
  async #unlessSynced(): Promise<string | undefined> {
    const { informer, lifetime } = this.#options;
    informer.start();
    if (informer.state.kind === 'unknown' && informer.failure === undefined) {
      const limit = AbortSignal.any([lifetime, AbortSignal.timeout(FIRST_LOOK_MS)]);
      const seen = () => (informer.state.kind === 'synced' || informer.failure ? true : undefined);
      await informer.until(seen, limit).catch(() => undefined); // the state tells
    }
    // What has arrived already is read first, so that what other processes did before is seen.
    await setImmediate();
    const { state } = informer;
    return state.kind === 'synced' ? undefined : withNext(state.reason, informer.failure);
  }

  async #visit(name: string): Promise<Pod | undefined> {
    const { clock, cityId, api } = this.#options;
    const known = this.#visited.get(name);
    if (known && clock.monotonic() - known.at < VISIT_MS) return known.pod;
    const cluster = await api();
    const { pods } = await cluster.listPods({ labelSelector: sessionSelector(cityId, name) });
    const pod = this.#viewOf(pods).podOf(name);
    this.#visited.set(name, { pod, at: clock.monotonic() });
    return pod;
  }

  async #visitedSession(name: string, pod: Pod): Promise<BackendSession | undefined> {
    const session = this.#viewOf([pod]).session(name);
    if (session?.state.kind !== 'dead' || session.state.lastLines !== '') return session;
    const lastLines = await lastLinesOf(this.#options, name, pod, '', this.#options.timings.lastLinesMs);
    return { ...session, state: { ...session.state, lastLines } };
  }

  async #visitAll(): Promise<LookedAtAll> {
    const { cityId, clock, api } = this.#options;
    try {
      const cluster = await api();
      const { pods } = await cluster.listPods({ labelSelector: citySelector(cityId) });
      const view = this.#viewOf(pods);
      this.#visited.clear();
      for (const name of view.names)
        this.#visited.set(name, { pod: view.podOf(name), at: clock.monotonic() });
      return { kind: 'seen', sessions: view.all() };
    } catch (error) {
      return { kind: 'unknown', reason: withNext(messageOf(error), error) };
    }
  }

  /** Sessions of pods as they are now, with no memory. */
  #viewOf(pods: readonly Pod[]): PodSessions {
    const { cityId, clock, timings, isPreparing } = this.#options;
    const view = new PodSessions({
      cityId,
      clock,
      startupGraceMs: timings.startupGraceMs,
      isPreparing,
      lastLines: undefined,
      emit: () => undefined,
    });
    for (const pod of pods) view.onChange(undefined, pod);
    return view;
  }
}

function withNext(reason: string, error: unknown): string {
  return error instanceof GcError && error.next !== undefined ? `${reason} (${error.next})` : reason;
}
