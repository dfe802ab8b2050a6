import { beadJson } from '../beads/bead-json.ts';
import type { CityDatabase, CityTransaction } from '../beads/sqlite/city-database.ts';
import type { Bead } from '../beads/store.ts';
import type { Agent, City } from '../config/city.ts';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { SESSION_BEAD_TYPE, type SessionRecord } from '../session/record.ts';
import { slotNamed } from './pools.ts';
import { isAmong, ROUTED_TO } from './work-facts.ts';

/** Work in progress in the hands of one of these names waits for anybody again. Answers the ids. */
export function releaseWorkOf(db: CityDatabase, names: readonly string[]): Promise<readonly string[]> {
  return db.transaction((tx) =>
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
export function releaseOrphanedWork(
  db: CityDatabase,
  city: City,
  agent: Agent,
  records: readonly SessionRecord[],
): Promise<readonly string[]> {
  return db.transaction((tx) =>
    tx.beads
      .list({ status: 'in_progress', metadata: { [ROUTED_TO]: agent.qualifiedName } })
      .filter(({ assignee }) => assignee !== '' && isOrphaned(tx, city, agent, records, assignee))
      .map((bead) => release(tx, bead)),
  );
}

function isOrphaned(
  tx: CityTransaction,
  city: City,
  agent: Agent,
  records: readonly SessionRecord[],
  assignee: string,
): boolean {
  const slot = slotNamed(city, agent, assignee);
  const names = new Set(slot ? [slot.identity, slot.sessionName] : [assignee]);
  if (records.some((record) => isAmong(names, record, ''))) return false;
  return slot !== undefined || isClosedSession(tx, agent, assignee);
}

function isClosedSession(tx: CityTransaction, agent: Agent, id: string): boolean {
  const bead = tx.beads.find(id);
  return (
    bead?.issue_type === SESSION_BEAD_TYPE &&
    bead.status === 'closed' &&
    bead.metadata['template'] === agent.qualifiedName
  );
}

function release(tx: CityTransaction, bead: Bead): string {
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
