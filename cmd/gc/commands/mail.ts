import { type Message, messageJson, type NewMessage } from '../../../internal/beads/message.ts';
import type { MessageChange, MessageStore } from '../../../internal/beads/message-store.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { isBlank, readLetter, replySubject, SendUsageError } from '../mail/letter.ts';
import { type MailRoom, withMailRoom } from '../mail/mail-room.ts';
import { type Mailbox, plainAddress } from '../mail/mailbox.ts';
import { isCitySuspended, tellMail } from '../mail/tell.ts';
import { inboxTable, messageText, threadTable } from '../mail/text.ts';

export const runMailSend: CommandRun = (context, input) =>
  withMailRoom(context, async (room) => {
    const own = await room.book.own();
    const message = input.text('message');
    const letter = readLetter({
      words: input.rest('words'),
      to: input.text('to'),
      subject: input.text('subject'),
      message,
      all: input.flag('all'),
      inSession: own.address !== 'human',
    });
    const { to, subject } = letter;
    if (to.kind === 'self' && to.couldBeAddress && (await room.book.exact(letter.body))) {
      throw new SendUsageError(`there is no text for ${letter.body}`);
    }
    const boxes =
      to.kind === 'all'
        ? await room.book.everybodyElse()
        : [to.kind === 'self' ? own : await room.book.find(to.address)];
    const body = await textOf(context, letter.body);
    const from = plainAddress(input.text('from') ?? '') || own.address;
    const sent = await deliver(
      room,
      boxes,
      boxes.map(({ address }) => ({ from, to: address, subject, body })),
      input.flag('notify'),
    );
    if (context.json) printJson(context, sent.map(messageJson));
    else if (sent.length === 0) context.out.write('Nobody else runs: no message was sent.\n');
    else context.out.write(sent.map(({ id, to: address }) => `Sent message ${id} to ${address}\n`).join(''));
    return 0;
  });

export const runMailReply: CommandRun = (context, input) =>
  withMailRoom(context, async (room) => {
    const id = messageId(input);
    const words = input.rest('text');
    const given = input.text('message') ?? words.join(' ');
    if (isBlank(given) || (input.text('message') !== undefined && words.length > 0)) {
      throw new UsageError('usage: gc mail reply <id> -m <text>', 'gc help mail reply');
    }
    const body = await textOf(context, given);
    const answers = await room.messages.get(id);
    const [own, box] = [await room.book.own(), await room.book.find(answers.from)];
    const subject = input.text('subject') ?? replySubject(answers.subject);
    const reply = { from: own.address, to: box.address, subject, body, answers };
    const sent = await deliver(room, [box], [reply], input.flag('notify'));
    if (context.json) printJson(context, sent.map(messageJson));
    else
      for (const each of sent)
        context.out.write(`Replied to ${id} — sent message ${each.id} to ${each.to}\n`);
    return 0;
  });

export const runMailInbox: CommandRun = (context, input) =>
  withMailRoom(context, async (room) => {
    const box = await room.box(input.optionalArg('who'));
    const unread = await room.messages.unread(box.names);
    if (context.json) printJson(context, unread.map(messageJson));
    else if (unread.length === 0) context.out.write(`No unread messages for ${box.address}\n`);
    else context.out.write(inboxTable(unread, context.out));
    return 0;
  });

export const runMailRead: CommandRun = (context, input) =>
  withMailRoom(context, async (room) => {
    const { address } = await room.book.own();
    print(context, (await room.messages.markRead(messageId(input), address, true)).message);
    return 0;
  });

export const runMailPeek: CommandRun = (context, input) =>
  withMailRoom(context, async (room) => {
    print(context, await room.messages.get(messageId(input)));
    return 0;
  });

/** By the id of the thread or of a message in it. */
export const runMailThread: CommandRun = (context, input) =>
  withMailRoom(context, async (room) => {
    const id = messageId(input);
    let messages = await room.messages.thread(id);
    if (messages.length === 0 && !id.startsWith('thread-')) {
      const { threadId } = await room.messages.get(id);
      messages = await room.messages.thread(threadId);
    }
    if (context.json) printJson(context, messages.map(messageJson));
    else if (messages.length === 0) context.out.write(`No messages in thread ${id}\n`);
    else context.out.write(threadTable(messages, context.out));
    return 0;
  });

