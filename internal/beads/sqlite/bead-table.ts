import type { SqliteDatabase } from '../../platform/sqlite.ts';
import {
  type Bead,
  BeadNotFoundError,
  type BeadPatch,
  type BeadQuery,
  type Dependency,
  type NewBead,
  RevisionConflictError,
} from '../store.ts';
import { applyPatch, type BeadRow, newBeadFields, parseNeed, toBead } from './bead-codec.ts';
import { READY_CONDITION, selectBeads, whereOf } from './bead-query.ts';

/** A new bead, or a function that makes it from the id it will have. */
export type BeadDraft = NewBead | ((id: string) => NewBead);

/** Synchronous access to the bead rows; the callers bring the transaction and the retry. */
export class BeadTable {
  readonly #db: SqliteDatabase;

  constructor(db: SqliteDatabase) {
    this.#db = db;
  }

  create(draft: BeadDraft, nowMs: number): Bead {
    const num = this.#nextNumber();
    const id = `gc-${num}`;
    const bead = typeof draft === 'function' ? draft(id) : draft;
    this.#db
      .prepare(
        `INSERT INTO beads (num, id, title, status, issue_type, priority, created_at, assignee, sender, parent, ref,
           description, labels, metadata, revision)
         VALUES (@num, @id, @title, @status, @issue_type, @priority, @created_at, @assignee, @sender, @parent, @ref,
           @description, @labels, @metadata, @revision)`,
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
    const { condition, values } = whereOf(query);
    const limit = query.limit && query.limit > 0 ? query.limit : -1;
    return this.#db
      .prepare<(string | number)[], BeadRow>(
        `${selectBeads(condition, query.sort ?? 'created_asc')} LIMIT ${limit}`,
      )
      .all(...values)
      .map(toBead);
  }

  ready(): readonly Bead[] {
    return this.#db.prepare<[], BeadRow>(selectBeads(READY_CONDITION, 'created_asc')).all().map(toBead);
  }

  /** A patch that changes nothing writes nothing. @throws BeadNotFoundError, RevisionConflictError */
  update(id: string, patch: BeadPatch, expectedRevision?: number): Bead {
    const bead = this.get(id);
    if (expectedRevision !== undefined && expectedRevision !== bead.revision) {
      throw new RevisionConflictError(id, expectedRevision, bead.revision);
    }
    const next = applyPatch(bead, patch);
    if (next === bead) return bead;
    this.#db
      .prepare(
        `UPDATE beads SET title = @title, status = @status, issue_type = @issue_type, assignee = @assignee,
           description = @description, labels = @labels, metadata = @metadata, revision = revision + 1
         WHERE id = @id`,
      )
      .run({
        id,
        title: next.title,
        status: next.status,
        issue_type: next.issue_type,
        assignee: next.assignee,
        description: next.description,
        labels: JSON.stringify(next.labels),
        metadata: JSON.stringify(next.metadata),
      });
    return { ...next, revision: bead.revision + 1 };
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

  #nextNumber(): number {
    const row = this.#db
      .prepare<[], { seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'beads'")
      .get();
    return (row?.seq ?? 0) + 1;
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
    this.#db.prepare('UPDATE beads SET revision = revision + 1 WHERE id = ?').run(id);
  }
}
