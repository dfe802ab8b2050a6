import type { NewEvent } from '../events/event.ts';
import type {
  Bead,
  BeadComment,
  BeadFilter,
  BeadPatch,
  BeadQuery,
  BeadStore,
  Dependency,
  NewBead,
} from './store.ts';

/** The city's work as it is at one moment. Synchronous, so that nothing comes between two looks. */
export interface WorkView {
  find(id: string): Bead | undefined;
  /** @throws BeadNotFoundError */
  get(id: string): Bead;
  list(query: BeadQuery): readonly Bead[];
  ready(filter?: BeadFilter): readonly Bead[];
  dependencies(id: string, direction: 'down' | 'up'): readonly Dependency[];
  /** Whether `from` waits for `to`, directly or over others, by dependencies of this type. */
  waitsFor(from: string, to: string, type: string): boolean;
  comments(id: string): readonly BeadComment[];
}

/** The same, to be changed: each as the method of `BeadStore` that is called so. */
export interface WorkTable extends WorkView {
  update(id: string, patch: BeadPatch, expectedRevision?: number): Bead;
  claim(id: string, assignee: string, patch?: BeadPatch): Bead;
  close(id: string, metadata?: Readonly<Record<string, string>>): Bead;
  delete(id: string): void;
  addDependency(dependency: Dependency): void;
  removeDependency(issueId: string, dependsOnId: string): void;
  addComment(id: string, comment: Omit<BeadComment, 'created_at'>): BeadComment;
}

export interface WorkTransaction {
  readonly beads: WorkTable;
  createBead(bead: NewBead): Bead;
  recordEvent(event: NewEvent): void;
}

/**
 * Where a city keeps its work: what tasks, mail and demand need of a store beyond its single operations. Records of
 * sessions are not here; they are always rows of the city's database.
 */
export interface WorkBeads extends BeadStore {
  readonly kind: 'database' | 'file';
  /** The file that holds it, absolute: for people. */
  readonly file: string;
  /** What the ids of the city's own beads begin with, where the store says so rather than the city file. */
  readonly cityPrefix: string | undefined;
  /** Looks at several things at one moment. */
  look<T>(read: (view: WorkView) => T): Promise<T>;
  /**
   * All changes of several beads and their events, or none. `work` may run again when another process was faster: it
   * must do nothing but look and change here.
   */
  transaction<T>(work: (tx: WorkTransaction) => T): Promise<T>;
  /** Two equal answers: no bead changed in between, whoever changes them. Cheap. */
  changeMarker(): string;
}
