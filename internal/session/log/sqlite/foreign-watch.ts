import { type FSWatcher, watch } from 'node:fs';
import type { Clock } from '../../../platform/clock.ts';

/** A file that is being written is looked at this often. Costs one header read, and only while somebody follows. */
const WRITTEN_POLL_MS = 4;
/** A commit shows up at most this long after its writer's first write: it waits for the disk. */
const WRITTEN_FOR_MS = 1_000;
/** Nothing is written: a look now and then, should the notice of a write be lost. */
const QUIET_POLL_MS = 500;
/** Where the system gives no notice of writes. */
const BLIND_POLL_MS = 10;

/** Sees what other connections commit to a database in WAL mode. */
export class ForeignWatch {
  readonly #clock: Clock;
  readonly #walFile: string;
  readonly #version: () => number;
  readonly #changed: () => void;
  #lifetime: AbortController | undefined;

  constructor(parts: {
    readonly clock: Clock;
    readonly walFile: string;
    /** Changes when another connection has committed. */
    readonly version: () => number;
    readonly changed: () => void;
  }) {
    this.#clock = parts.clock;
    this.#walFile = parts.walFile;
    this.#version = parts.version;
    this.#changed = parts.changed;
  }

  start(): void {
    if (this.#lifetime) return;
    this.#lifetime = new AbortController();
    void this.#run(this.#lifetime.signal);
  }

  stop(): void {
    this.#lifetime?.abort();
    this.#lifetime = undefined;
  }

  async #run(signal: AbortSignal): Promise<void> {
    let writtenUntil = 0;
    let nap: AbortController | undefined;
    const watcher = this.#watchFile(() => {
      writtenUntil = this.#clock.monotonic() + WRITTEN_FOR_MS;
      nap?.abort();
    });
    signal.addEventListener('abort', () => nap?.abort(), { once: true });
    let known = this.#look();
    while (!signal.aborted) {
      const quiet = this.#clock.monotonic() >= writtenUntil;
      nap = quiet ? new AbortController() : undefined;
      const wait = !watcher ? BLIND_POLL_MS : quiet ? QUIET_POLL_MS : WRITTEN_POLL_MS;
      await this.#clock.sleep(wait, nap?.signal ?? signal).catch(() => undefined);
      if (signal.aborted) break;
      const seen = this.#look();
      if (seen !== undefined && seen === known) continue;
      known = seen;
      this.#changed();
    }
    watcher?.close();
  }

  /** `undefined` when it could not be read: followers look for themselves then. */
  #look(): number | undefined {
    try {
      return this.#version();
    } catch {
      return undefined;
    }
  }

  #watchFile(written: () => void): FSWatcher | undefined {
    try {
      const watcher = watch(this.#walFile, written);
      watcher.on('error', written);
      return watcher;
    } catch {
      return undefined;
    }
  }
}
