import { FileWork } from '../beads/file/file-work.ts';
import { watchFile } from '../beads/file/watch-file.ts';
import { SESSION_BEAD_TYPE, type SessionRecord } from '../session/record.ts';
import type { CityParts } from './city-parts.ts';

/** The copies of records are written no more often than this. */
const MIRROR_PAUSE_MS = 200;

export interface WorkKeeperEvents {
  /** Somebody else changed the work. */
  changed(): void;
  /** `undefined`: it is over. */
  trouble(error: unknown): void;
}

/**
 * Where work is in a file that other programs write: notices their changes, and keeps copies of the open session records
 * there, for scripts that look for sessions among the beads. The copies are written beside the passes, from the records as
 * they then are, and only when those have changed; a new controller compares them all once.
 */
export class WorkKeeper {
  readonly #parts: Pick<CityParts, 'db' | 'work' | 'clock'>;
  readonly #events: WorkKeeperEvents;
  readonly #lifetime = new AbortController();
  readonly #file: FileWork | undefined;
  #wanted = '';
  #mirrored = '';
  #mirroring: Promise<void> | undefined;

  constructor(parts: Pick<CityParts, 'db' | 'work' | 'clock'>, events: WorkKeeperEvents) {
    this.#parts = parts;
    this.#events = events;
    this.#file = parts.work instanceof FileWork ? parts.work : undefined;
  }

  start(): void {
    const file = this.#file;
    if (!file) return;
    try {
      watchFile(file.file, this.#lifetime.signal, {
        changed: () => {
          if (!file.isOwnChange()) this.#events.changed();
        },
        failed: (error) => this.#events.trouble(error),
      });
    } catch (error) {
      this.#events.trouble(error); // the next pass that time asks for looks at the file as well
    }
  }

  /** After each pass, with the records that it left. */
  passed(records: readonly SessionRecord[]): void {
    if (!this.#file || this.#lifetime.signal.aborted) return;
    this.#wanted = records.map(({ id, revision }) => `${id}.${revision}`).join(' ');
    if (this.#wanted === this.#mirrored) return;
    this.#mirroring ??= this.#mirror(this.#file).finally(() => {
      this.#mirroring = undefined;
    });
  }

  /** Writes the last copies; resolves when nothing is being written any more. */
  async end(): Promise<void> {
    this.#lifetime.abort();
    await this.#mirroring;
    if (!this.#file || this.#parts.db.isRemoved()) return;
    await this.#copy(this.#file).catch((error: unknown) => this.#events.trouble(error));
    await this.#file.settled();
  }

  async #mirror(file: FileWork): Promise<void> {
    const { clock } = this.#parts;
    try {
      while (this.#wanted !== this.#mirrored && !this.#lifetime.signal.aborted) {
        const wanted = this.#wanted;
        await this.#copy(file);
        this.#mirrored = wanted;
        this.#events.trouble(undefined);
        await clock.sleep(MIRROR_PAUSE_MS, this.#lifetime.signal).catch(() => undefined); // over: seen above
      }
    } catch (error) {
      this.#events.trouble(error);
    }
  }

  async #copy(file: FileWork): Promise<void> {
    await file.mirror(await this.#parts.db.beads.list({ type: SESSION_BEAD_TYPE }));
  }
}