export const runMailCount: CommandRun = (context, input) =>
  withMailRoom(context, async (room) => {
    const box = await room.box(input.optionalArg('who'));
    const kept = await room.messages.kept(box.names);
    const unread = kept.filter(({ read }) => !read).length;
    if (context.json) printJson(context, { total: kept.length, unread });
    else context.out.write(`${kept.length} total, ${unread} unread for ${box.address}\n`);
    return 0;
  });

/** 0 with unread mail, 1 without. With `--inject` always 0, and nothing is printed but mail. */
export const runMailCheck: CommandRun = async (context, input) => {
  const who = input.optionalArg('who');
  if (!input.flag('inject')) return withMailRoom(context, (room) => check(room, who));
  try {
    const quiet: Context = { ...context, err: { ...context.err, write: () => undefined } };
    const session = who === undefined ? (context.env['GC_SESSION_NAME'] ?? '') : '';
    await withMailRoom(quiet, async (room) => tellMail(room, await room.box(who), session));
  } catch (error) {
    if (!(error instanceof GcError)) throw error; // what keeps mail from an agent is said by the command without --inject
  }
  return 0;
};

async function check(room: MailRoom, who: string | undefined): Promise<number> {
  const { context } = room;
  const box = await room.box(who);
  const unread = (await room.messages.unread(box.names)).length;
  if (unread > 0 && (await isCitySuspended(context))) {
    throw new GcError('suspended', 'city is suspended', { next: 'gc resume' });
  }
  if (context.json) printJson(context, { unread });
  else if (unread > 0) context.out.write(`${unread} unread message(s) for ${box.address}\n`);
  else if (context.out.isTTY) context.out.write(`No unread messages for ${box.address}\n`);
  return unread > 0 ? 0 : 1;
}

export const runMailMarkRead: CommandRun = (context, input) =>
  change(context, input, {
    apply: (messages, id, actor) => messages.markRead(id, actor),
    done: (id) => `Marked ${id} as read`,
  });

export const runMailMarkUnread: CommandRun = (context, input) =>
  change(context, input, {
    apply: (messages, id, actor) => messages.markUnread(id, actor),
    done: (id) => `Marked ${id} as unread`,
    after: async (room, message) => {
      const box = await room.book.exact(message.to);
      if (box) await room.raise(box);
    },
  });

export const runMailArchive: CommandRun = (context, input) =>
  change(context, input, {
    apply: (messages, id, actor) => messages.archive(id, actor),
    done: (id) => `Archived message ${id}`,
    already: (id) => `Already archived ${id}`,
  });

export const runMailDelete: CommandRun = (context, input) =>
  change(context, input, {
    apply: (messages, id, actor) => messages.delete(id, actor),
    done: (id) => `Deleted message ${id}`,
    already: (id) => `Already deleted ${id}`,
  });

interface Change {
  readonly apply: (messages: MessageStore, id: string, actor: string) => Promise<MessageChange>;
  readonly done: (id: string) => string;
  readonly already?: (id: string) => string;
  readonly after?: (room: MailRoom, message: Message) => Promise<void>;
}

function change(
  context: Context,
  input: Input,
  { apply, done, already = done, after }: Change,
): Promise<number> {
  return withMailRoom(context, async (room) => {
    const id = messageId(input);
    const { address } = await room.book.own();
    const { message, unchanged } = await apply(room.messages, id, address);
    await after?.(room, message);
    context.out.write(`${(unchanged ? already : done)(id)}\n`);
    return 0;
  });
}

/** Sent first, told then: whoever is told finds it. */
async function deliver(
  room: MailRoom,
  boxes: readonly Mailbox[],
  messages: readonly NewMessage[],
  notify: boolean,
): Promise<readonly Message[]> {
  const sent = await room.messages.send(messages);
  for (const box of boxes) await room.raise(box);
  if (notify) for (const [i, box] of boxes.entries()) await room.notify(box, messages[i]?.from ?? '');
  return sent;
}

function messageId(input: Input): string {
  const id = input.optionalArg('id')?.trim();
  if (id) return id;
  throw new UsageError('missing message ID', 'gc mail inbox');
}

/** A single `-` is all of stdin, without its last line end. */
async function textOf(context: Context, given: string): Promise<string> {
  if (given !== '-') return given;
  const text = (await context.readStdin()).replace(/\r?\n$/, '');
  if (isBlank(text)) throw new UsageError('the text on stdin is empty; nothing was sent');
  return text;
}

function print(context: Context, message: Message): void {
  if (context.json) printJson(context, messageJson(message));
  else context.out.write(messageText(message));
}

function printJson(context: Context, data: unknown): void {
  context.out.write(`${JSON.stringify(data, null, 2)}\n`);
}
