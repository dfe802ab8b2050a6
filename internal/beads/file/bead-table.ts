import { GcError } from '../../platform/errors.ts';
import { applyPatch, BLOCKING_DEPENDENCIES, parseNeed } from '../bead-rules.ts';
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
import type { WorkTable, WorkView } from '../work.ts';
import {
  type BeadFacts,
  changedRaw,
  commentsOf,
  newRaw,
  refuseOwnKeys,
  revisionOf,
  toFacts,
  touchedRaw,
} from './bead-codec.ts';
import { matcherOf, readyMatcherOf, sorted } from './bead-match.ts';
import { type BeadDocument, type RawBead, toDependency } from './document.ts';

/** What the ids of the city's own beads begin with. Source: Gas City's file store. */
export const FILE_ID_PREFIX = 'gc';

/** What is raw never changes and passes from document to document, so what it means is found out once. */
const FACTS = new WeakMap<RawBead, BeadFacts>();
const BEADS = new WeakMap<RawBead, { readonly deps: readonly RawBead[]; readonly bead: Bead }>();

/** A document to look at. */
export class FileBeadView implements WorkView {
  protected document: BeadDocument;
  #links: { readonly of: readonly RawBead[]; readonly down: ReturnType<typeof byIssue> } | undefined;

  constructor(document: BeadDocument) {
    this.document = document;
  }

  /** The last number that was given out. */
  get seq(): number {
    return this.document.seq;
  }

  find(id: string): Bead | undefined {
    const raw = this.document.beads.get(id);
    return raw && this.#bead(raw);
  }

  get(id: string): Bead {
    const bead = this.find(id);
    if (!bead) throw new BeadNotFoundError(id);
    return bead;
  }

  list(query: BeadQuery): readonly Bead[] {
    const matches = matcherOf(query);
    return this.#select(matches, query);
  }

  ready(filter: BeadFilter = {}): readonly Bead[] {
    const matches = readyMatcherOf(filter);
    return this.#select((bead) => matches(bead) && !this.#isBlocked(bead.id), filter);
  }

  dependencies(id: string, direction: 'down' | 'up'): readonly Dependency[] {
    const found =
      direction === 'down'
        ? this.#down(id)
        : this.document.deps.map(toDependency).filter(({ depends_on_id }) => depends_on_id === id);
    return found.toSorted(
      (a, b) => compared(a.issue_id, b.issue_id) || compared(a.depends_on_id, b.depends_on_id),
    );
  }

  waitsFor(from: string, to: string, type: string): boolean {
    const seen = new Set<string>();
    const next = [from];
    for (let id = next.pop(); id !== undefined; id = next.pop()) {
      if (id === to) return true;
      if (seen.has(id)) continue;
      seen.add(id);
      for (const each of this.#down(id)) if (each.type === type) next.push(each.depends_on_id);
    }
    return false;
  }

  comments(id: string): readonly BeadComment[] {
    const raw = this.document.beads.get(id);
    return raw ? commentsOf(raw) : [];
  }

  protected facts(raw: RawBead): BeadFacts {
    const known = FACTS.get(raw);
    if (known) return known;
    const facts = toFacts(raw);
    FACTS.set(raw, facts);
    return facts;
  }

  #bead(raw: RawBead): Bead {
    const { deps } = this.document;
    const known = BEADS.get(raw);
    if (known?.deps === deps) return known.bead;
    const facts = this.facts(raw);
    const dependencies = this.dependencies(facts.id, 'down');
    const bead = { ...facts, dependencies, revision: revisionOf(raw, dependencies) };
    BEADS.set(raw, { deps, bead });
    return bead;
  }

  #select(matches: (bead: BeadFacts) => boolean, { limit = 0, sort = 'created_asc' }: BeadFilter) {
    const { beads } = this.document;
    const found = sorted([...beads.values()].map((raw) => this.facts(raw)).filter(matches), sort);
    return (limit > 0 ? found.slice(0, limit) : found).map(({ id }) => this.get(id));
  }

  /** A missing blocker blocks: it may not have been created yet. */
  #isBlocked(id: string): boolean {
    return this.#down(id).some(({ type, depends_on_id }) => {
      if (!BLOCKING_DEPENDENCIES.includes(type)) return false;
      const blocker = this.document.beads.get(depends_on_id);
      return !blocker || this.facts(blocker).status !== 'closed';
    });
  }

  #down(id: string): readonly Dependency[] {
    const { deps } = this.document;
    if (this.#links?.of !== deps) {
      this.#links = { of: deps, down: byIssue(deps) };
    }
    return this.#links.down.get(id) ?? [];
  }
}

/** A document that is being changed. The one that it began with stays as it was. */
export class FileBeadTable extends FileBeadView implements WorkTable {
  readonly #now: string;
  readonly #original: BeadDocument;
  #beads: Map<string, RawBead> | undefined;

  /** `now`: milliseconds since the epoch, of all that is changed. */
  constructor(document: BeadDocument, now: number) {
    super(document);
    this.#original = document;
    this.#now = new Date(now).toISOString();
  }

  /** Not to be asked for before the last change. */
  get result(): BeadDocument {
    return this.document;
  }

  get isChanged(): boolean {
    return this.document !== this.#original;
  }

