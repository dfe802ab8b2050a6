import type { NudgeItem, NudgeQueue, NudgeReply } from '../../../internal/controller/city-api.ts';
import { parseRfc3339 } from '../../../internal/platform/clock.ts';
import { shortDuration } from '../../../internal/platform/duration.ts';
import { GcError, unreachable } from '../../../internal/platform/errors.ts';
import { onePlainLine } from './plain.ts';
import { renderTable } from './table.ts';
import { age } from './times.ts';
import { shellWord } from './words.ts';

/**
 * The line about a nudge that arrived or waits. Into a pipe it starts with `Nudged <session>` or `Queued nudge for
 * <session>`, which scripts match.
 * @throws GcError for every other outcome
 */
export function nudgeText(reply: NudgeReply, forPerson: boolean, now: number): string {
  const { session, outcome } = reply;
  const name = shellWord(session);
  switch (outcome.kind) {
    case 'delivered': {
      const took = shortDuration(outcome.tookMs);
      if (outcome.verified) {
        return forPerson ? `${session} took it (submitted in ${took})\n` : `Nudged ${session}\n`;
      }
      return forPerson
        ? `sent to ${session} in ${took}; nothing on its screen confirms that it was taken    gc session peek ${name}\n`
        : `Nudged ${session} (not confirmed by its screen)\n`;
    }
    case 'queued': {
      if (!forPerson) return `Queued nudge for ${session}\n`;
      const left = Math.max(0, (parseRfc3339(outcome.expires_at) ?? now) - now);
      const status = `gc nudge status ${name}`;
      return `queued for ${session}, ${onePlainLine(outcome.why)}; delivered when idle, at the latest refused in ${wholeAge(left)}    ${status}\n`;
    }
    case 'no-session':
      throw new GcError('session-not-running', `session "${session}" is not running`, {
        next: `gc session wake ${name}`,
      });
    case 'empty':
      throw new GcError('empty-message', 'the message is empty; nothing was sent');
    case 'busy':
      throw new GcError('agent-busy', `${session} is busy: ${outcome.detail}; nothing was typed`, {
        next: `gc nudge ${name} ..., which waits in the queue`,
      });
    case 'unsubmitted':
      throw new GcError(
        'nudge-unsubmitted',
        `the text sits unsubmitted in the composer of ${session}: ${outcome.detail}`,
        { next: `gc session attach ${name}` },
      );
    case 'failed':
      throw new GcError('nudge-failed', `${session} did not get it: ${outcome.detail}`, {
        next: `gc session peek ${name}`,
      });
    default:
      return unreachable(outcome);
  }
}

/** What has just begun counts in full, and a day is 24 hours: `24h`, not `23h` and not `1d`. */
function wholeAge(ms: number): string {
  const [minuteMs, hourMs] = [60_000, 3_600_000];
  if (ms < minuteMs || ms >= 48 * hourMs) return age(ms);
  const minutes = Math.ceil(ms / minuteMs);
  return minutes < 60 ? `${minutes}m` : `${Math.round(minutes / 60)}h`;
}

/** The table of what waits per session, and a line per message. Source: Gas City's `nudge status`. */
export function nudgeQueuesText(queues: readonly NudgeQueue[]): string {
  const rows = queues.map((queue) => [
    queue.agent,
    String(queue.waiting - queue.in_flight.length),
    String(queue.in_flight.length),
    String(queue.dead.length),
    queue.session,
  ]);
  const table = renderTable(['AGENT', 'PENDING', 'IN_FLIGHT', 'DEAD', 'SESSION'], rows);
  return table + queues.flatMap(queueLines).join('');
}

function queueLines(queue: NudgeQueue): readonly string[] {
  const line = (word: string, item: NudgeItem, facts: string) =>
    `${word.padEnd(9)} ${item.id}  ${facts}  source=${item.source}  from=${item.sender}  ${excerpt(item)}\n`;
  const left = queue.waiting - queue.in_flight.length - queue.pending.length;
  return [
    ...queue.pending.map((item) => line('pending', item, `due=${item.deliver_after}${triesOf(item)}`)),
    ...(left > 0 ? [`          and ${left} more\n`] : []),
    ...queue.in_flight.map((item) =>
      line('in-flight', item, `lease=${item.lease_until ?? 'over'}${triesOf(item)}`),
    ),
    ...queue.dead.map((item) => line('dead', item, `reason=${quoted(item.last_error ?? item.state)}`)),
  ];
}

function triesOf({ attempts, last_error }: NudgeItem): string {
  return attempts === 0 ? '' : `  attempts=${attempts}${last_error ? `  last=${quoted(last_error)}` : ''}`;
}

const quoted = (text: string): string => JSON.stringify(onePlainLine(text));

const EXCERPT_LENGTH = 60;

function excerpt({ message }: NudgeItem): string {
  const text = onePlainLine(message);
  return text.length > EXCERPT_LENGTH ? `${text.slice(0, EXCERPT_LENGTH)}…` : text;
}
