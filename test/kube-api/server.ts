/**
 * A Kubernetes API server of one node for tests: it answers as a real one does and really runs the pods, as local
 * processes in namespaces of their own.
 *
 *   const api = await startKubeApi({ namespaces: ['gc'], images: ['agent:1'] });
 *   const file = api.writeKubeconfig(join(dir, 'kubeconfig'));       // bearer token, mode 0600
 *   api.requests.count({ verb: 'list', resource: 'pods' })           // every request is counted
 *   api.faults.add({ verb: 'watch', resource: 'pods' }, { kind: 'gone' }, 1)
 *   api.streams.matching({ resource: 'pods/attach' })[0]?.cut()      // an open stream, cut without a close frame
 *   api.access.forbid('create', 'pods')                              // 403 from now on; answers what gives it back
 *   api.podFolder('pod-1', '/workspace/x')                           // that file on this machine
 *   api.oomKill('pod-1'); api.evict('pod-1'); api.vanishNode(); api.deletePodByHand('pod-1')
 *   await api.close()
 *
 * As in a real cluster: process 1 of a container ignores TERM unless it handles it, so a delete takes its whole grace
 * period (`timing.secondMs` shortens the seconds); a terminal has size 0x0 until somebody who attaches tells one; an
 * exec over a WebSocket is `get pods/exec` to the access rules.
 */
import { rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PROTOCOLS, type Protocol } from './channels.ts';
import { Cluster } from './cluster.ts';
import { serveRequest, serveUpgrade } from './http.ts';
import { type KubeconfigOptions, kubeconfigText, writeOwnerOnly } from './kubeconfig.ts';
import { type PodProcess, processesOf } from './metrics.ts';
import type { Image, Timing, Unschedulable } from './node.ts';
import { makeScratch } from './scratch.ts';
import type { Pod } from './shapes.ts';

export interface KubeApiOptions {
  /** Default: `default` and `gc`. */
  readonly namespaces?: readonly string[];
  /** Names that can be pulled. Default: `agent:1`. */
  readonly images?: readonly string[] | Readonly<Record<string, Image>>;
  readonly secrets?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Folders of this machine that every container sees, read-only, under the same path. */
  readonly hostFolders?: readonly string[];
  readonly timing?: Partial<Timing>;
  /** So many events are kept for watches; an older version is answered 410. Default: 1,000. */
  readonly historyEvents?: number;
  /** Default: 60 s, as the real one's. */
  readonly bookmarkMs?: number;
  readonly protocols?: readonly Protocol[];
  readonly token?: string;
}

const OUTPUT_POLL_MS = 10;

export class KubeApi {
  readonly url: string;
  readonly token: string;
  readonly #cluster: Cluster;
  readonly #server: Server;
  readonly #folder: string;
  readonly #sockets: ReadonlySet<Socket>;

  constructor(parts: {
    cluster: Cluster;
    server: Server;
    folder: string;
    token: string;
    sockets: ReadonlySet<Socket>;
  }) {
    this.#cluster = parts.cluster;
    this.#server = parts.server;
    this.#folder = parts.folder;
    this.#sockets = parts.sockets;
    this.token = parts.token;
    const { port } = parts.server.address() as AddressInfo;
    this.url = `http://127.0.0.1:${port}`;
  }

  get requests(): Cluster['requests'] {
    return this.#cluster.requests;
  }
  get faults(): Cluster['faults'] {
    return this.#cluster.faults;
  }
  /** Watches, followed logs, execs and attaches that are open now. */
  get streams(): Cluster['streams'] {
    return this.#cluster.streams;
  }
  get access(): Cluster['access'] {
    return this.#cluster.access;
  }
  get timing(): Timing {
    return this.#cluster.node.timing;
  }

  kubeconfig(options: KubeconfigOptions = {}): string {
    return kubeconfigText({ server: this.url, token: this.token, ...options });
  }

  /** Answers the path. */
  writeKubeconfig(path: string, options: KubeconfigOptions = {}): string {
    writeOwnerOnly(path, this.kubeconfig(options));
    return path;
  }

  pods(): readonly Pod[] {
    return this.#cluster.pods.list(undefined);
  }

  pod(name: string): Pod | undefined {
    return this.#cluster.pods.findByName(name);
  }

  /** Resolves with the pod as soon as the test holds for it (`undefined`: it is gone). @throws Error when it takes too long */
  until(
    name: string,
    holds: (pod: Pod | undefined) => boolean,
    timeoutMs = 10_000,
  ): Promise<Pod | undefined> {
    return new Promise((resolve, reject) => {
      const check = (event?: { readonly object: Pod }) => {
        if (event && event.object.metadata.name !== name) return;
        const pod = this.pod(name);
        if (!holds(pod)) return;
        stop();
        clearTimeout(timer);
        resolve(pod);
      };
      const stop = this.#cluster.pods.onEvent(check);
      const timer = setTimeout(() => {
        stop();
        reject(new Error(`pod ${name} is not so: ${JSON.stringify(this.pod(name)?.status ?? 'gone')}`));
      }, timeoutMs);
      check();
    });
  }

