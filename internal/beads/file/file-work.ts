import type { NewEvent } from '../../events/event.ts';
import { GcError } from '../../platform/errors.ts';
import type { CityDatabase } from '../sqlite/city-database.ts';
import type { Bead, BeadComment, BeadFilter, BeadPatch, BeadQuery, Dependency, NewBead } from '../store.ts';
import type { WorkBeads, WorkTransaction, WorkView } from '../work.ts';
import { BeadFile, type BeadFileJob, type Commit, NO_FILE } from './bead-file.ts';
import { FILE_ID_PREFIX, FileBeadTable } from './bead-table.ts';
import type { BeadDocument } from './document.ts';
import { type MirroredBead, MirrorTable } from './mirror-table.ts';

export interface FileWorkOptions {
  /** `<city>/.gc/beads.json`. */
  readonly file: string;
  /** Where events are recorded. */
  readonly city: CityDatabase;
  /** The PATH on which the locking programs are looked for. */
  readonly path: string;
  readonly lockTimeoutMs?: number;
}

/** The city's state under which the last number of the file is kept: a file that is lost does not give ids out again. */
export const FILE_SEQ_KEY = 'beads.file_seq';

const OWNER_BYTES = 4;

interface Job extends BeadFileJob {
  readonly events: readonly NewEvent[];
}

/**
 * A city's work in Gas City's bead file, which other programs read and write at the same time. Events stand in the city's
 * database; they are committed in the same breath as the file is replaced, and only a process that is killed between
 * the two leaves a change without its event.
 */
export class FileWork implements WorkBeads {
  readonly kind = 'file';
  readonly file: string;
  readonly cityPrefix = FILE_ID_PREFIX;
  readonly #city: CityDatabase;
  readonly #file: BeadFile<Job>;
  #lastSeq: number | undefined;

