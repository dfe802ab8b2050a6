import { createHash } from 'node:crypto';
import type { Clock } from '../../../platform/clock.ts';
import { codeOf, GcError } from '../../../platform/errors.ts';
import type { AgentProcess, StreamCallbacks } from '../../host/agent-process.ts';
import type { TerminalSize } from '../../provider.ts';
import type { ClusterAccess } from '../api/cluster-access.ts';
import type { AttachedContainer } from '../channel/open-attach.ts';
import { AcknowledgedInput } from './acknowledged-input.ts';
import { SeenOutput } from './catch-up.ts';
import type { ConnectGate } from './connect-gate.ts';
import { connectToPod, type PodConnection, PodOverError } from './connect-to-pod.ts';
import type { PodIdentity } from './pod-look.ts';

/** Before a connection is tried again: from the first to the last, doubling, each jittered to between a half and the whole of it. */
const RETRY_FIRST_MS = 500;
const RETRY_LAST_MS = 30_000;
/** A connection that lasted this long was a good one: the next break begins with the first pause again. */
const GOOD_CONNECTION_MS = 30_000;
/** What a screen is continued from. */
const SEEN_BYTES = 65_536;
/** Between the two changes of size that make a full-screen program draw itself anew. */
const REDRAW_PAUSE_MS = 60;

/** Codes of failures that are the cluster's or the way to it, not this pod's. */
const AWAY: ReadonlySet<string> = new Set(['k8s-unavailable', 'k8s-timeout']);

export interface PodStreamParts {
  readonly access: ClusterAccess;
  readonly gate: ConnectGate;
  readonly pod: PodIdentity;
  readonly size: TerminalSize;
  readonly callbacks: StreamCallbacks;
  readonly clock: Clock;
  /** It will not connect any more. */
  readonly onReleased: () => void;
}

/**
 * One pod's terminal. Connects at most once at a time, again and again until the pod is over or the stream is released;
 * each time the screen is brought up to what the pod's log has, then the program is made to draw itself anew.
 */
export class PodStream implements AgentProcess {
  readonly pid = 0;
  readonly terminal = true;
  readonly terminalPath = undefined;
  readonly #parts: PodStreamParts;
  readonly #lifetime = new AbortController();
  readonly #input = new AcknowledgedInput();
  readonly #seen = new SeenOutput(SEEN_BYTES);
  #size: TerminalSize;
  #attached: AttachedContainer | undefined;
  #paused = false;

  constructor(parts: PodStreamParts) {
    this.#parts = parts;
    this.#size = { columns: parts.size.columns, rows: parts.size.rows };
  }

  /** The first connection. @throws as `connectToPod`; nothing is left then */
  async begin(): Promise<void> {
    try {
      const first = await this.#connect();
      this.#keepConnected(first).catch(() => this.release()); // it was released, which ends every wait
    } catch (error) {
      this.release();
      throw error;
    }
  }

  writeSome(bytes: Buffer): number {
    return this.#input.writeSome(bytes);
  }

  resize(columns: number, rows: number): void {
    this.#size = { columns, rows };
    this.#attached?.resize(this.#size);
  }

  pauseOutput(): void {
    this.#paused = true;
    this.#attached?.pause();
  }

  resumeOutput(): void {
    this.#paused = false;
    this.#attached?.resume();
  }

  release(): void {
    if (this.#lifetime.signal.aborted) return;
    this.#lifetime.abort(new GcError('k8s-released', 'the stream was released'));
    this.#attached?.close();
    this.#letGo();
    this.#parts.onReleased();
  }

  async #keepConnected(first: PodConnection): Promise<void> {
    const { clock, pod, callbacks } = this.#parts;
    let connection: PodConnection | undefined = first;
    for (let tries = 0; ; tries += 1) {
      const since = clock.monotonic();
      if (connection) {
        await connection.broken;
        this.#letGo();
        if (clock.monotonic() - since >= GOOD_CONNECTION_MS) tries = 0;
      }
      await clock.sleep(pauseBefore(tries, pod.uid), this.#lifetime.signal);
      try {
        connection = await this.#connect();
      } catch (error) {
        this.#lifetime.signal.throwIfAborted();
        connection = undefined;
        if (!(error instanceof PodOverError)) continue;
        callbacks.onOutputEnd();
        // How it ended is not known here: whoever follows the pods tells it.
        callbacks.onExit({ reason: error.message });
        return;
      }
    }
  }

  async #connect(): Promise<PodConnection> {
    const { signal } = this.#lifetime;
    const pass = await this.#parts.gate.enter(signal);
    try {
      const connection = await connectToPod(this.#connectParts(), signal);
      pass.done('reached');
      this.#attached = connection.attached;
      this.#input.connect(connection.attached);
      if (this.#paused) connection.attached.pause();
      this.#redraw(connection.attached).catch(() => undefined); // released meanwhile
      return connection;
    } catch (error) {
      pass.done(AWAY.has(codeOf(error) ?? '') ? 'unreachable' : 'reached');
      throw error;
    }
  }

  #connectParts() {
    const { access, pod, clock, callbacks } = this.#parts;
    return {
      access,
      pod,
      clock,
      seen: this.#seen,
      replay: (bytes: Buffer) => {
        this.#seen.add(bytes);
        callbacks.onReplay(bytes);
      },
      output: (bytes: Buffer) => {
        this.#seen.add(bytes);
        callbacks.onOutput(bytes);
      },
    };
  }

  #letGo(): void {
    this.#attached = undefined;
    this.#input.connect(undefined);
  }

  async #redraw(attached: AttachedContainer): Promise<void> {
    const { columns, rows } = this.#size;
    attached.resize({ columns, rows: Math.max(1, rows - 1) });
    await this.#parts.clock.sleep(REDRAW_PAUSE_MS, this.#lifetime.signal);
    attached.resize(this.#size);
  }
}

/** Jittered by the pod, so that streams that broke together do not come back together. */
export function pauseBefore(tries: number, uid: string): number {
  const whole = Math.min(RETRY_LAST_MS, RETRY_FIRST_MS * 2 ** Math.min(tries, 16));
  const share = createHash('sha256').update(`${uid}:${tries}`).digest().readUInt32BE(0) / 2 ** 32;
  return Math.round(whole * (0.5 + share / 2));
}
