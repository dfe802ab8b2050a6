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
  /** RFC 3339. Absent when the store does not know. */
  readonly updated_at?: string;
  /** RFC 3339; of a closed bead only. Absent when the store does not know. */
  readonly closed_at?: string;
  readonly assignee: string;
  readonly from: string;
  readonly parent: string;
  readonly ref: string;
  readonly description: string;
  /** Absent when there are none. */
  readonly notes?: string;
  readonly labels: readonly string[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly dependencies: readonly Dependency[];
  /** Another one after every change of this bead (in the city's database it grows by one); the guard of `update`. */
  readonly revision: number;
}

export type BeadStatus = 'open' | 'in_progress' | 'closed';

export interface Dependency {
  readonly issue_id: string;
  readonly depends_on_id: string;
  readonly type: string;
}

/** What somebody said about a bead. */
export interface BeadComment {
  readonly author: string;
  readonly text: string;
  /** RFC 3339. */
  readonly created_at: string;
}

export interface NewBead {
  readonly title: string;
  /** What its id starts with, `gc` when not given: `<prefix>-<number>`. */
  readonly prefix?: string;
  readonly issue_type?: string;
  readonly priority?: number;
  readonly assignee?: string;
  readonly from?: string;
  readonly parent?: string;
  readonly ref?: string;
  readonly description?: string;
  readonly notes?: string;
  readonly labels?: readonly string[];
  readonly metadata?: Readonly<Record<string, string>>;
  /** `id` or `type:id`. */
  readonly needs?: readonly string[];
}

export interface BeadPatch {
  readonly title?: string;
  readonly status?: BeadStatus;
  readonly issue_type?: string;
  readonly priority?: number;
  readonly assignee?: string;
  /** `''`: of none. */
  readonly parent?: string;
  readonly description?: string;
  readonly notes?: string;
  readonly addLabels?: readonly string[];
  readonly removeLabels?: readonly string[];
  /** Merged; an empty value clears the key. */
  readonly metadata?: Readonly<Record<string, string>>;
}

/** All given filters must match. */
export interface BeadFilter {
  readonly type?: string;
  readonly label?: string;
  /** Carries all of them. */
  readonly labels?: readonly string[];
  /** `''`: assigned to nobody. */
  readonly assignee?: string;
  readonly parent?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Of none of these types. */
  readonly notTypes?: readonly string[];
  /** Its id starts with this and a number; case does not count. */
  readonly idPrefix?: string;
  /** Its id starts with none of these. */
  readonly notIdPrefixes?: readonly string[];
  readonly limit?: number;
  /** `priority`: most urgent (lowest) first, none given counting as `DEFAULT_PRIORITY`, then oldest first. */
  readonly sort?: 'created_asc' | 'created_desc' | 'priority';
}

/** All given filters must match. A query without a filter needs `allowScan`. */
export interface BeadQuery extends BeadFilter {
  readonly status?: BeadStatus;
  /** One of these; none of them leaves closed ones in. */
  readonly statuses?: readonly BeadStatus[];
  /** Milliseconds since the epoch, exclusive. */
  readonly closedAfter?: number;
  readonly includeClosed?: boolean;
  readonly allowScan?: boolean;
}

/** What a bead without a priority counts as. Source: beads. */
export const DEFAULT_PRIORITY = 2;

export interface BeadStore {
  create(bead: NewBead): Promise<Bead>;
  /** @throws BeadNotFoundError */
  get(id: string): Promise<Bead>;
  list(query: BeadQuery): Promise<readonly Bead[]>;
  /** Open work whose blockers are all closed. */
  ready(filter?: BeadFilter): Promise<readonly Bead[]>;
  /** @throws BeadNotFoundError; RevisionConflictError when `expectedRevision` is given and is not the current one. */
  update(id: string, patch: BeadPatch, expectedRevision?: number): Promise<Bead>;
  /**
   * Gives the bead to `assignee` and sets it in progress, in one step with the patch: of many who try, one gets it.
   * Claiming again what one has is fine. @throws BeadNotFoundError, BeadClaimedError; GcError `bead-closed`
   */
  claim(id: string, assignee: string, patch?: BeadPatch): Promise<Bead>;
  /** Idempotent. */
  close(id: string, metadata?: Readonly<Record<string, string>>): Promise<Bead>;
  delete(id: string): Promise<void>;
  addDependency(dependency: Dependency): Promise<void>;
  /** Missing is fine. */
  removeDependency(issueId: string, dependsOnId: string): Promise<void>;
  dependencies(id: string, direction: 'down' | 'up'): Promise<readonly Dependency[]>;
  /** @throws BeadNotFoundError */
  addComment(id: string, comment: Omit<BeadComment, 'created_at'>): Promise<BeadComment>;
  /** Oldest first. */
  comments(id: string): Promise<readonly BeadComment[]>;
  ping(): Promise<void>;
}

export class BeadNotFoundError extends GcError {
  constructor(id: string) {
    super('bead-not-found', `bead not found: ${/^[\x21-\x7e]+$/.test(id) ? id : JSON.stringify(id)}`);
  }
}

export class BeadClaimedError extends GcError {
  constructor(id: string, holder: string) {
    super('bead-claimed', `bead ${id} is already claimed by ${holder}`);
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
