import { GcError } from '../platform/errors.ts';
import { beadJson } from './bead-json.ts';
import { closeDoneConvoys, convoysOf } from './convoy.ts';
import type { Bead, BeadComment, BeadFilter, BeadPatch, BeadQuery, Dependency, NewBead } from './store.ts';
import type { WorkBeads, WorkTable, WorkTransaction, WorkView } from './work.ts';

/** One bead before and after; `before` is absent of a new one, `after` of a deleted one. */
export interface WorkChange {
  readonly before?: Bead;
  readonly after?: Bead;
}

/** A label that is there already is not added twice. */
export interface WorkPatch extends BeadPatch {
  /** One more line of notes, after those that are there or those of the patch. */
  readonly appendNotes?: string;
}

export interface WorkOptions {
  /** Who acts: the author of events, comments and new beads. */
  readonly actor: string;
  /** Beads of these types belong to the program itself: they can be read, never changed here. */
  readonly recordTypes: ReadonlySet<string>;
}

/** Waiting for each other in a ring by one of these, nobody would ever be ready. */
const BLOCKING = 'blocks';

/**
 * The city's work for whoever works on it, wherever it is kept. Every change and its `bead.*` event are one transaction; of
 * several beads all are changed or none. Source of the events: Gas City's event log (subject = bead, payload = its JSON).
 * @throws BeadNotFoundError; GcError `bead-is-record` for a bead that is the program's own
 */
export class WorkStore {
  readonly #work: WorkBeads;
  readonly #options: WorkOptions;

  constructor(work: WorkBeads, options: WorkOptions) {
    this.#work = work;
    this.#options = options;
  }

  get(id: string): Promise<Bead> {
    return this.#work.get(id);
  }

  list(query: BeadQuery): Promise<readonly Bead[]> {
    return this.#work.list(query);
  }

  ready(filter: BeadFilter): Promise<readonly Bead[]> {
    return this.#work.ready(filter);
  }

  comments(id: string): Promise<readonly BeadComment[]> {
    return this.#work.comments(id);
  }

  dependencies(id: string, direction: 'down' | 'up'): Promise<readonly Dependency[]> {
    return this.#work.dependencies(id, direction);
  }

  /** What it waits for and its parent must exist. */
  create(bead: NewBead, needs: readonly Omit<Dependency, 'issue_id'>[] = []): Promise<WorkChange> {
    return this.#work.transaction((tx) => {
      if (bead.parent) tx.beads.get(bead.parent);
      for (const { depends_on_id } of needs) tx.beads.get(depends_on_id);
      const { id } = tx.createBead({
        from: this.#options.actor,
        ...bead,
        needs: needs.map(({ type, depends_on_id }) => `${type}:${depends_on_id}`),
      });
      const after = tx.beads.get(id);
      this.#record(tx, 'bead.created', after);
      return { after };
    });
  }

  update(ids: readonly string[], patch: WorkPatch): Promise<readonly WorkChange[]> {
    return this.#changeAll(ids, (beads, bead) => beads.update(bead.id, patchOf(bead, patch)));
  }

  /** @throws BeadClaimedError; GcError `bead-closed` */
  claim(ids: readonly string[], assignee: string, patch: WorkPatch): Promise<readonly WorkChange[]> {
    return this.#changeAll(ids, (beads, bead) => beads.claim(bead.id, assignee, patchOf(bead, patch)));
  }

  /** `onlyType`: refuse beads of another type. @throws GcError `bead-type` */
  close(ids: readonly string[], reason: string, onlyType?: string): Promise<readonly WorkChange[]> {
    const metadata = reason === '' ? undefined : { close_reason: reason };
    return this.#changeAll(ids, (beads, bead) => {
      if (onlyType !== undefined && bead.issue_type !== onlyType) {
        throw new GcError('bead-type', `bead ${bead.id} is a ${bead.issue_type}, not a ${onlyType}`);
      }
      return beads.close(bead.id, metadata);
    });
  }

  /** A bead that is not closed stays as it is. */
  reopen(ids: readonly string[]): Promise<readonly WorkChange[]> {
    return this.#changeAll(ids, (beads, bead) =>
      bead.status === 'closed'
        ? beads.update(bead.id, { status: 'open', metadata: { close_reason: '' } })
        : bead,
    );
  }

  delete(ids: readonly string[]): Promise<readonly WorkChange[]> {
    return this.#work.transaction((tx) =>
      unique(ids).map((id) => {
        const before = this.#workBead(tx.beads, id);
        tx.beads.delete(id);
        this.#record(tx, 'bead.deleted', before);
        return { before };
      }),
    );
  }

  /** @throws GcError `dependency-cycle` */
  addDependency(dependency: Dependency): Promise<readonly WorkChange[]> {
    const { issue_id: id, depends_on_id: on, type } = dependency;
    return this.#changeAll([id], (beads) => {
      beads.get(on);
      if (id === on) throw new GcError('dependency-cycle', `${id} cannot wait for itself`);
      if (type === BLOCKING && beads.waitsFor(on, id, BLOCKING)) {
        throw new GcError('dependency-cycle', `${on} waits for ${id} already; neither would ever be ready`);
      }
      beads.addDependency(dependency);
      return beads.get(id);
    });
  }

  removeDependency(id: string, on: string): Promise<readonly WorkChange[]> {
    return this.#changeAll([id], (beads) => {
      beads.removeDependency(id, on);
      return beads.get(id);
    });
  }

  addComment(id: string, text: string): Promise<readonly WorkChange[]> {
    return this.#changeAll([id], (beads) => {
      beads.addComment(id, { author: this.#options.actor, text });
      return beads.get(id);
    });
  }

  #changeAll(
    ids: readonly string[],
    change: (beads: WorkTable, bead: Bead) => Bead,
  ): Promise<readonly WorkChange[]> {
    return this.#work.transaction((tx) => {
      const closed: string[] = [];
      const changes = unique(ids).map((id) => {
        const before = this.#workBead(tx.beads, id);
        const after = change(tx.beads, before);
        if (after.revision !== before.revision) {
          const closes = before.status !== 'closed' && after.status === 'closed';
          this.#record(tx, closes ? 'bead.closed' : 'bead.updated', after);
          if (closes) closed.push(id);
        }
        return { before, after };
      });
      closeDoneConvoys(tx, this.#options.actor, convoysOf(tx.beads, closed));
      return changes;
    });
  }

  #workBead(beads: WorkView, id: string): Bead {
    const bead = beads.get(id);
    if (!this.#options.recordTypes.has(bead.issue_type)) return bead;
    throw new GcError(
      'bead-is-record',
      `bead ${id} is a ${bead.issue_type} record of the city, not work; nothing was changed`,
    );
  }

  #record(tx: WorkTransaction, type: string, bead: Bead): void {
    const { actor } = this.#options;
    tx.recordEvent({ type, actor, subject: bead.id, message: bead.title, payload: beadJson(bead) });
  }
}

function patchOf(bead: Bead, { appendNotes, ...patch }: WorkPatch): BeadPatch {
  const notes = patch.notes ?? bead.notes ?? '';
  return {
    ...patch,
    ...(patch.addLabels ? { addLabels: patch.addLabels.filter((each) => !bead.labels.includes(each)) } : {}),
    ...(appendNotes === undefined ? {} : { notes: notes === '' ? appendNotes : `${notes}\n${appendNotes}` }),
  };
}

const unique = (ids: readonly string[]): readonly string[] => [...new Set(ids)];
