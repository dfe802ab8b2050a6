import type { NewEvent } from '../../events/event.ts';
import type { Bead, BeadPatch } from '../store.ts';
import { type BeadDraft, BeadTable } from './bead-table.ts';
import type { NewDecision } from './decision-table.ts';
import type { NudgeRow } from './inbox-table.ts';
import type { OutboxDraft } from './outbox-table.ts';

/** A bead as it was before a transaction, `undefined` when that made it, and as it is after. */
export interface BeadChange {
  readonly before: Bead | undefined;
  readonly after: Bead;
}

export interface NudgeChange {
  readonly before: NudgeRow | undefined;
  readonly after: NudgeRow;
}

/** What one transaction did, in order; a bead that it changed twice is there once. */
export interface Witnessed {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly beads: readonly BeadChange[];
  readonly nudges: readonly NudgeChange[];
  readonly events: readonly NewEvent[];
  readonly decisions: readonly NewDecision[];
}

/** What a witness may look up: as it is inside the transaction. */
export interface WitnessView {
  /** The open bead of that type whose metadata has these values. */
  find(type: string, metadata: Readonly<Record<string, string>>): Bead | undefined;
  get(id: string): Bead | undefined;
}

/**
 * Sees every transaction of a city before it is committed, so that what is told of a change is committed with it, or
 * neither is. Synchronous; may run again for the same change when another process was faster.
 */
export interface Witness {
  /** Types of beads that it wants to see. */
  readonly types: ReadonlySet<string>;
  /** Metadata that such a bead is to have besides its own, when it is made or changed. */
  adorn(bead: Pick<Bead, 'metadata'>): Readonly<Record<string, string>>;
  tell(seen: Witnessed, view: WitnessView): readonly OutboxDraft[];
}

/** What one transaction did so far. */
export class Testimony {
  readonly #beads = new Map<string, BeadChange>();
  readonly #nudges: NudgeChange[] = [];
  readonly #events: NewEvent[] = [];
  readonly #decisions: NewDecision[] = [];

  bead(before: Bead | undefined, after: Bead): void {
    const known = this.#beads.get(after.id);
    this.#beads.set(after.id, { before: known ? known.before : before, after });
  }

  nudge(change: NudgeChange): void {
    this.#nudges.push(change);
  }

  event(event: NewEvent): void {
    this.#events.push(event);
  }

  decision(decision: NewDecision): void {
    this.#decisions.push(decision);
  }

  /** `undefined`: nothing that a witness is told. */
  seen(now: number): Witnessed | undefined {
    if (this.#beads.size === 0 && this.#nudges.length === 0 && this.#decisions.length === 0) return undefined;
    return {
      now,
      beads: [...this.#beads.values()],
      nudges: this.#nudges,
      events: this.#events,
      decisions: this.#decisions,
    };
  }
}

/** The bead rows, with somebody who looks on. */
export class WitnessedBeadTable extends BeadTable {
  readonly #witness: Witness;
  readonly #testimony: () => Testimony;

  constructor(
    db: ConstructorParameters<typeof BeadTable>[0],
    now: () => number,
    witness: Witness,
    testimony: () => Testimony,
  ) {
    super(db, now);
    this.#witness = witness;
    this.#testimony = testimony;
  }

  override create(draft: BeadDraft, nowMs: number): Bead {
    const made = super.create(draft, nowMs);
    return this.#isWatched(made) ? this.#note(undefined, made) : made;
  }

  override update(id: string, patch: BeadPatch, expectedRevision?: number): Bead {
    const before = this.find(id);
    const after = super.update(id, patch, expectedRevision);
    const isUnchanged = before?.revision === after.revision;
    return isUnchanged || !this.#isWatched(after) ? after : this.#note(before, after);
  }

  #note(before: Bead | undefined, after: Bead): Bead {
    const lacking = Object.entries(this.#witness.adorn(after)).filter(
      ([key, value]) => after.metadata[key] !== value,
    );
    const adorned =
      lacking.length === 0 ? after : super.update(after.id, { metadata: Object.fromEntries(lacking) });
    this.#testimony().bead(before, adorned);
    return adorned;
  }

  #isWatched(bead: Bead): boolean {
    return this.#witness.types.has(bead.issue_type);
  }
}
