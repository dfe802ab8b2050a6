import { GcError } from '../../platform/errors.ts';
import type { SqliteDatabase } from '../../platform/sqlite.ts';
import { applyPatch, parseNeed } from '../bead-rules.ts';
import {
  type Bead,
  BeadClaimedError,
  type BeadComment,
  type BeadFilter,
  BeadNotFoundError,
  type BeadPatch,
  type BeadQuery,
  type Dependency,
  type NewBead,
  RevisionConflictError,
} from '../store.ts';
import { type BeadRow, newBeadFields, toBead } from './bead-codec.ts';
import { selectBeads, type Where, whereOf, whereReady } from './bead-query.ts';

/** A new bead, or a function that makes it from the id it will have. */
export type BeadDraft = NewBead | ((id: string) => NewBead);

const DEFAULT_ID_PREFIX = 'gc';
/** The city's own state that says where its work is. */
export const WORK_PROVIDER_KEY = 'bead_store';

/** Synchronous access to the bead rows; the callers bring the transaction and the retry. */
export class BeadTable {
  readonly #db: SqliteDatabase;
  readonly #now: () => number;

  /** `now`: milliseconds since the epoch, for what is noted about changes. */
  constructor(db: SqliteDatabase, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  create(draft: BeadDraft, nowMs: number): Bead {
    const num = this.#nextNumber();
    const prefix = typeof draft === 'function' ? undefined : draft.prefix;
    const id = prefix ? `${prefix}-${num}` : `${DEFAULT_ID_PREFIX}-${this.#recordLetter()}${num}`;
    const bead = typeof draft === 'function' ? draft(id) : draft;
    this.#db
      .prepare(
        `INSERT INTO beads (num, id, title, status, issue_type, priority, created_at, updated_at, assignee, sender, parent, ref,
           description, notes, labels, metadata, revision)
         VALUES (@num, @id, @title, @status, @issue_type, @priority, @created_at, @created_at, @assignee, @sender, @parent, @ref,
           @description, @notes, @labels, @metadata, @revision)`,
      )
      .run({ ...newBeadFields(bead), num, id, created_at: new Date(nowMs).toISOString() });
    for (const need of bead.needs ?? []) {
      const { dependsOn, type } = parseNeed(need);
      this.#putDependency({ issue_id: id, depends_on_id: dependsOn, type });
    }
    return this.get(id);
  }

  /** @throws BeadNotFoundError */
  get(id: string): Bead {
    const bead = this.find(id);
    if (!bead) throw new BeadNotFoundError(id);
    return bead;
  }

  find(id: string): Bead | undefined {
    const row = this.#db.prepare<[string], BeadRow>(selectBeads('beads.id = ?', 'created_asc')).get(id);
    return row && toBead(row);
  }

  /** @throws GcError `query-needs-filter` */
  list(query: BeadQuery): readonly Bead[] {
    return this.#select(whereOf(query), query);
  }

  ready(filter: BeadFilter = {}): readonly Bead[] {
    return this.#select(whereReady(filter), filter);
  }

  #select({ condition, values }: Where, { limit = 0, sort = 'created_asc' }: BeadFilter): readonly Bead[] {
    return this.#db
      .prepare<(string | number)[], BeadRow>(
        `${selectBeads(condition, sort)} LIMIT ${limit > 0 ? limit : -1}`,
      )
      .all(...values)
      .map(toBead);
  }

  /** A patch that changes nothing writes nothing. @throws BeadNotFoundError, RevisionConflictError */
  update(id: string, patch: BeadPatch, expectedRevision?: number): Bead {
    const bead = this.get(id);
    if (expectedRevision !== undefined && expectedRevision !== bead.revision) {
      throw new RevisionConflictError(id, expectedRevision, bead.revision);
    }
    const next = applyPatch(bead, patch);
    if (next === bead) return bead;
    const now = this.#nowText();
    this.#db
      .prepare(
        `UPDATE beads SET title = @title, status = @status, issue_type = @issue_type, priority = @priority,
           assignee = @assignee, parent = @parent, description = @description, notes = @notes, labels = @labels, metadata = @metadata,
           updated_at = @now, closed_at = @closed_at, revision = revision + 1
         WHERE id = @id`,
      )
      .run({
        id,
        title: next.title,
        status: next.status,
        issue_type: next.issue_type,
        priority: next.priority ?? null,
        assignee: next.assignee,
        parent: next.parent,
        description: next.description,
        notes: next.notes ?? '',
        labels: JSON.stringify(next.labels),
        metadata: JSON.stringify(next.metadata),
        now,
        closed_at:
          next.status !== 'closed' ? null : bead.status === 'closed' ? (bead.closed_at ?? null) : now,
      });
    return this.get(id);
  }

  /** @throws BeadNotFoundError, BeadClaimedError; GcError `bead-closed` */
  claim(id: string, assignee: string, patch: BeadPatch = {}): Bead {
    const bead = this.get(id);
    if (bead.status === 'closed') throw new GcError('bead-closed', `bead ${id} is closed`);
    if (bead.assignee !== '' && bead.assignee !== assignee) throw new BeadClaimedError(id, bead.assignee);
    return this.update(id, { status: 'in_progress', assignee, ...patch });
  }

