import { RuntimeUnavailableError } from '../errors.ts';
import { EventStream } from '../event-stream.ts';
import { plainLines } from '../plain-lines.ts';
import type { AttachPlan, RuntimeEvent, SessionUsage } from '../provider.ts';
import { HostBackend } from '../subprocess/host-backend.ts';
import type {
  Elsewhere,
  Inspection,
  InspectionOfAll,
  Launch,
  ScreenText,
  TerminalBackend,
} from '../terminal/backend.ts';
import type { KubeApi } from './api/kube-api.ts';
import type { Pod } from './api/pod.ts';
import { assertMayWrite, withWriteRight } from './api/write-right.ts';
import { PodInformer } from './informer.ts';
import { DEFAULT_K8S_TIMINGS, type K8sBackendOptions } from './k8s-options.ts';
import { lastLinesOf } from './last-lines.ts';
import { launchInPod } from './launch-in-pod.ts';
import { AGENT_CONTAINER, citySelector } from './manifest.ts';
import { WORKSPACE } from './path-map.ts';
import { PodFinder } from './pod-finder.ts';
import { metaOf, removeMetaChange, setMetaChange } from './pod-meta.ts';
import { PodRemover } from './pod-remover.ts';
import { PodSessions } from './pod-sessions.ts';
import { podShell } from './pod-shell.ts';
import { PodStarter } from './pod-starter.ts';
import { podState } from './pod-state.ts';
import { PodStreams } from './pod-streams.ts';
import { usageOf } from './pod-usage.ts';
import { ScreenWatch } from './screen-watch.ts';
import { copyToPod } from './staging/bring.ts';

const POLL_MS = 50;
const LOG_LINES = 2_000;
const EMPTY_SCREEN: ScreenText = { lines: [], cursor: undefined, visibleRows: 0, bracketedPaste: undefined };

/**
 * One pod per session, whose own process is the agent. What lives, ends and why is known from one watch of the namespace,
 * in memory; metadata are annotations; the screen and the input are one stream per pod, held by a session host.
 */
export class K8sBackend implements TerminalBackend {
  readonly kind = 'k8s';
  readonly pollMs = POLL_MS;
  readonly elsewhere: Elsewhere;
  readonly #options: K8sBackendOptions;
  readonly #informer: PodInformer;
  readonly #sessions: PodSessions;
  readonly #streams: PodStreams;
  readonly #starter: PodStarter;
  readonly #remover: PodRemover;
  readonly #finder: PodFinder;
  readonly #screens: ScreenWatch;
  readonly #events = new EventStream();
  readonly #lifetime = new AbortController();
  #api: Promise<KubeApi> | undefined;

