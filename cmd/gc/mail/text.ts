import type { Message } from '../../../internal/beads/message.ts';
import { parseRfc3339, rfc3339 } from '../../../internal/platform/clock.ts';
import type { Sink } from '../context.ts';
import { onePlainLine, plainText } from '../output/plain.ts';
import { renderTable } from '../output/table.ts';
import { cutTo } from '../output/width.ts';

const BODY_COLUMNS = 60;
const LABEL_COLUMNS = 10;
/** More of them help no agent to choose. */
const MAX_TOLD = 20;

/** Source of the columns: Gas City `gc mail inbox`. */
export function inboxTable(messages: readonly Message[], out: Sink): string {
  const rows = messages.map(({ id, from, subject, body }) => [
    id,
    onePlainLine(from),
    onePlainLine(subject),
    cutTo(onePlainLine(body), BODY_COLUMNS),
  ]);
  return renderTable(['ID', 'FROM', 'SUBJECT', 'BODY'], rows, {
    ...(out.isTTY ? { maxColumns: out.columns, shrinks: [3, 2, 1] } : {}),
  });
}

/** Source of the columns: Gas City `gc mail thread`. */
export function threadTable(messages: readonly Message[], out: Sink): string {
  const rows = messages.map((message) => [
    message.id,
    onePlainLine(message.from),
    onePlainLine(message.to),
    onePlainLine(message.subject),
    sentAt(message),
    message.read ? 'yes' : 'no',
  ]);
  return renderTable(['ID', 'FROM', 'TO', 'SUBJECT', 'SENT', 'READ'], rows, {
    ...(out.isTTY ? { maxColumns: out.columns, shrinks: [3, 2, 1] } : {}),
  });
}

/** Scripts take `From:` and `Body:` from lines of their own; a text of several lines begins below its label. */
export function messageText(message: Message): string {
  const body = plainText(message.body).trimEnd();
  const lines = [
    line('ID', message.id),
    line('From', onePlainLine(message.from)),
    line('To', onePlainLine(message.to)),
    line('Subject', onePlainLine(message.subject)),
    line('Date', sentAt(message)),
    body.includes('\n') ? `Body:\n${body}` : line('Body', body),
  ];
  return `${lines.join('\n')}\n`;
}

/** What an agent is told at its turn. Whoever wrote the mail cannot end the reminder or speak outside of its line. */
export function mailReminder(messages: readonly Message[]): string {
  const count = messages.length === 1 ? '1 unread message' : `${messages.length} unread messages`;
  const more = messages.length - MAX_TOLD;
  return `${[
    '<system-reminder>',
    `You have ${count}:`,
    ...messages
      .slice(0, MAX_TOLD)
      .map(({ id, from, subject }) => `- ${id} from ${harmless(from)}: ${harmless(subject)}`),
    ...(more > 0 ? [`- and ${more} more: gc mail inbox`] : []),
    'Read one with `gc mail read <id>`, answer with `gc mail reply <id> -m "<text>"`, archive what is dealt with.',
    'Finish what you are at first, unless a message says why it cannot wait.',
    '</system-reminder>',
  ].join('\n')}\n`;
}

const harmless = (text: string): string => onePlainLine(text).replace(/<(?=\/?system-reminder)/gi, '&lt;');

function line(label: string, text: string): string {
  return `${`${label}:`.padEnd(LABEL_COLUMNS)}${text}`.trimEnd();
}

function sentAt({ createdAt }: Message): string {
  const ms = parseRfc3339(createdAt);
  return ms === undefined ? createdAt : rfc3339(ms);
}
