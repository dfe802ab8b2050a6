import type { Clock } from '../../platform/clock.ts';
import type { ExitInfo, RuntimeEvent } from '../provider.ts';
import type { BackendSession } from '../terminal/backend.ts';
import type { Pod } from './api/pod.ts';
import { ANNOTATION_STOPPED } from './manifest.ts';
import { metaOf } from './pod-meta.ts';
import { createdAt, exitOfDeleted, isDeleting, podState, sessionOf } from './pod-state.ts';

export interface PodSessionsOptions {
  readonly cityId: string;
  readonly clock: Clock;
  /** A pod that has not begun its agent by this age, and that nobody prepares, is a corpse. */
  readonly startupGraceMs: number;
  /** Is being prepared by this process. */
  readonly isPreparing: (uid: string) => boolean;
  /** Finds the last lines of a pod that ended, in a bounded time; `undefined`: what its status carries has to do. */
  readonly lastLines: ((name: string, pod: Pod, message: string) => Promise<string>) | undefined;
  readonly emit: (event: RuntimeEvent) => void;
}

/** How a session ended, and its last lines once they were found. */
interface Ending {
  readonly exit: ExitInfo;
  lastLines: string | undefined;
}

/** What is known of attached people and of output, which the cluster does not know. */
export interface ScreenFacts {
  readonly attached: number;
  readonly lastActivity: number | undefined;
}

const NO_FACTS: ScreenFacts = { attached: 0, lastActivity: undefined };

/**
 * Pods as sessions, in memory. An end is told once its last lines were found; a pod that somebody deleted is kept in
 * mind until its session is started or stopped, so that the reason is not lost with it.
 */
export class PodSessions {
  readonly #options: PodSessionsOptions;
  readonly #pods = new Map<string, Map<string, Pod>>();
  readonly #endings = new Map<string, Ending>();
  readonly #deleted = new Map<string, { readonly pod: Pod; readonly ending: Ending }>();
  readonly #ending = new Set<string>();
  readonly #facts = new Map<string, ScreenFacts>();
  readonly #described = new WeakMap<Pod, Pick<BackendSession, 'meta'>>();

  constructor(options: PodSessionsOptions) {
    this.#options = options;
  }

