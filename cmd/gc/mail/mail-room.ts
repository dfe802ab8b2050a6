import { MessageStore } from '../../../internal/beads/message-store.ts';
import { cityRuntimeDir, raiseTurnFlag } from '../../../internal/controller/turn-flags.ts';
import { messageOf } from '../../../internal/platform/errors.ts';
import { type CityStore, withCityStore } from '../city/city-store.ts';
import type { Context } from '../context.ts';
import { onePlainLine } from '../output/plain.ts';
import { AddressBook } from './address-book.ts';
import type { Mailbox } from './mailbox.ts';
import { nudgeIdle } from './nudge-idle.ts';

/** What every mail command works with. */
export class MailRoom {
  readonly context: Context;
  readonly store: CityStore;
  readonly messages: MessageStore;
  readonly book: AddressBook;

  constructor(context: Context, store: CityStore) {
    this.context = context;
    this.store = store;
    this.messages = new MessageStore(store.work, store.db.ids);
    this.book = new AddressBook(context, store);
  }

  /** The mailbox that a command looks into: the one that is named, else the own. */
  async box(who: string | undefined): Promise<Mailbox> {
    if (who === undefined) return this.book.own();
    return this.book.findBox(who, async (address) => (await this.messages.kept([address])).length > 0);
  }

  /** The session looks for mail at its next turn. The mail itself is safe already: a failure is only said. */
  async raise({ sessionName, address }: Mailbox): Promise<void> {
    if (sessionName === '') return;
    try {
      await raiseTurnFlag(cityRuntimeDir(this.store.root), sessionName, 'mail');
    } catch (error) {
      this.#say(`${address} will not be told of it at its next turn: ${messageOf(error)}`);
    }
  }

  /** Says at once that there is mail, where that disturbs nobody. */
  async notify(box: Mailbox, from: string): Promise<void> {
    if (box.sessionName === '') return;
    const text = `You have mail from ${onePlainLine(from)}`;
    const { root } = this.store;
    const why = await nudgeIdle(this.context, root, (api) => api.session(box.sessionName), text);
    if (why !== undefined)
      this.#say(`${box.address} was not nudged (${why}); it sees the message at its next turn`);
  }

  #say(text: string): void {
    this.context.err.write(`gc mail: ${text}\n`);
  }
}

/** @throws NoCityError */
export function withMailRoom<T>(context: Context, work: (room: MailRoom) => Promise<T>): Promise<T> {
  return withCityStore(context, (store) => work(new MailRoom(context, store)));
}