  /** Closing a closed bead changes nothing. @throws BeadNotFoundError, RevisionConflictError */
  close(id: string, metadata?: Readonly<Record<string, string>>, expectedRevision?: number): Bead {
    const bead = this.get(id);
    if (bead.status === 'closed') return bead;
    return this.update(id, { status: 'closed', ...(metadata ? { metadata } : {}) }, expectedRevision);
  }

  /** Also drops what it waits for and what waits for it. @throws BeadNotFoundError */
  delete(id: string): void {
    this.get(id);
    for (const { issue_id } of this.dependencies(id, 'up')) this.#touch(issue_id);
    this.#db.prepare('DELETE FROM dependencies WHERE issue_id = ? OR depends_on_id = ?').run(id, id);
    this.#db.prepare('DELETE FROM bead_comments WHERE bead_id = ?').run(id);
    this.#db.prepare('DELETE FROM beads WHERE id = ?').run(id);
  }

  /** Adding it again with another type replaces the type. @throws BeadNotFoundError when the waiting bead is missing. */
  addDependency(dependency: Dependency): void {
    this.get(dependency.issue_id);
    if (this.#putDependency(dependency)) this.#touch(dependency.issue_id);
  }

  removeDependency(issueId: string, dependsOnId: string): void {
    const { changes } = this.#db
      .prepare('DELETE FROM dependencies WHERE issue_id = ? AND depends_on_id = ?')
      .run(issueId, dependsOnId);
    if (changes > 0) this.#touch(issueId);
  }

  dependencies(id: string, direction: 'down' | 'up'): readonly Dependency[] {
    const column = direction === 'down' ? 'issue_id' : 'depends_on_id';
    return this.#db
      .prepare<[string], Dependency>(
        `SELECT issue_id, depends_on_id, type FROM dependencies WHERE ${column} = ? ORDER BY issue_id, depends_on_id`,
      )
      .all(id);
  }

  /** Whether `from` waits for `to`, directly or over others, by dependencies of this type. */
  waitsFor(from: string, to: string, type: string): boolean {
    const row = this.#db
      .prepare<{ from: string; to: string; type: string }, { found: number }>(
        `WITH RECURSIVE below (id) AS (
           SELECT @from UNION
           SELECT depends_on_id FROM dependencies JOIN below ON issue_id = below.id WHERE type = @type
         ) SELECT 1 AS found FROM below WHERE id = @to`,
      )
      .get({ from, to, type });
    return row !== undefined;
  }

  /** @throws BeadNotFoundError */
  addComment(id: string, { author, text }: Omit<BeadComment, 'created_at'>): BeadComment {
    this.get(id);
    const comment = { author, text, created_at: this.#nowText() };
    this.#db
      .prepare(
        `INSERT INTO bead_comments (bead_id, author, text, created_at)
         VALUES (@id, @author, @text, @created_at)`,
      )
      .run({ id, ...comment });
    this.#touch(id);
    return comment;
  }

  comments(id: string): readonly BeadComment[] {
    return this.#db
      .prepare<[string], BeadComment>(
        'SELECT author, text, created_at FROM bead_comments WHERE bead_id = ? ORDER BY num',
      )
      .all(id);
  }

  /** The last number that was given out, 0 before the first. */
  lastNumber(): number {
    const row = this.#db
      .prepare<[], { seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'beads'")
      .get();
    return row?.seq ?? 0;
  }

  /** Numbers up to this one are not given out: somebody else did. */
  continueAfter(num: number): void {
    if (num <= this.lastNumber()) return;
    this.#db.prepare("DELETE FROM sqlite_sequence WHERE name = 'beads'").run();
    this.#db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('beads', ?)").run(num);
  }

  #nextNumber(): number {
    return this.lastNumber() + 1;
  }

  /** Where work is numbered by a file of its own, a record must not be called what work can be called: `gc-s7`, not `gc-7`. */
  #recordLetter(): string {
    const row = this.#db
      .prepare<[string], { value: string }>('SELECT value FROM city_state WHERE key = ?')
      .get(WORK_PROVIDER_KEY);
    return row?.value === 'file' ? 's' : '';
  }

  /** Returns whether anything changed. */
  #putDependency(dependency: Dependency): boolean {
    const { changes } = this.#db
      .prepare(
        `INSERT INTO dependencies (issue_id, depends_on_id, type) VALUES (@issue_id, @depends_on_id, @type)
         ON CONFLICT (issue_id, depends_on_id) DO UPDATE SET type = excluded.type WHERE type <> excluded.type`,
      )
      .run({ ...dependency });
    return changes > 0;
  }

  #touch(id: string): void {
    this.#db
      .prepare('UPDATE beads SET revision = revision + 1, updated_at = ? WHERE id = ?')
      .run(this.#nowText(), id);
  }

  #nowText(): string {
    return new Date(this.#now()).toISOString();
  }
}