  /** What the informer tells. */
  onChange(before: Pod | undefined, after: Pod | undefined): void {
    const pod = after ?? before;
    const name = pod && sessionOf(pod, this.#options.cityId);
    if (!pod || name === undefined) return;
    const { uid } = pod.metadata;
    if (after) {
      const pods = this.#pods.get(name) ?? new Map<string, Pod>();
      this.#pods.set(name, pods.set(uid, after));
      this.#deleted.delete(name);
      this.#noteEnd(name, after);
      if (before && noteOf(before) !== noteOf(after)) this.#options.emit({ kind: 'changed', name });
      return;
    }
    this.#remove(name, pod);
  }

  /** Our own hands end it: nothing is to be told of that. */
  expectEnd(uid: string): void {
    this.#ending.add(uid);
  }

  notExpected(uid: string): void {
    this.#ending.delete(uid);
  }

  /** The session was stopped or started anew: what its last life left is not of interest any more. */
  forget(name: string): void {
    this.#deleted.delete(name);
    this.#facts.delete(name);
  }

  noteFacts(name: string, facts: ScreenFacts): void {
    this.#facts.set(name, facts);
  }

  noteActivity(name: string): void {
    const { attached } = this.#facts.get(name) ?? NO_FACTS;
    this.#facts.set(name, { attached, lastActivity: this.#options.clock.now() });
  }

  get names(): readonly string[] {
    return [...new Set([...this.#pods.keys(), ...this.#deleted.keys()])];
  }

  podsOf(name: string): readonly Pod[] {
    return [...(this.#pods.get(name)?.values() ?? [])];
  }

  /** The one that stands for the session: a living one before one that goes, the youngest first. */
  podOf(name: string): Pod | undefined {
    return mainPod(this.podsOf(name));
  }

  session(name: string): BackendSession | undefined {
    const pod = this.podOf(name);
    if (pod) return this.#describe(name, pod);
    const deleted = this.#deleted.get(name);
    if (!deleted) return undefined;
    return { ...this.#base(name, deleted.pod), state: stateOfEnding(deleted.ending) };
  }

  all(): ReadonlyMap<string, BackendSession> {
    const sessions = new Map<string, BackendSession>();
    for (const name of this.names) {
      const session = this.session(name);
      if (session) sessions.set(name, session);
    }
    return sessions;
  }

  #describe(name: string, pod: Pod): BackendSession {
    const base = this.#base(name, pod);
    const ending = this.#endings.get(pod.metadata.uid);
    if (ending) return { ...base, state: stateOfEnding(ending) };
    const state = podState(pod);
    if (state.kind === 'dead') return { ...base, state: { ...state, lastLines: state.message } };
    if (state.kind === 'alive') {
      return { ...base, state: ALIVE, ...(state.note === undefined ? {} : { note: state.note }) };
    }
    if (this.isAbandoned(pod)) {
      const exit: ExitInfo = { reason: `its agent never began: ${state.note}` };
      return { ...base, state: { kind: 'dead', exit, lastLines: '' } };
    }
    return { ...base, state: ALIVE, note: state.note, initializing: true };
  }

  /** Nobody prepares it, and it has had its time. */
  isAbandoned(pod: Pod): boolean {
    if (this.#options.isPreparing(pod.metadata.uid)) return false;
    return this.#options.clock.now() - createdAt(pod) > this.#options.startupGraceMs;
  }

  #base(name: string, pod: Pod) {
    let described = this.#described.get(pod);
    if (!described) {
      described = { meta: metaOf(pod) };
      this.#described.set(pod, described);
    }
    const { attached, lastActivity } = this.#facts.get(name) ?? NO_FACTS;
    return { name, attached, lastActivity, processNames: undefined, meta: described.meta };
  }

  #noteEnd(name: string, pod: Pod): void {
    const { uid } = pod.metadata;
    if (this.#endings.has(uid)) return;
    const state = podState(pod);
    if (state.kind === 'dead')
      this.#end(name, pod, { exit: state.exit, lastLines: undefined }, state.message);
  }

  #end(name: string, pod: Pod, ending: Ending, message: string): void {
    const { uid } = pod.metadata;
    this.#endings.set(uid, ending);
    const silent = this.#ending.has(uid) || pod.metadata.annotations?.[ANNOTATION_STOPPED] !== undefined;
    const tell = (lastLines: string) => {
      ending.lastLines = lastLines;
      if (!silent && !this.#ending.has(uid))
        this.#options.emit({ kind: 'exited', name, exit: ending.exit, lastLines });
    };
    const { lastLines } = this.#options;
    if (silent || !lastLines) tell(message);
    else lastLines(name, pod, message).then(tell, () => tell(message));
  }

  #remove(name: string, pod: Pod): void {
    const { uid } = pod.metadata;
    const pods = this.#pods.get(name);
    pods?.delete(uid);
    if (pods?.size === 0) this.#pods.delete(name);
    const known = this.#endings.get(uid);
    this.#endings.delete(uid);
    const byUs = this.#ending.delete(uid) || pod.metadata.annotations?.[ANNOTATION_STOPPED] !== undefined;
    // An end that was told, and a pod beside another one of the session, leave nothing to tell.
    if (byUs || known?.lastLines !== undefined || this.#pods.has(name)) return;
    if (known) {
      this.#deleted.set(name, { pod, ending: known });
      return;
    }
    const ending: Ending = { exit: exitOfDeleted(pod), lastLines: undefined };
    this.#deleted.set(name, { pod, ending });
    this.#end(name, pod, ending, '');
    this.#endings.delete(uid);
  }
}

const ALIVE: BackendSession['state'] = { kind: 'alive', pid: 0 };

/** Until its last lines were found, which takes a bounded time, an end is not told. */
function stateOfEnding({ exit, lastLines }: Ending): BackendSession['state'] {
  return lastLines === undefined ? ALIVE : { kind: 'dead', exit, lastLines };
}

export function mainPod(pods: readonly Pod[]): Pod | undefined {
  return [...pods].sort(
    (a, b) => Number(isDeleting(a)) - Number(isDeleting(b)) || createdAt(b) - createdAt(a),
  )[0];
}

function noteOf(pod: Pod): string {
  const state = podState(pod);
  return state.kind === 'dead' ? '' : (state.note ?? '');
}
