import { GcError } from '../platform/errors.ts';

/** A unit of recorded work or state. Source: Gas City's bead store; field names are its JSON. */
export interface Bead {
  readonly id: string;
  readonly title: string;
  readonly status: BeadStatus;
  readonly issue_type: string;
  readonly priority: number | undefined;
  /** RFC 3339. */
  readonly created_at: string;
  readonly assignee: string;
  readonly from: string;
  readonly parent: string;
  readonly ref: string;
  readonly description: string;
  readonly labels: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly dependencies: readonly Dependency[];
  /** Grows by one with every change of this bead; the guard of `update`. */
  readonly revision: number;
}

export type BeadStatus = 'open' | 'in_progress' | 'closed';

export interface Dependency {
  readonly issue_id: string;
  readonly depends_on_id: string;
  readonly type: string;
}

export interface NewBead {
  readonly title: string;
  readonly issue_type?: string;
  readonly priority?: number;
  readonly assignee?: string;
  readonly from?: string;
  readonly parent?: string;
  readonly ref?: string;
  readonly description?: string;
  readonly labels?: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
  /** `id` or `type:id`. */
  readonly needs?: readonly string[];
}

export interface BeadPatch {
  readonly title?: string;
  readonly status?: BeadStatus;
  readonly issue_type?: string;
  readonly assignee?: string;
  readonly description?: string;
  readonly addLabels?: readonly string[];
  readonly removeLabels?: readonly string[];
  /** Merged; an empty value clears the key. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** All given filters must match. A query without a filter needs `allowScan`. */
export interface BeadQuery {
  readonly status?: BeadStatus;
  readonly type?: string;
  readonly label?: string;
  readonly assignee?: string;
  readonly parent?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly includeClosed?: boolean;
  readonly allowScan?: boolean;
  readonly limit?: number;
  readonly sort?: 'created_asc' | 'created_desc';
}

export interface BeadStore {
  create(bead: NewBead): Promise<Bead>;
  /** @throws BeadNotFoundError */
  get(id: string): Promise<Bead>;
  list(query: BeadQuery): Promise<readonly Bead[]>;
  /** Open work whose blockers are all closed. */
  ready(): Promise<readonly Bead[]>;
  /** @throws BeadNotFoundError; RevisionConflictError when `expectedRevision` is given and is not the current one. */
  update(id: string, patch: BeadPatch, expectedRevision?: number): Promise<Bead>;
  /** Idempotent. */
  close(id: string, metadata?: Readonly<Record<string, string>>): Promise<Bead>;
  delete(id: string): Promise<void>;
  addDependency(dependency: Dependency): Promise<void>;
  /** Missing is fine. */
  removeDependency(issueId: string, dependsOnId: string): Promise<void>;
  dependencies(id: string, direction: 'down' | 'up'): Promise<readonly Dependency[]>;
  ping(): Promise<void>;
}

export class BeadNotFoundError extends GcError {
  constructor(id: string) {
    super('bead-not-found', `bead not found: ${id}`);
  }
}

export class RevisionConflictError extends GcError {
  constructor(id: string, expected: number, actual: number) {
    super(
      'revision-conflict',
      `bead ${id} changed meanwhile: expected revision ${expected}, found ${actual}`,
    );
  }
}
