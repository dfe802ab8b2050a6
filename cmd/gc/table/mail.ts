import { type ArgSpec, type CommandSpec, type GroupSpec, JSON_OPTION, type OptionSpec } from '../cli/spec.ts';

const WHO: ArgSpec = {
  name: 'who',
  summary: 'a session, or human; without it whoever asks',
  optional: true,
  completes: 'session',
};

/** Optional for the parser: the command says what is missing. */
const ID: ArgSpec = { name: 'id', summary: 'a message, as gc mail inbox lists it', optional: true };

const SUBJECT: OptionSpec = { name: 'subject', short: 's', value: 'subject', summary: 'one line' };
const MESSAGE: OptionSpec = {
  name: 'message',
  short: 'm',
  value: 'text',
  summary: 'the text; - reads it from stdin',
};
const NOTIFY: OptionSpec = { name: 'notify', summary: 'also nudge the session, when it is idle' };

const archive: CommandSpec = {
  path: 'mail archive',
  summary: 'Take a message out of the inbox; it stays in its thread.',
  args: [ID],
  examples: [{ command: 'gc mail archive gc-12', explains: 'it is dealt with' }],
  city: true,
  load: async () => (await import('../commands/mail.ts')).runMailArchive,
};

const check: CommandSpec = {
  path: 'mail check',
  summary: 'Say whether there is unread mail.',
  args: [WHO],
  options: [
    { name: 'inject', summary: 'called by a turn hook: as a reminder for the agent, each message once' },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc mail check mayor && echo mail', explains: 'the exit code says whether there is any' },
  ],
  exits: [
    { code: 1, when: 'there is no unread mail, or the city is suspended (with --inject it is always 0)' },
  ],
  city: true,
  load: async () => (await import('../commands/mail.ts')).runMailCheck,
};

const count: CommandSpec = {
  path: 'mail count',
  summary: 'Count the messages of a mailbox.',
  args: [WHO],
  options: [JSON_OPTION],
  examples: [{ command: 'gc mail count', explains: 'all that are not archived, and the unread ones' }],
  city: true,
  load: async () => (await import('../commands/mail.ts')).runMailCount,
};

const remove: CommandSpec = {
  path: 'mail delete',
  summary: 'Take a message out of the inbox and of its thread.',
  args: [ID],
  examples: [{ command: 'gc mail delete gc-12', explains: 'it is not shown any more' }],
  city: true,
  load: async () => (await import('../commands/mail.ts')).runMailDelete,
};

const inbox: CommandSpec = {
  path: 'mail inbox',
  summary: 'List unread mail, oldest first.',
  args: [WHO],
  options: [JSON_OPTION],
  examples: [
    { command: 'gc mail inbox', explains: 'inside a session: its own; else that of people' },
    { command: 'gc mail inbox mayor', explains: 'what the mayor has not read yet' },
  ],
  city: true,
  load: async () => (await import('../commands/mail.ts')).runMailInbox,
};

const markRead: CommandSpec = {
  path: 'mail mark-read',
  summary: 'Mark a message as read.',
  args: [ID],
  examples: [{ command: 'gc mail mark-read gc-12', explains: 'without showing it' }],
  city: true,
  load: async () => (await import('../commands/mail.ts')).runMailMarkRead,
};

const markUnread: CommandSpec = {
  path: 'mail mark-unread',
  summary: 'Mark a message as unread.',
  args: [ID],
  examples: [{ command: 'gc mail mark-unread gc-12', explains: 'it is in the inbox again' }],
  city: true,
  load: async () => (await import('../commands/mail.ts')).runMailMarkUnread,
};

const peek: CommandSpec = {
  path: 'mail peek',
  summary: 'Show a message and leave it unread.',
  args: [ID],
  options: [JSON_OPTION],
  examples: [{ command: 'gc mail peek gc-12', explains: 'somebody else is to read it' }],
  city: true,
  load: async () => (await import('../commands/mail.ts')).runMailPeek,
};

const read: CommandSpec = {
  path: 'mail read',
  summary: 'Show a message and mark it as read.',
  args: [ID],
  options: [JSON_OPTION],
  examples: [{ command: 'gc mail read gc-12', explains: 'all of it' }],
  city: true,
  load: async () => (await import('../commands/mail.ts')).runMailRead,
};

const reply: CommandSpec = {
  path: 'mail reply',
  summary: 'Answer a message, in its thread.',
  args: [ID, { name: 'text', summary: 'the answer, instead of -m', optional: true, variadic: true }],
  options: [SUBJECT, MESSAGE, NOTIFY, JSON_OPTION],
  examples: [{ command: 'gc mail reply gc-12 -m "It is done"', explains: 'to whoever sent it' }],
  city: true,
  load: async () => (await import('../commands/mail.ts')).runMailReply,
};

const send: CommandSpec = {
  path: 'mail send',
  summary: 'Send a message to a session, to all, or to human.',
  details:
    'It is kept until it is read: a session that does not run finds it when it starts. Names are those of gc session list; a ' +
    'slash at the end does not matter. Inside a session a text without a recipient goes to the session itself.',
  args: [{ name: 'words', summary: 'the recipient and the text', optional: true, variadic: true }],
  options: [
    { name: 'to', value: 'session', summary: 'the recipient', completes: 'session' },
    { name: 'all', summary: 'every session that runs, but the own' },
    SUBJECT,
    MESSAGE,
    NOTIFY,
    { name: 'from', value: 'name', summary: 'the sender (default: the session, else human)' },
    JSON_OPTION,
  ],
  examples: [
    { command: 'gc mail send mayor "The parser is done"', explains: 'its first line is the subject' },
    { command: 'gc mail send app/witness -s "app-12" -m - < report.md', explains: 'a file as the text' },
    { command: 'gc mail send human "May I deploy?"', explains: 'to the people of the city' },
  ],
  city: true,
  load: async () => (await import('../commands/mail.ts')).runMailSend,
};

const thread: CommandSpec = {
  path: 'mail thread',
  summary: 'List a message and all that belong to it.',
  args: [{ ...ID, summary: 'a thread, or a message in it' }],
  options: [JSON_OPTION],
  examples: [{ command: 'gc mail thread gc-12', explains: 'archived ones too' }],
  city: true,
  load: async () => (await import('../commands/mail.ts')).runMailThread,
};

export const mailGroup: GroupSpec = {
  word: 'mail',
  heading: 'Work',
  summary: 'Write to agents and people, and read what they wrote.',
  bare: 'error',
  commands: [archive, check, count, remove, inbox, markRead, markUnread, peek, read, reply, send, thread],
};
