import { join } from 'node:path';
import { Container } from './container.ts';
import type { Node } from './node.ts';
import { argvOf, environmentOf, makeVolumes, mountsOf, NotYet } from './pod-files.ts';
import { type PodFacts, statusOf } from './pod-status.ts';
import { type ContainerSpec, type ContainerState, type Pod, timestamp } from './shapes.ts';

/** Between two tries to get what a pod still lacks (an image, a secret). */
const RETRY_MS = 200;

/** Runs one pod on the node: what a kubelet does. Its status is written whenever a fact changes. */
export class PodRunner {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly folder: string;
  readonly containers = new Map<string, Container>();
  readonly #node: Node;
  readonly #stopped: Promise<void>;
  #tellStopped: () => void = () => {};
  #facts: PodFacts = {
    scheduled: false,
    unschedulable: undefined,
    startedAt: undefined,
    states: new Map(),
    failed: undefined,
    nodeLost: undefined,
  };
  #killTimer: NodeJS.Timeout | undefined;
  #stopping = false;
  /** Resolves when no process of it is left and none will start. */
  readonly done: Promise<void>;

  constructor(pod: Pod, node: Node) {
    this.#node = node;
    this.uid = pod.metadata.uid;
    this.namespace = pod.metadata.namespace;
    this.name = pod.metadata.name;
    this.folder = join(node.folder, this.uid);
    this.#stopped = new Promise((resolve) => {
      this.#tellStopped = resolve;
    });
    this.done = this.#run(pod);
  }

  get facts(): PodFacts {
    return this.#facts;
  }

  get running(): readonly Container[] {
    return [...this.containers.values()].filter((container) => container.running);
  }

  /** TERM now, KILL when the time is over. A later call can only make it shorter. */
  stop(graceMs: number): void {
    const first = !this.#stopping;
    this.#stopping = true;
    this.#tellStopped();
    if (first && graceMs > 0) for (const one of this.containers.values()) one.signal('SIGTERM');
    clearTimeout(this.#killTimer);
    const kill = () => {
      for (const one of this.containers.values()) one.signal('SIGKILL');
    };
    if (graceMs <= 0) kill();
    else this.#killTimer = setTimeout(kill, graceMs);
  }

  /** The node ends the pod for a reason of its own: it stays as Failed. */
  fail(reason: string, message: string): Promise<void> {
    this.#note({ failed: { reason, message } });
    this.stop(0);
    return this.done;
  }

  loseNode(message: string): void {
    this.#note({ nodeLost: message });
  }

  async #run(pod: Pod): Promise<void> {
    try {
      if (!(await this.#schedule(pod))) return;
      const volumes = await this.#until(
        () => makeVolumes(pod, this.folder, this.#node.secrets),
        pod.spec.containers[0],
      );
      if (!volumes) return;
      for (const spec of pod.spec.initContainers ?? []) {
        const container = await this.#start(pod, spec, volumes);
        const end = await container?.ended;
        if (end?.exitCode !== 0) return;
      }
      const main = await Promise.all(pod.spec.containers.map((spec) => this.#start(pod, spec, volumes)));
      await Promise.all(main.map((container) => container?.ended));
    } finally {
      clearTimeout(this.#killTimer);
    }
  }

  async #schedule(pod: Pod): Promise<boolean> {
    await this.#pause(this.#node.timing.scheduleMs);
    for (;;) {
      if (this.#stopping) return false;
      const unschedulable = this.#node.unschedulable(pod);
      if (!unschedulable) break;
      this.#note({ unschedulable });
      await this.#pause(RETRY_MS);
    }
    this.#node.assign(this);
    this.#note({ scheduled: true, unschedulable: undefined, startedAt: timestamp() });
    return true;
  }

  /** Resolves when the container runs or has ended; `undefined` when the pod was stopped before. */
  async #start(
    pod: Pod,
    spec: ContainerSpec,
    volumes: ReadonlyMap<string, string>,
  ): Promise<Container | undefined> {
    if (!(await this.#pull(spec))) return undefined;
    const env = await this.#until(() => environmentOf(pod, spec, this.#node.secrets), spec);
    if (!env) return undefined;
    const image = this.#node.image(spec.image);
    const id = `${this.uid}/${spec.name}`;
    const container = new Container({
      id,
      folder: join(this.folder, 'containers', spec.name),
      spec,
      mounts: mountsOf(spec, volumes, this.#node.hostFolders),
      env,
      argv: argvOf(spec, image?.command ?? ['/bin/sh'], env),
      hostName: this.name,
      ownEtc: image?.ownEtc === true,
      reportTo: this.#node.reports.path,
      entered: this.#node.reports.expect(id),
    });
    this.containers.set(spec.name, container);
    const startedAt = timestamp();
    try {
      await container.start();
    } catch (error) {
      this.#state(spec, { waiting: { reason: 'CreateContainerError', message: String(error) } });
      await this.#stopped;
      return undefined;
    }
    if (container.running) this.#state(spec, { running: { startedAt } });
    // It may have been told to stop while it started.
    if (this.#stopping) container.signal('SIGKILL');
    void container.ended.then(({ exitCode, reason, message }) => {
      const said = message === undefined ? {} : { message };
      const finishedAt = timestamp();
      this.#state(spec, { terminated: { exitCode, reason, ...said, startedAt, finishedAt } });
    });
    return container;
  }

  async #pull(spec: ContainerSpec): Promise<boolean> {
    await this.#pause(this.#node.timing.pullMs);
    for (let tries = 0; !this.#stopping; tries += 1) {
      if (this.#node.image(spec.image)) return true;
      const pull = `failed to pull and unpack image "${spec.image}": failed to resolve reference "${spec.image}": not found`;
      const waiting =
        tries % 2 === 0
          ? { reason: 'ErrImagePull', message: pull }
          : {
              reason: 'ImagePullBackOff',
              message: `Back-off pulling image "${spec.image}": ErrImagePull: ${pull}`,
            };
      this.#state(spec, { waiting });
      await this.#pause(RETRY_MS);
    }
    return false;
  }

  /** Tries until it can be had; `undefined` when the pod was stopped before. */
  async #until<T>(make: () => T, spec: ContainerSpec | undefined): Promise<T | undefined> {
    while (!this.#stopping) {
      try {
        return make();
      } catch (error) {
        if (!(error instanceof NotYet)) throw error;
        const { reason, message } = error;
        if (spec)
          this.#state(spec, { waiting: { reason, ...(reason === 'ContainerCreating' ? {} : { message }) } });
        await this.#pause(RETRY_MS);
      }
    }
    return undefined;
  }

  /** Ends early when the pod is told to stop. */
  async #pause(ms: number): Promise<void> {
    if (ms <= 0 || this.#stopping) return;
    let timer: NodeJS.Timeout | undefined;
    const over = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    await Promise.race([over, this.#stopped]);
    clearTimeout(timer);
  }

  #state(spec: ContainerSpec, state: ContainerState): void {
    this.#note({ states: new Map([...this.#facts.states, [spec.name, state]]) });
  }

  #note(change: Partial<PodFacts>): void {
    this.#facts = { ...this.#facts, ...change };
    this.#node.publish(this, (pod) => statusOf(pod, this.#facts, pod.status));
  }
}
