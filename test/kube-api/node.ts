import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Secrets } from './pod-files.ts';
import { PodRunner } from './pod-runner.ts';
import { Reports } from './reports.ts';
import type { Pod, PodStatus } from './shapes.ts';
import { StatusError } from './status-error.ts';
import type { Collection } from './store.ts';

export interface Image {
  /** What runs when the manifest names no command. */
  readonly command?: readonly string[];
  /** Containers get an `/etc` of their own, where users can be added. Costs a copy of it. */
  readonly ownEtc?: boolean;
}

export interface Timing {
  scheduleMs: number;
  pullMs: number;
  /** How long a second of a grace period lasts here. */
  secondMs: number;
}

export interface NodeOptions {
  readonly folder: string;
  readonly pods: Collection<Pod>;
  readonly images: ReadonlyMap<string, Image>;
  readonly secrets: Secrets;
  readonly hostFolders: readonly string[];
  readonly timing: Timing;
}

export interface Unschedulable {
  readonly reason: string;
  readonly message: string;
}

const NODE_NAME = 'node-1';

/** The one machine of the cluster: schedules pods onto itself and runs them. */
export class Node {
  readonly folder: string;
  readonly reports: Reports;
  readonly secrets: Secrets;
  readonly hostFolders: readonly string[];
  readonly timing: Timing;
  /** By pod uid; they stay after their pod is gone, so that a test can look at what it left. */
  readonly runners = new Map<string, PodRunner>();
  readonly #pods: Collection<Pod>;
  readonly #images: ReadonlyMap<string, Image>;
  readonly #stuck = new Set<{ readonly which: (pod: Pod) => boolean; readonly why: Unschedulable }>();
  #lost = false;
  #closed = false;

  constructor(options: NodeOptions) {
    this.folder = options.folder;
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    this.#pods = options.pods;
    this.#images = options.images;
    this.secrets = options.secrets;
    this.hostFolders = options.hostFolders;
    this.timing = options.timing;
    this.reports = new Reports(join(options.folder, 'reports'));
  }

  get lost(): boolean {
    return this.#lost;
  }

  image(name: string): Image | undefined {
    return this.#images.get(name);
  }

  run(pod: Pod): void {
    this.runners.set(pod.metadata.uid, new PodRunner(pod, this));
  }

  runnerOf(pod: Pod): PodRunner {
    const runner = this.runners.get(pod.metadata.uid);
    if (!runner) throw new Error(`pod ${pod.metadata.name} has no runner`);
    return runner;
  }

  /** The newest pod of a name, gone or not. @throws Error when there was none */
  newest(name: string): PodRunner {
    const runner = [...this.runners.values()].filter((one) => one.name === name).at(-1);
    if (!runner) throw new Error(`there was never a pod ${name}`);
    return runner;
  }

  unschedulable(pod: Pod): Unschedulable | undefined {
    const stuck = [...this.#stuck].find((one) => one.which(pod));
    if (stuck) return stuck.why;
    if (!this.#lost) return undefined;
    const message =
      '0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/unreachable: }.';
    return { reason: 'Unschedulable', message };
  }

  stick(which: (pod: Pod) => boolean, why: Unschedulable): () => void {
    const entry = { which, why };
    this.#stuck.add(entry);
    return () => this.#stuck.delete(entry);
  }

  assign(runner: PodRunner): void {
    this.#change(runner, (pod) => ({ ...pod, spec: { ...pod.spec, nodeName: NODE_NAME } }));
  }

  /** Writes what the node knows, as long as the cluster still hears of the node and the pod is the same one. */
  publish(runner: PodRunner, status: (pod: Pod) => PodStatus): void {
    this.#change(runner, (pod) => ({ ...pod, status: status(pod) }));
  }

  /**
   * Ends a pod as `kubectl delete` does: TERM, the grace period, KILL, then the object goes. With no grace, the object
   * goes at once. A node that is lost confirms nothing: the object stays.
   */
  terminate(pod: Pod, graceSeconds: number): void {
    const runner = this.runnerOf(pod);
    const { namespace, name, uid } = pod.metadata;
    runner.stop(graceSeconds * this.timing.secondMs);
    if (graceSeconds === 0) {
      this.#pods.remove(namespace, name, { uid });
      return;
    }
    void runner.done.then(() => {
      if (this.#lost || this.#closed) return;
      if (this.#pods.find(namespace, name)?.metadata.uid === uid) this.#pods.remove(namespace, name);
    });
  }

  /** The machine is gone, with every process on it; nothing of that is confirmed to the cluster. */
  vanish(): void {
    const message = `Node ${NODE_NAME} which was running pod is unresponsive`;
    const onIt = [...this.runners.values()].filter((runner) => runner.facts.scheduled);
    for (const runner of onIt) runner.loseNode(message);
    this.#lost = true;
    for (const runner of onIt) runner.stop(0);
  }

  comeBack(): void {
    this.#lost = false;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const runner of this.runners.values()) runner.stop(0);
    await Promise.all([...this.runners.values()].map((runner) => runner.done));
    this.reports.close();
  }

  #change(runner: PodRunner, change: (pod: Pod) => Pod): void {
    if (this.#lost) return;
    const { namespace, name, uid } = runner;
    try {
      this.#pods.update(namespace, name, change, { uid });
    } catch (error) {
      if (error instanceof StatusError) return; // another pod of that name, or none: nobody asks any more
      throw error;
    }
  }
}
