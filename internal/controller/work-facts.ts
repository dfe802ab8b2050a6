import type { Bead } from '../beads/store.ts';
import type { City } from '../config/city.ts';
import type { SessionRecord } from '../session/record.ts';

/** What the city's beads say about work: who has some, and what waits for whom. */
export interface WorkFacts {
  /** Routed to a template and taken by nobody: ids by qualified name of the agent. */
  readonly waiting: ReadonlyMap<string, ReadonlySet<string>>;
  /** Who has open work, done or not yet begun: the assignees as they are written. */
  readonly assignees: ReadonlySet<string>;
  /** Who has work to do now: in progress, or ready. */
  readonly callers: ReadonlySet<string>;
}

export const NO_WORK: WorkFacts = { waiting: new Map(), assignees: new Set(), callers: new Set() };

export interface OpenBeads {
  /** Without `RECORD_TYPES`. */
  readonly open: readonly Bead[];
  readonly inProgress: readonly Bead[];
  /** Those of `open` whose blockers are closed. */
  readonly ready: readonly Bead[];
}

/** Where a piece of work says which agent it is for. Source: Gas City. */
export const ROUTED_TO = 'gc.routed_to';

/** The city's database is where its work is; otherwise only commands can tell. */
export function holdsWorkBeads(city: Pick<City, 'beads'>): boolean {
  return city.beads.provider === 'sqlite' || city.beads.provider === 'file';
}

/** Records and letters are nobody's work. */
export const RECORD_TYPES: readonly string[] = ['session', 'message'];

/**
 * Waiting is what the default scale check counts: ready work without an assignee, work in progress without one, open
 * molecules without one. Source: Gas City default scale check and assigned work.
 */
export function workFacts({ open, inProgress, ready }: OpenBeads): WorkFacts {
  const waiting = new Map<string, Set<string>>();
  const assignees = new Set<string>();
  const callers = new Set<string>();
  const wait = (bead: Bead) => {
    const template = bead.metadata[ROUTED_TO] ?? '';
    if (template === '' || bead.assignee !== '') return;
    const ids = waiting.get(template) ?? new Set();
    waiting.set(template, ids.add(bead.id));
  };
  for (const bead of open) {
    if (bead.issue_type === 'molecule') wait(bead);
    if (bead.assignee !== '') assignees.add(bead.assignee);
  }
  for (const bead of ready) {
    wait(bead);
    if (bead.assignee !== '') callers.add(bead.assignee);
  }
  for (const bead of inProgress) {
    wait(bead);
    if (bead.assignee === '') continue;
    assignees.add(bead.assignee);
    callers.add(bead.assignee);
  }
  return { waiting, assignees, callers };
}

/** Whether one of a session's names is among those who have work. */
export function isAmong(
  who: ReadonlySet<string>,
  record: Pick<SessionRecord, 'id' | 'sessionName' | 'alias'> | undefined,
  identity: string,
): boolean {
  if (who.size === 0) return false;
  return who.has(identity) || (record !== undefined && namesOf(record).some((name) => who.has(name)));
}

function namesOf(record: Pick<SessionRecord, 'id' | 'sessionName' | 'alias'>): readonly string[] {
  return [record.id, record.sessionName, record.alias].filter((name) => name !== '');
}