  constructor(options: K8sBackendOptions) {
    const { clock, ids, settings, target, cityId, host, role = 'controller' } = options;
    const timings = { ...DEFAULT_K8S_TIMINGS, ...options.timings };
    const api = () => this.#cluster();
    this.#options = options;
    const { dir, command: hostCommand, env } = host;
    this.#streams = new PodStreams(
      new HostBackend({ dir, cityId, hostCommand, env, clock, ids, role }),
      target,
      settings.namespace,
    );
    const isPreparing = (uid: string) => this.#starter.isPreparing(uid);
    this.#sessions = new PodSessions({
      cityId,
      clock,
      startupGraceMs: timings.startupGraceMs,
      isPreparing,
      lastLines: (name, pod, message) =>
        lastLinesOf({ streams: this.#streams, api, clock }, name, pod, message, timings.lastLinesMs),
      emit: (event) => this.#events.emit(event),
    });
    this.#informer = new PodInformer({
      api,
      labelSelector: citySelector(cityId),
      clock,
      ids,
      timings,
      onChange: (before, after) => this.#sessions.onChange(before, after),
    });
    const parts = {
      ...options,
      role,
      timings,
      api,
      informer: this.#informer,
      sessions: this.#sessions,
      streams: this.#streams,
      events: this.#events,
      lifetime: this.#lifetime.signal,
      isPreparing,
    };
    this.#remover = new PodRemover(parts);
    this.#starter = new PodStarter({
      ...parts,
      remove: (name, pods, graceSeconds) => this.#remover.remove(name, pods, graceSeconds),
    });
    this.#finder = new PodFinder(parts);
    this.#screens = new ScreenWatch(parts);
    this.elsewhere = {
      prepareLaunch: async (name, config) => launchInPod(name, config, settings),
      runShell: (name) => podShell({ api, find: (session) => this.#finder.living(session) }, name),
      copyTo: (name, source, relativeTarget, signal) => this.#copyTo(name, source, relativeTarget, signal),
    };
  }

  async create(name: string, launch: Launch, signal: AbortSignal): Promise<void> {
    await this.#finder.synced(signal);
    await this.#starter.create(name, launch, signal);
  }

  async inspect(name: string): Promise<Inspection> {
    const looked = await this.#finder.look(name);
    if (looked.kind === 'unknown') return looked;
    const { pod, session } = looked;
    if (!session) return { kind: 'absent' };
    if (session.state.kind === 'dead' || !pod) return { kind: 'present', session };
    const screen = await this.#screens.look(name, pod);
    return { kind: 'present', session: { ...session, ...screen } };
  }

  async inspectAll(): Promise<InspectionOfAll> {
    const looked = await this.#finder.lookAtAll();
    if (looked.kind === 'unknown') return looked;
    if (!this.#finder.follows) return { kind: 'seen', sessions: await this.#screens.addTo(looked.sessions) };
    this.#screens.refresh();
    return looked;
  }

  async kill(name: string, graceMs: number): Promise<void> {
    this.#starter.cancel(name);
    await this.#remover.removeSession(name, Math.max(1, Math.ceil(graceMs / 1_000)));
    this.#finder.forget(name);
  }

  async interrupt(name: string): Promise<void> {
    assertMayWrite(this.#options.tenure);
    await this.#use(name, (host) => host.interrupt(name));
  }

  async capture(name: string, lines: number): Promise<ScreenText> {
    const pod = await this.#finder.present(name);
    const state = podState(pod);
    if (state.kind === 'preparing' && !state.running) return EMPTY_SCREEN;
    if (state.kind !== 'dead') return await this.#use(name, (host) => host.capture(name, lines));
    if (await this.#streams.look(name, pod.metadata.uid)) {
      return await this.#streams.host.capture(name, lines);
    }
    return await this.#logOf(pod, lines);
  }

  async paste(name: string, text: string): Promise<void> {
    assertMayWrite(this.#options.tenure);
    await this.#use(name, (host) => host.paste(name, text));
  }

  async sendKeys(name: string, keys: readonly string[]): Promise<void> {
    assertMayWrite(this.#options.tenure);
    await this.#use(name, (host) => host.sendKeys(name, keys));
  }

  async inputLimit(name: string): Promise<number | undefined> {
    return await this.#use(name, (host) => host.inputLimit(name));
  }

  async wake(name: string): Promise<void> {
    await this.#use(name, (host) => host.wake(name));
  }

  async clearScrollback(name: string): Promise<void> {
    await this.#use(name, (host) => host.clearScrollback(name));
  }

  async setMeta(name: string, key: string, value: string): Promise<void> {
    await this.#annotate(await this.#finder.present(name), name, setMetaChange(key, value));
  }

  async getMeta(name: string, key: string): Promise<string> {
    const pod = await this.#finder.find(name);
    return pod ? (metaOf(pod)[key] ?? '') : '';
  }

  async removeMeta(name: string, key: string): Promise<void> {
    const pod = await this.#finder.find(name);
    if (pod) await this.#annotate(pod, name, removeMetaChange(pod, key));
  }

  async attach(name: string): Promise<AttachPlan> {
    return await this.#use(name, (host) => host.attach(name));
  }

  watch(signal: AbortSignal): AsyncIterable<RuntimeEvent> {
    this.#informer.start();
    this.#screens.follow();
    return this.#events.watch(AbortSignal.any([signal, this.#lifetime.signal]));
  }

  /** Memory and processor of every session that the cluster measures; none where it has no metrics. */
  async usage(): Promise<ReadonlyMap<string, SessionUsage>> {
    const api = await this.#cluster();
    const metrics = await api.podMetrics(citySelector(this.#options.cityId));
    const inspected = await this.inspectAll();
    if (!metrics || inspected.kind !== 'seen') return new Map();
    const used = usageOf(metrics);
    const found = this.#finder.pods().flatMap(([name, pod]) => {
      const usage = used.get(pod.metadata.name);
      return usage ? [[name, usage] as const] : [];
    });
    return new Map(found);
  }

  setupEnv(): Readonly<Record<string, string>> {
    return {};
  }

  /** Ends the host of the streams when none is left in it. */
  async release(): Promise<void> {
    await this.#streams.host.release();
  }

  async close(): Promise<void> {
    this.#lifetime.abort(new RuntimeUnavailableError('the connection to the cluster was closed'));
    this.#informer.close();
    await this.#streams.host.close();
    const api = await this.#api?.catch(() => undefined); // it never came about
    api?.close();
  }

  #cluster(): Promise<KubeApi> {
    this.#api ??= openCluster(this.#options).catch((error: unknown) => {
      this.#api = undefined; // a kubeconfig that is not there may be there later
      throw error;
    });
    return this.#api;
  }

  async #use<T>(name: string, work: (host: HostBackend) => Promise<T>): Promise<T> {
    const pod = await this.#finder.living(name);
    return await this.#streams.use(name, pod, this.#lifetime.signal, work);
  }

  async #annotate(pod: Pod, name: string, change: ReturnType<typeof setMetaChange>): Promise<void> {
    const api = await this.#cluster();
    const changed = await api.annotatePod(pod.metadata.name, pod.metadata.uid, change);
    this.#finder.note(name, changed);
  }

  async #logOf(pod: Pod, lines: number): Promise<ScreenText> {
    const api = await this.#cluster();
    const wanted = lines > 0 ? lines : LOG_LINES;
    const text = plainLines(await api.podLog(pod.metadata.name, AGENT_CONTAINER, wanted));
    return {
      ...EMPTY_SCREEN,
      lines: text.at(-1) === '' ? text.slice(0, -1) : text,
      visibleRows: text.length,
    };
  }

  async #copyTo(name: string, source: string, relativeTarget: string, signal: AbortSignal): Promise<void> {
    const pod = await this.#finder.find(name);
    if (!pod) return;
    const to = {
      api: await this.#cluster(),
      pod: pod.metadata.name,
      container: AGENT_CONTAINER,
      ids: this.#options.ids,
      signal: AbortSignal.any([signal, this.#lifetime.signal]),
    };
    await copyToPod(to, source, metaOf(pod)['GC_DIR'] ?? WORKSPACE, relativeTarget);
  }
}

async function openCluster({
  target,
  settings,
  clock,
  tenure,
  openApi,
}: K8sBackendOptions): Promise<KubeApi> {
  const api = openApi
    ? await openApi(target, settings.namespace)
    : (await import('./api/http-kube-api.ts')).openKubeApi(target, settings.namespace, clock);
  return tenure ? withWriteRight(api, tenure) : api;
}
