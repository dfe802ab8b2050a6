import type { Bead, NewBead } from './store.ts';

/** Type of the beads that are mail. */
export const MESSAGE_TYPE = 'message';

const MESSAGE_LABEL = 'gc:message';
export const READ_LABEL = 'read';
const THREAD = 'thread:';
const REPLY_TO = 'reply-to:';
/** Why a message was closed; another closed one counts as archived. */
export const CLOSE_REASON = 'close_reason';
export const DELETED = 'deleted';
const SUBJECT_CHARACTERS = 80;

/** Mail from one mailbox to another: a typed look at its bead. Source: Gas City message beads. */
export interface Message {
  readonly id: string;
  readonly from: string;
  /** The address that it was sent to. */
  readonly to: string;
  readonly subject: string;
  readonly body: string;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly read: boolean;
  /** `''` when it is in no thread. */
  readonly threadId: string;
  /** The message that it answers; `''` for none. */
  readonly replyTo: string;
  readonly state: 'kept' | 'archived' | 'deleted';
}

export interface NewMessage {
  readonly from: string;
  readonly to: string;
  /** `''`: the first line of the body. */
  readonly subject: string;
  readonly body: string;
  /** The message that it answers: it joins its thread. */
  readonly answers?: Message;
}

export function toMessage(bead: Bead): Message {
  return {
    id: bead.id,
    from: bead.from,
    to: bead.assignee,
    subject: bead.title,
    body: bead.description,
    createdAt: bead.created_at,
    read: bead.labels.includes(READ_LABEL),
    threadId: labelled(bead, THREAD),
    replyTo: labelled(bead, REPLY_TO),
    state: stateOf(bead),
  };
}

/** `threadId`: the thread that it opens, unless it answers a message that is in one. */
export function newMessageBead(message: NewMessage, threadId: string): NewBead {
  const { answers } = message;
  return {
    title: message.subject.trim() || headline(message.body, SUBJECT_CHARACTERS),
    issue_type: MESSAGE_TYPE,
    from: message.from,
    assignee: message.to,
    description: message.body,
    labels: [
      MESSAGE_LABEL,
      THREAD + (answers?.threadId || threadId),
      ...(answers ? [REPLY_TO + answers.id] : []),
    ],
  };
}

export const threadLabel = (threadId: string): string => THREAD + threadId;

/** The first line that says something, cut to so many characters. */
export function headline(text: string, characters: number): string {
  const line = [...(text.trim().split('\n')[0] ?? '').trim()];
  return line.length <= characters ? line.join('') : `${line.slice(0, characters - 1).join('')}…`;
}

/** What programs read of a message. Source: Gas City's mail JSON; what is empty is left out. */
export function messageJson(message: Message): Readonly<Record<string, unknown>> {
  return {
    id: message.id,
    from: message.from,
    to: message.to,
    subject: message.subject,
    body: message.body,
    created_at: message.createdAt,
    read: message.read,
    ...(message.threadId === '' ? {} : { thread_id: message.threadId }),
    ...(message.replyTo === '' ? {} : { reply_to: message.replyTo }),
  };
}

function labelled(bead: Bead, prefix: string): string {
  return bead.labels.find((label) => label.startsWith(prefix))?.slice(prefix.length) ?? '';
}

function stateOf(bead: Bead): Message['state'] {
  if (bead.status !== 'closed') return 'kept';
  return bead.metadata[CLOSE_REASON] === DELETED ? 'deleted' : 'archived';
}
