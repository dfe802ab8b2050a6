import { GcError } from '../../platform/errors.ts';
import { KeyedMutex } from '../../platform/keyed-mutex.ts';
import { RuntimeUnavailableError, SessionExistsError, SessionNotFoundError } from '../errors.ts';
import type { WireLaunch } from '../host/protocol.ts';
import type { HostBackend } from '../subprocess/host-backend.ts';
import type { BackendSession } from '../terminal/backend.ts';
import { TERMINAL_COLUMNS, TERMINAL_ROWS } from '../terminal/launch.ts';
import type { ClusterTarget } from './api/cluster-target.ts';
import type { Pod } from './api/pod.ts';
import { AGENT_CONTAINER } from './manifest.ts';

/** Kept with a stream: whose it is. A pod that was replaced has another. */
const POD_UID = 'GC_POD_UID';
const OPEN_ATTEMPTS = 3;

/**
 * The streams to the terminals of pods, in a session host: opened when somebody needs one, and anew when the host died.
 * A host that dies takes no pod with it.
 */
export class PodStreams {
  readonly host: HostBackend;
  readonly #target: ClusterTarget;
  readonly #namespace: string;
  /** Session -> uid of the pod that it is known to lead to. */
  readonly #open = new Map<string, string>();
  readonly #perName = new KeyedMutex();

  constructor(host: HostBackend, target: ClusterTarget, namespace: string) {
    this.host = host;
    this.#target = target;
    this.#namespace = namespace;
  }

  isOpen(name: string, uid: string): boolean {
    return this.#open.get(name) === uid;
  }

  /** What the host said of all of them: those that it does not have must be opened anew. */
  noteAll(sessions: ReadonlyMap<string, BackendSession>): void {
    for (const [name, uid] of this.#open) {
      if (sessions.get(name)?.meta[POD_UID] !== uid) this.#open.delete(name);
    }
  }

  /** Does something with the stream to the pod's terminal. @throws SessionNotFoundError when the terminal is not there */
  async use<T>(
    name: string,
    pod: Pod,
    signal: AbortSignal,
    work: (host: HostBackend) => Promise<T>,
  ): Promise<T> {
    await this.ensure(name, pod, signal);
    try {
      return await work(this.host);
    } catch (error) {
      if (!(error instanceof SessionNotFoundError)) throw error;
      this.#open.delete(name);
      await this.ensure(name, pod, signal);
      return await work(this.host);
    }
  }

  async ensure(name: string, pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    if (this.isOpen(name, uid)) return;
    await this.#perName.run(name, async () => {
      for (let attempt = 1; !this.isOpen(name, uid); attempt += 1) {
        try {
          await this.#openOnce(name, pod, signal);
        } catch (error) {
          if (isOver(error)) throw new SessionNotFoundError(name);
          // Another process opened it at the same moment.
          if (!(error instanceof GcError && error.code === EXISTS) || attempt === OPEN_ATTEMPTS) throw error;
        }
      }
    });
  }

  /** The host's own view of a stream, `undefined` when it has none to this pod. */
  async look(name: string, uid: string): Promise<BackendSession | undefined> {
    const found = await this.host.inspect(name);
    if (found.kind !== 'present' || found.session.meta[POD_UID] !== uid) return undefined;
    return found.session;
  }

  async drop(name: string): Promise<void> {
    this.#open.delete(name);
    await this.host.kill(name, 0);
  }

  async #openOnce(name: string, pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    const found = await this.host.inspect(name);
    if (found.kind === 'unknown') throw new RuntimeUnavailableError(found.reason);
    if (found.kind === 'present') {
      if (found.session.meta[POD_UID] === uid && found.session.state.kind === 'alive') {
        this.#open.set(name, uid);
        return;
      }
      await this.host.kill(name, 0);
    }
    await this.host.open(name, this.#launch(pod), signal);
    this.#open.set(name, uid);
  }

  #launch(pod: Pod): WireLaunch {
    const { name, uid } = pod.metadata;
    return {
      argv: [],
      cwd: '/',
      env: { [POD_UID]: uid },
      pty: true,
      columns: TERMINAL_COLUMNS,
      rows: TERMINAL_ROWS,
      remote: {
        driver: 'kubernetes',
        target: {
          ...this.#target,
          namespace: this.#namespace,
          pod: name,
          uid,
          container: AGENT_CONTAINER,
        },
      },
    };
  }
}

const EXISTS = new SessionExistsError('').code;

/** There is no terminal to connect to: the pod is over, or does not run yet. */
function isOver(error: unknown): boolean {
  return (
    error instanceof GcError && ['k8s-pod-over', 'k8s-not-running', 'k8s-not-found'].includes(error.code)
  );
}
