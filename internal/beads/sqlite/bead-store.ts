import type { DatabaseAccess } from '../../events/sqlite-bus.ts';
import type { Clock } from '../../platform/clock.ts';
import type {
  Bead,
  BeadComment,
  BeadFilter,
  BeadPatch,
  BeadQuery,
  BeadStore,
  Dependency,
  NewBead,
} from '../store.ts';
import type { BeadTable } from './bead-table.ts';

/** The default bead store: rows of the city's database. */
export class SqliteBeadStore implements BeadStore {
  readonly #database: DatabaseAccess;
  readonly #table: BeadTable;
  readonly #clock: Clock;

  constructor(database: DatabaseAccess, table: BeadTable, clock: Clock) {
    this.#database = database;
    this.#table = table;
    this.#clock = clock;
  }

  create(bead: NewBead): Promise<Bead> {
    return this.#database.write(() => this.#table.create(bead, this.#clock.now()));
  }

  get(id: string): Promise<Bead> {
    return this.#database.read(() => this.#table.get(id));
  }

  list(query: BeadQuery): Promise<readonly Bead[]> {
    return this.#database.read(() => this.#table.list(query));
  }

  ready(filter?: BeadFilter): Promise<readonly Bead[]> {
    return this.#database.read(() => this.#table.ready(filter));
  }

  update(id: string, patch: BeadPatch, expectedRevision?: number): Promise<Bead> {
    return this.#database.write(() => this.#table.update(id, patch, expectedRevision));
  }

  claim(id: string, assignee: string, patch?: BeadPatch): Promise<Bead> {
    return this.#database.write(() => this.#table.claim(id, assignee, patch));
  }

  close(id: string, metadata?: Readonly<Record<string, string>>): Promise<Bead> {
    return this.#database.write(() => this.#table.close(id, metadata));
  }

  delete(id: string): Promise<void> {
    return this.#database.write(() => this.#table.delete(id));
  }

  addDependency(dependency: Dependency): Promise<void> {
    return this.#database.write(() => this.#table.addDependency(dependency));
  }

  removeDependency(issueId: string, dependsOnId: string): Promise<void> {
    return this.#database.write(() => this.#table.removeDependency(issueId, dependsOnId));
  }

  dependencies(id: string, direction: 'down' | 'up'): Promise<readonly Dependency[]> {
    return this.#database.read(() => this.#table.dependencies(id, direction));
  }

  addComment(id: string, comment: Omit<BeadComment, 'created_at'>): Promise<BeadComment> {
    return this.#database.write(() => this.#table.addComment(id, comment));
  }

  comments(id: string): Promise<readonly BeadComment[]> {
    return this.#database.read(() => this.#table.comments(id));
  }

  async ping(): Promise<void> {
    await this.#database.read(() => this.#table.list({ allowScan: true, limit: 1 }));
  }
}