  untilPhase(name: string, phase: Pod['status']['phase'], timeoutMs?: number): Promise<Pod | undefined> {
    return this.until(name, (pod) => pod?.status.phase === phase, timeoutMs);
  }

  /** The file on this machine behind a path in a container (default: the first one) of the newest pod of that name. */
  podFolder(name: string, path: string, container?: string): string {
    const { containers } = this.#cluster.node.newest(name);
    const spec = this.pod(name)?.spec.containers[0]?.name;
    const chosen = containers.get(container ?? spec ?? '') ?? [...containers.values()].at(-1);
    if (!chosen) throw new Error(`no container of pod ${name} was started yet`);
    return chosen.hostPath(path);
  }

  /** The living processes of a pod's containers, as this machine numbers them. */
  processes(name: string): readonly PodProcess[] {
    return processesOf(this.#cluster.node.newest(name));
  }

  /** Everything that the pod's container wrote. */
  output(name: string, container?: string): string {
    const { containers } = this.#cluster.node.newest(name);
    const chosen = container === undefined ? [...containers.values()].at(-1) : containers.get(container);
    const all = { tailLines: undefined, limitBytes: undefined, sinceMs: undefined };
    return chosen?.log.read(all).toString('utf8') ?? '';
  }

  /** @throws Error with what was written when it takes too long */
  async untilOutput(name: string, pattern: RegExp, timeoutMs = 10_000): Promise<void> {
    const deadline = Date.now() + timeoutMs;
    while (!pattern.test(this.output(name))) {
      if (Date.now() > deadline)
        throw new Error(`pod ${name} did not write ${pattern}: ${this.output(name)}`);
      await sleep(OUTPUT_POLL_MS);
    }
  }

  /** Kills the first process of a container as the kernel does when memory is out. */
  oomKill(name: string, container?: string): void {
    const { containers } = this.#cluster.node.newest(name);
    const chosen = container === undefined ? [...containers.values()].at(-1) : containers.get(container);
    if (!chosen?.running) throw new Error(`no such container of pod ${name} runs`);
    chosen.killForMemory();
  }

  /** The node puts the pod out: it stays as Failed, reason Evicted. */
  evict(name: string, message = 'The node was low on resource: memory.'): Promise<void> {
    return this.#cluster.node.newest(name).fail('Evicted', message);
  }

  /** `kubectl delete`, by somebody else. */
  deletePodByHand(name: string, graceSeconds = 0): void {
    const pod = this.pod(name);
    if (!pod) throw new Error(`there is no pod ${name}`);
    this.#cluster.deletePod(pod, graceSeconds);
  }

  /** The machine is gone with its processes; its pods are marked for deletion and stay, as nobody confirms it. */
  vanishNode(): void {
    this.#cluster.vanishNode();
  }

  /** A node for new pods again. */
  restoreNode(): void {
    this.#cluster.node.comeBack();
  }

  /** Matching pods find no node until the answered function is called. */
  stuckPending(
    which: (pod: Pod) => boolean,
    why: Unschedulable = {
      reason: 'Unschedulable',
      message: '0/1 nodes are available: 1 Insufficient memory.',
    },
  ): () => void {
    return this.#cluster.node.stick(which, why);
  }

  /** Every version before now is too old for a watch. */
  compact(): void {
    this.#cluster.pods.compact();
    this.#cluster.leases.compact();
  }

  /** What an exec or attach can be upgraded to from now on. */
  speak(...protocols: Protocol[]): void {
    this.#cluster.protocols = protocols;
  }

  /** Every connection is cut, as when the server restarts. Pods go on. */
  cutConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Nobody listens any more, and every connection is cut. Pods go on. */
  async goDown(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.cutConnections();
    await closed;
  }

  /** At the same address as before. */
  comeUp(): Promise<void> {
    return listen(this.#server, Number(new URL(this.url).port));
  }

  /** Ends every process of every pod and removes all folders. */
  async close(): Promise<void> {
    await this.#cluster.node.close();
    await this.goDown();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

export async function startKubeApi(options: KubeApiOptions = {}): Promise<KubeApi> {
  const { token = 'token-of-the-tests', images = ['agent:1'] } = options;
  const folder = makeScratch();
  const named = Array.isArray(images)
    ? images.map((name): [string, Image] => [name, {}])
    : Object.entries(images);
  const cluster = new Cluster({
    folder: join(folder, 'pods'),
    token,
    namespaces: options.namespaces ?? ['default', 'gc'],
    images: new Map(named),
    secrets: new Map(Object.entries(options.secrets ?? {})),
    hostFolders: options.hostFolders ?? [],
    timing: { scheduleMs: 0, pullMs: 0, secondMs: 1_000, ...options.timing },
    historyEvents: options.historyEvents ?? 1_000,
    bookmarkMs: options.bookmarkMs ?? 60_000,
    protocols: options.protocols ?? PROTOCOLS,
  });
  const server = createServer((message, response) => void serveRequest(cluster, message, response));
  server.on('upgrade', (message, socket, head) => void serveUpgrade(cluster, message, socket, head));
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await listen(server, 0);
  return new KubeApi({ cluster, server, folder, token, sockets });
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}
