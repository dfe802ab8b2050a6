import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { displayName } from '../session/display.ts';
import { InboxStore } from '../session/inbox-store.ts';
import type { SessionRecord } from '../session/record.ts';
import type { CityEngine } from './city-engine.ts';
import { InboxDelivery } from './inbox-delivery.ts';
import { InboxDesk } from './inbox-desk.ts';
import { commandOwner, controllerOwner } from './inbox-owner.ts';
import { InboxWatch } from './inbox-watch.ts';
import type { Sighting } from './passes.ts';
import { SessionVerbs } from './session-verbs.ts';

/** Everything about messages that a controller does. */
export class InboxKeeper {
  readonly store: InboxStore;
  readonly delivery: InboxDelivery;
  readonly #watch: InboxWatch;

  constructor(engine: CityEngine, poke: () => void, trouble: (error: unknown) => void) {
    this.store = new InboxStore(engine.parts.db);
    const owner = controllerOwner(engine.parts.ids.hex(8));
    this.delivery = new InboxDelivery({
      engine,
      store: this.store,
      owner,
      trouble,
      // The wait that it tells of is over now.
      ended: (row) => (row.source === 'wait' ? poke() : undefined),
    });
    const verbs = new SessionVerbs({ engine, actor: CONTROLLER_ACTOR, controlled: true, poke });
    this.#watch = new InboxWatch({
      engine,
      store: this.store,
      delivery: this.delivery,
      wake: (sessionName) => verbs.ready(sessionName, 'submit'),
    });
  }

  async passed(sighting: Sighting | undefined): Promise<void> {
    if (sighting) await this.#watch.look(sighting);
  }

  /** The wall clock went on, or back, by so much without anybody who ran. */
  async credit(wallShiftMs: number): Promise<void> {
    await this.store.credit(wallShiftMs);
    this.delivery.deadlinesMoved();
  }

  activity(sessionName: string): void {
    this.delivery.activity(sessionName);
  }

  /** A message of the city itself to this very session; a second one with the same id is the same. */
  async say(record: SessionRecord, id: string, message: string): Promise<void> {
    const { row } = await this.store.enqueue({
      agent: displayName(record),
      sessionName: record.sessionName,
      boundSessionId: record.id,
      template: record.origin === 'manual' ? '' : record.template,
      id: `nudge-${id}`,
      sender: CONTROLLER_ACTOR,
      source: 'session',
      delivery: 'queue',
      message,
    });
    if (row.endedMs === undefined) this.delivery.kick(row.sessionName);
  }

  end(): Promise<void> {
    return this.delivery.end();
  }
}

export interface DeskSurroundings {
  readonly engine: CityEngine;
  readonly verbs: SessionVerbs;
  /** Of the controller of this process. */
  readonly keeper: InboxKeeper | undefined;
  readonly actor: () => string;
  readonly poke: () => void;
}

/** Takes messages in, beside the controller or without one. */
export function inboxDeskOf({ engine, verbs, keeper, actor, poke }: DeskSurroundings): InboxDesk {
  const store = keeper?.store ?? new InboxStore(engine.parts.db);
  const ownDelivery = () =>
    new InboxDelivery({
      engine,
      store,
      owner: commandOwner(process.pid),
      trouble: (error) => engine.parts.log(String(error)),
    });
  return new InboxDesk({
    engine,
    verbs,
    store,
    delivery: keeper ? () => keeper.delivery : ownDelivery,
    controlled: keeper !== undefined,
    actor,
    poke,
  });
}