  constructor({ file, city, path, lockTimeoutMs }: FileWorkOptions) {
    this.file = file;
    this.#city = city;
    this.#file = new BeadFile<Job>(
      {
        file,
        path,
        owner: city.ids.hex(OWNER_BYTES),
        elapsed: () => city.clock.monotonic(),
        lowestSeq: () => this.#lowestSeq(),
        ...(lockTimeoutMs === undefined ? {} : { lockTimeoutMs }),
      },
      (change) => this.#commit(change),
    );
  }

  async look<T>(read: (view: WorkView) => T): Promise<T> {
    return read(await this.#file.view());
  }

  transaction<T>(work: (tx: WorkTransaction) => T): Promise<T> {
    return this.#change((document, record) => {
      const table = new FileBeadTable(document, this.#city.clock.now());
      const result = work({
        beads: table,
        createBead: (bead) => table.create(bead),
        recordEvent: record,
      });
      return { result, document: table.isChanged ? table.result : document };
    });
  }

  changeMarker(): string {
    return this.#file.stamp();
  }

  /** Whether the last change was made here: nobody need be told of it. */
  isOwnChange(): boolean {
    return this.#file.isOwn(this.#file.stamp());
  }

  /** Whether the file is gone, or not made yet: of none of its beads can be told what became of it. */
  isMissing(): boolean {
    return this.#file.stamp() === NO_FILE;
  }

  /** The last number that was given out. */
  async lastNumber(): Promise<number> {
    const { seq } = await this.#file.view();
    return Math.max(seq, Number(await this.#city.state(FILE_SEQ_KEY)) || 0);
  }

  /** Resolves when nothing is being written any more. */
  settled(): Promise<void> {
    return this.#file.settled();
  }

  /**
   * Makes the file when there never was one, and sees to it that no number up to `seq` is given out. One that is gone
   * may come back: an empty one in its place would say that all work was deleted.
   */
  async prepare(seq: number): Promise<void> {
    if (seq === 0 && this.isMissing() && (await this.lastNumber()) > 0) return;
    await this.#change((document) => {
      const isThere = this.#file.stamp() !== NO_FILE;
      if (isThere && document.seq >= seq) return { result: undefined, document };
      return { result: undefined, document: { ...document, seq: Math.max(document.seq, seq) } };
    });
  }

  /**
   * What stands in the file of the city's records becomes exactly this. Answers how many beads were written or removed.
   * A file that is gone is not made anew: with nothing but copies in it, all work would seem to be deleted.
   * @throws GcError `store-removed`
   */
  async mirror(beads: readonly MirroredBead[]): Promise<number> {
    if (this.isMissing()) throw gone(this.file);
    return this.#change((document) => {
      const table = new MirrorTable(document, this.#city.clock.now());
      const result = table.mirror(beads);
      return { result, document: table.isChanged ? table.result : document };
    });
  }

  create(bead: NewBead): Promise<Bead> {
    return this.transaction((tx) => tx.createBead(bead));
  }

  get(id: string): Promise<Bead> {
    return this.look((view) => view.get(id));
  }

  list(query: BeadQuery): Promise<readonly Bead[]> {
    return this.look((view) => view.list(query));
  }

  ready(filter?: BeadFilter): Promise<readonly Bead[]> {
    return this.look((view) => view.ready(filter));
  }

  update(id: string, patch: BeadPatch, expectedRevision?: number): Promise<Bead> {
    return this.transaction(({ beads }) => beads.update(id, patch, expectedRevision));
  }

  claim(id: string, assignee: string, patch?: BeadPatch): Promise<Bead> {
    return this.transaction(({ beads }) => beads.claim(id, assignee, patch));
  }

  close(id: string, metadata?: Readonly<Record<string, string>>): Promise<Bead> {
    return this.transaction(({ beads }) => beads.close(id, metadata));
  }

  delete(id: string): Promise<void> {
    return this.transaction(({ beads }) => beads.delete(id));
  }

  addDependency(dependency: Dependency): Promise<void> {
    return this.transaction(({ beads }) => beads.addDependency(dependency));
  }

  removeDependency(issueId: string, dependsOnId: string): Promise<void> {
    return this.transaction(({ beads }) => beads.removeDependency(issueId, dependsOnId));
  }

  dependencies(id: string, direction: 'down' | 'up'): Promise<readonly Dependency[]> {
    return this.look((view) => view.dependencies(id, direction));
  }

  addComment(id: string, comment: Omit<BeadComment, 'created_at'>): Promise<BeadComment> {
    return this.transaction(({ beads }) => beads.addComment(id, comment));
  }

  comments(id: string): Promise<readonly BeadComment[]> {
    return this.look((view) => view.comments(id));
  }

  async ping(): Promise<void> {
    await this.#file.view();
  }

  #change<T>(
    change: (
      document: BeadDocument,
      record: (event: NewEvent) => void,
    ) => { readonly result: T; readonly document: BeadDocument },
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      let events: NewEvent[] = [];
      let give: () => void = () => undefined;
      const job: Job = {
        run: (document) => {
          events = [];
          const made = change(document, (event) => events.push(event));
          give = () => resolve(made.result);
          return made.document;
        },
        done: () => give(),
        failed: reject,
        get events() {
          return events;
        },
      };
      this.#file.enqueue(job);
    });
  }

  /** The file counts from `install` on; everything that can fail of the events comes before it. */
  readonly #commit: Commit<Job> = async ({ install, jobs, document }) => {
    const events = jobs.flatMap((job) => job.events);
    const isCounted = document.seq === this.#lastSeq;
    if (events.length === 0 && isCounted) return install();
    await this.#city.transaction((tx) => {
      for (const event of events) tx.recordEvent(event);
      if (!isCounted) tx.state.set(FILE_SEQ_KEY, String(document.seq));
      install();
    });
    this.#lastSeq = document.seq;
  };

  async #lowestSeq(): Promise<number> {
    this.#lastSeq = Number(await this.#city.state(FILE_SEQ_KEY)) || 0;
    return this.#lastSeq;
  }
}

function gone(file: string): GcError {
  return new GcError('store-removed', `${file} is not there any more`, {
    next: 'put it back, or begin a new one: gc bd create',
  });
}