  create(bead: NewBead): Bead {
    const seq = this.document.seq + 1;
    const id = `${bead.prefix || FILE_ID_PREFIX}-${seq}`;
    this.document = { ...this.document, seq };
    this.put(id, newRaw(id, bead, this.#now));
    for (const need of bead.needs ?? []) {
      const { dependsOn, type } = parseNeed(need);
      this.#link({ issue_id: id, depends_on_id: dependsOn, type });
    }
    return this.get(id);
  }

  update(id: string, patch: BeadPatch, expectedRevision?: number): Bead {
    const bead = this.get(id);
    if (expectedRevision !== undefined && expectedRevision !== bead.revision) {
      throw new RevisionConflictError(id, expectedRevision, bead.revision);
    }
    refuseOwnKeys(patch.metadata);
    const next = applyPatch(bead, patch);
    if (next === bead) return bead;
    this.put(id, changedRaw(this.#raw(id), bead, next, this.#now));
    return this.get(id);
  }

  claim(id: string, assignee: string, patch: BeadPatch = {}): Bead {
    const bead = this.get(id);
    if (bead.status === 'closed') throw new GcError('bead-closed', `bead ${id} is closed`);
    if (bead.assignee !== '' && bead.assignee !== assignee) throw new BeadClaimedError(id, bead.assignee);
    return this.update(id, { status: 'in_progress', assignee, ...patch });
  }

  close(id: string, metadata?: Readonly<Record<string, string>>): Bead {
    const bead = this.get(id);
    if (bead.status === 'closed') return bead;
    return this.update(id, { status: 'closed', ...(metadata ? { metadata } : {}) });
  }

  delete(id: string): void {
    this.get(id);
    for (const { issue_id } of this.dependencies(id, 'up')) this.#touch(issue_id);
    this.#keepDeps(({ issue_id, depends_on_id }) => issue_id !== id && depends_on_id !== id);
    this.remove(id);
  }

  addDependency(dependency: Dependency): void {
    this.get(dependency.issue_id);
    if (this.#link(dependency)) this.#touch(dependency.issue_id);
  }

  removeDependency(issueId: string, dependsOnId: string): void {
    const isOther = (each: Dependency) => each.issue_id !== issueId || each.depends_on_id !== dependsOnId;
    if (this.#keepDeps(isOther)) this.#touch(issueId);
  }

  addComment(id: string, { author, text }: Omit<BeadComment, 'created_at'>): BeadComment {
    this.get(id);
    const comment = { author, text, created_at: this.#now };
    this.put(id, touchedRaw(this.#raw(id), this.#now, [...this.comments(id), comment]));
    return comment;
  }

  /** As it is to stand in the file. */
  protected put(id: string, raw: RawBead): void {
    const rest = counted(this.document.rest, id);
    this.document = { ...this.document, beads: this.#ownBeads().set(id, raw), rest };
  }

  protected remove(id: string): void {
    const beads = this.#ownBeads();
    beads.delete(id);
    this.document = { ...this.document, beads };
  }

  /** Copied once per table. */
  #ownBeads(): Map<string, RawBead> {
    this.#beads ??= new Map(this.document.beads);
    return this.#beads;
  }

  #raw(id: string): RawBead {
    const raw = this.document.beads.get(id);
    if (!raw) throw new BeadNotFoundError(id);
    return raw;
  }

  /** Returns whether anything changed. */
  #link(dependency: Dependency): boolean {
    const { deps } = this.document;
    const isSame = (raw: RawBead) =>
      raw['issue_id'] === dependency.issue_id && raw['depends_on_id'] === dependency.depends_on_id;
    const known = deps.find(isSame);
    if (known?.['type'] === dependency.type) return false;
    const next = known
      ? deps.map((raw) => (raw === known ? { ...raw, type: dependency.type } : raw))
      : [...deps, { ...dependency }];
    this.document = { ...this.document, deps: next };
    return true;
  }

  #keepDeps(wanted: (dependency: Dependency) => boolean): boolean {
    const deps = this.document.deps.filter((raw) => wanted(toDependency(raw)));
    if (deps.length === this.document.deps.length) return false;
    this.document = { ...this.document, deps };
    return true;
  }

  #touch(id: string): void {
    const raw = this.document.beads.get(id);
    if (raw) this.put(id, touchedRaw(raw, this.#now));
  }
}

/** Later versions of Gas City count changes beside the beads; where they do, so must whoever changes one. */
function counted(rest: BeadDocument['rest'], id: string): BeadDocument['rest'] {
  const revisions = rest['revisions'];
  if (typeof revisions !== 'object' || revisions === null) return rest;
  const known = (revisions as Readonly<Record<string, unknown>>)[id];
  return { ...rest, revisions: { ...revisions, [id]: (typeof known === 'number' ? known : 0) + 1 } };
}

function byIssue(deps: readonly RawBead[]): ReadonlyMap<string, readonly Dependency[]> {
  const links = new Map<string, Dependency[]>();
  for (const link of deps.map(toDependency)) {
    const known = links.get(link.issue_id);
    if (known) known.push(link);
    else links.set(link.issue_id, [link]);
  }
  return links;
}

const compared = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
