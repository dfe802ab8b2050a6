import { beadJson } from '../beads/bead-json.ts';
import type { CityDatabase } from '../beads/sqlite/city-database.ts';
import type { Bead } from '../beads/store.ts';
import type { WorkBeads, WorkTransaction } from '../beads/work.ts';
import type { Agent, City } from '../config/city.ts';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { SESSION_BEAD_TYPE, type SessionRecord } from '../session/record.ts';
import { slotNamed } from './pools.ts';
import { isAmong, ROUTED_TO } from './work-facts.ts';

/** Where work and the records of those who have it are: in one database, or in two places. */
export interface WorkAndRecords {
  readonly work: WorkBeads;
  readonly db: CityDatabase;
}

/** Work in progress in the hands of one of these names waits for anybody again. Answers the ids. */
export function releaseWorkOf(work: WorkBeads, names: readonly string[]): Promise<readonly string[]> {
  return work.transaction((tx) =>
    [...new Set(names)]
      .filter((name) => name !== '')
      .flatMap((assignee) => tx.beads.list({ status: 'in_progress', assignee }))
      .map((bead) => release(tx, bead)),
  );
}

/**
 * Work in progress of a pool in the hands of a session that is no more waits for anybody again. What a living session, a
 * stopped one that comes back, a named one or a person has is left alone: the default on_boot of Gas City takes it from
 * everybody, also from workers that live on while the controller restarts.
 */
export async function releaseOrphanedWork(
  { work, db }: WorkAndRecords,
  city: City,
  agent: Agent,
  records: readonly SessionRecord[],
): Promise<readonly string[]> {
  const held = { status: 'in_progress', metadata: { [ROUTED_TO]: agent.qualifiedName } } as const;
  const holders = new Set((await work.list(held)).map(({ assignee }) => assignee));
  holders.delete('');
  if (holders.size === 0) return [];
  // A closed session stays closed, so what is found before the transaction holds in it.
  const orphaning = await db.read(
    () => new Set([...holders].filter((assignee) => isOrphaned(db, city, agent, records, assignee))),
  );
  if (orphaning.size === 0) return [];
  return work.transaction((tx) =>
    tx.beads
      .list(held)
      .filter(({ assignee }) => orphaning.has(assignee))
      .map((bead) => release(tx, bead)),
  );
}

function isOrphaned(
  db: CityDatabase,
  city: City,
  agent: Agent,
  records: readonly SessionRecord[],
  assignee: string,
): boolean {
  const slot = slotNamed(city, agent, assignee);
  const names = new Set(slot ? [slot.identity, slot.sessionName] : [assignee]);
  if (records.some((record) => isAmong(names, record, ''))) return false;
  return slot !== undefined || isClosedSession(db, agent, assignee);
}

function isClosedSession(db: CityDatabase, agent: Agent, id: string): boolean {
  const bead = db.beadTable.find(id);
  return (
    bead?.issue_type === SESSION_BEAD_TYPE &&
    bead.status === 'closed' &&
    bead.metadata['template'] === agent.qualifiedName
  );
}

function release(tx: WorkTransaction, bead: Bead): string {
  const after = tx.beads.update(bead.id, { assignee: '' });
  tx.recordEvent({
    type: 'bead.updated',
    actor: CONTROLLER_ACTOR,
    subject: bead.id,
    message: `released: ${bead.assignee} is no more`,
    payload: beadJson(after),
  });
  return bead.id;
}
