import type { Clock } from '../../../platform/clock.ts';
import { GcError } from '../../../platform/errors.ts';
import type { ClusterAccess } from '../api/cluster-access.ts';
import { type AttachedContainer, openAttach } from '../channel/open-attach.ts';
import { catchUp, type SeenOutput } from './catch-up.ts';
import { logTail, lookAtPod, type PodIdentity } from './pod-look.ts';

/** Output that came before the log was read. Above this the connection is not read until it was. */
const HELD_BYTES = 1_048_576;

export interface ConnectParts {
  readonly access: ClusterAccess;
  readonly pod: PodIdentity;
  readonly clock: Clock;
  /** What the screen was given before. */
  readonly seen: SeenOutput;
  /** Output of before, to be shown and not answered. */
  readonly replay: (bytes: Buffer) => void;
  readonly output: (bytes: Buffer) => void;
}

export interface PodConnection {
  readonly attached: AttachedContainer;
  /** Resolves when it is over, whoever ended it. */
  readonly broken: Promise<void>;
}

/** The pod is over, or is another: there is nothing to connect to, now or later. */
export class PodOverError extends GcError {
  constructor(pod: PodIdentity, why: string) {
    super('k8s-pod-over', `pod ${pod.namespace}/${pod.pod}: ${why}`);
  }
}

/**
 * Looks whether it is the pod, attaches to its terminal, and brings the screen up to now from its log: attaching first
 * loses nothing that is written in between, and what both tell is shown once.
 * @throws PodOverError; ChannelError; KubeError; GcError `k8s-not-running`; the signal's reason
 */
export async function connectToPod(parts: ConnectParts, signal: AbortSignal): Promise<PodConnection> {
  const { access, pod, clock } = parts;
  const state = await lookAtPod(access, pod, signal);
  if (state.kind === 'over') throw new PodOverError(pod, state.why);
  if (state.kind === 'waiting') {
    throw new GcError('k8s-not-running', `pod ${pod.namespace}/${pod.pod} does not run yet: ${state.why}`);
  }
  const live = new HeldOutput(parts.output);
  let over: () => void = () => undefined;
  const broken = new Promise<void>((resolve) => {
    over = resolve;
  });
  const attached = await openAttach(
    access,
    pod,
    { onOutput: (bytes) => live.add(bytes), onEnd: () => over() },
    clock,
    signal,
  );
  live.throttle(attached);
  try {
    // A log that cannot be read only costs what was before.
    const log = await logTail(access, pod, signal).catch(() => undefined);
    signal.throwIfAborted();
    if (log) {
      const { replay } = catchUp(parts.seen.end(), log.bytes, log.cut, live.held());
      if (replay.length > 0) parts.replay(replay);
    }
    live.release();
  } catch (error) {
    attached.close();
    throw error;
  }
  return { attached, broken };
}

/** Keeps the output until the screen is ready for it. */
class HeldOutput {
  readonly #output: (bytes: Buffer) => void;
  #held: Buffer[] | undefined = [];
  #length = 0;
  #attached: AttachedContainer | undefined;

  constructor(output: (bytes: Buffer) => void) {
    this.#output = output;
  }

  throttle(attached: AttachedContainer): void {
    this.#attached = attached;
    if (this.#length > HELD_BYTES) attached.pause();
  }

  add(bytes: Buffer): void {
    if (!this.#held) {
      this.#output(bytes);
      return;
    }
    this.#held.push(bytes);
    this.#length += bytes.length;
    if (this.#length > HELD_BYTES) this.#attached?.pause();
  }

  held(): Buffer {
    return Buffer.concat(this.#held ?? []);
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const bytes of held) this.#output(bytes);
    if (this.#length > HELD_BYTES) this.#attached?.resume();
  }
}
