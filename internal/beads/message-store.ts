import { GcError } from '../platform/errors.ts';
import type { Ids } from '../platform/ids.ts';
import {
  CLOSE_REASON,
  DELETED,
  MESSAGE_TYPE,
  type Message,
  messageJson,
  type NewMessage,
  newMessageBead,
  READ_LABEL,
  threadLabel,
  toMessage,
} from './message.ts';
import type { BeadPatch } from './store.ts';
import type { WorkBeads, WorkTransaction, WorkView } from './work.ts';

const THREAD_ID_BYTES = 6;

export interface MessageChange {
  readonly message: Message;
  /** It was so already: nothing was written. */
  readonly unchanged: boolean;
}

type Reason = 'mail.read' | 'mail.marked_read' | 'mail.marked_unread' | 'mail.archived' | 'mail.deleted';

/**
 * The mail of a city: beads of type `message` where its work is. Every change and its `mail.*` event are one
 * transaction. Source of the events: Gas City (subject = message, actor = who did it).
 * @throws GcError `message-not-found`, `not-a-message`
 */
export class MessageStore {
  readonly #work: WorkBeads;
  readonly #ids: Pick<Ids, 'hex'>;

  constructor(work: WorkBeads, ids: Pick<Ids, 'hex'>) {
    this.#work = work;
    this.#ids = ids;
  }

  /** All of them are sent or none. */
  send(messages: readonly NewMessage[]): Promise<readonly Message[]> {
    return this.#work.transaction((tx) => messages.map((message) => this.#send(tx, message)));
  }

  get(id: string): Promise<Message> {
    return this.#work.look((view) => messageOf(view, id));
  }

  /** What was sent to one of these addresses and is neither archived nor deleted, oldest first. */
  kept(addresses: readonly string[]): Promise<readonly Message[]> {
    return this.#work.look((view) =>
      [...new Set(addresses)]
        .flatMap((assignee) => view.list({ type: MESSAGE_TYPE, assignee }))
        .map(toMessage)
        .sort((a, b) => byAge(a, b)),
    );
  }

  async unread(addresses: readonly string[]): Promise<readonly Message[]> {
    return (await this.kept(addresses)).filter((message) => !message.read);
  }

  /** Oldest first, archived ones too. */
  thread(threadId: string): Promise<readonly Message[]> {
    return this.#work.look((view) =>
      view
        .list({ type: MESSAGE_TYPE, label: threadLabel(threadId), includeClosed: true })
        .map(toMessage)
        .filter(({ state }) => state !== 'deleted'),
    );
  }

  /** `opened`: it was shown, too. */
  markRead(id: string, actor: string, opened = false): Promise<MessageChange> {
    const reason = opened ? 'mail.read' : 'mail.marked_read';
    return this.#change(id, actor, reason, ({ read }) => (read ? undefined : { addLabels: [READ_LABEL] }));
  }

  markUnread(id: string, actor: string): Promise<MessageChange> {
    return this.#change(id, actor, 'mail.marked_unread', ({ read }) =>
      read ? { removeLabels: [READ_LABEL] } : undefined,
    );
  }

  /** Out of the inbox; it stays in its thread. */
  archive(id: string, actor: string): Promise<MessageChange> {
    return this.#change(id, actor, 'mail.archived', ({ state }) =>
      state === 'kept' ? { status: 'closed', metadata: { [CLOSE_REASON]: 'archived' } } : undefined,
    );
  }

  /** Out of the inbox and of its thread. */
  delete(id: string, actor: string): Promise<MessageChange> {
    return this.#change(id, actor, 'mail.deleted', ({ state }) =>
      state === 'deleted' ? undefined : { status: 'closed', metadata: { [CLOSE_REASON]: DELETED } },
    );
  }

  #send(tx: WorkTransaction, message: NewMessage): Message {
    const bead = tx.createBead(newMessageBead(message, `thread-${this.#ids.hex(THREAD_ID_BYTES)}`));
    const sent = toMessage(bead);
    tx.recordEvent({
      type: message.answers ? 'mail.replied' : 'mail.sent',
      actor: sent.from,
      subject: sent.id,
      message: sent.to,
      payload: { message: messageJson(sent) },
    });
    return sent;
  }

  #change(
    id: string,
    actor: string,
    type: Reason,
    patchOf: (message: Message) => BeadPatch | undefined,
  ): Promise<MessageChange> {
    return this.#work.transaction((tx) => {
      const before = messageOf(tx.beads, id);
      const patch = patchOf(before);
      if (!patch) return { message: before, unchanged: true };
      const message = toMessage(tx.beads.update(id, patch));
      tx.recordEvent({ type, actor, subject: id, message: message.to });
      return { message, unchanged: false };
    });
  }
}

function messageOf(beads: WorkView, id: string): Message {
  const bead = beads.find(id);
  if (!bead) throw new GcError('message-not-found', `message not found: ${id}`, { next: 'gc mail inbox' });
  if (bead.issue_type === MESSAGE_TYPE) return toMessage(bead);
  throw new GcError('not-a-message', `${id} is a ${bead.issue_type}, not a message`, {
    next: `gc bd show ${id}`,
  });
}

/** Ids end in a number that grows. */
function byAge(a: Message, b: Message): number {
  return a.createdAt.localeCompare(b.createdAt) || numberOf(a.id) - numberOf(b.id);
}

const numberOf = (id: string): number => Number(/(\d+)$/.exec(id)?.[1] ?? 0);
