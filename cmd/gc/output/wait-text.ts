import type { WaitReply, WaitView } from '../../../internal/controller/wait-api.ts';
import { onePlainLine, plainText } from './plain.ts';
import { renderTable } from './table.ts';

/** Source: Gas City's `session wait`. For a person the session goes by its name. */
export function registeredText({ wait, sleeps }: WaitReply, forPerson: boolean): string {
  const session = forPerson ? onePlainLine(wait.session) : wait.session_id;
  const already = wait.state === 'ready' ? ' (already ready)' : '';
  const asleep = sleeps ? `Session ${session} draining to sleep.\n` : '';
  return `Registered wait ${wait.id} for session ${session}${already}.\n${asleep}`;
}

/** The table of `wait list`, its header even without rows. Source: Gas City. */
export function waitsTable(waits: readonly WaitView[], columns: number | undefined): string {
  const rows = waits.map(({ id, session, state, kind, note }) => [
    id,
    onePlainLine(session),
    state,
    kind,
    onePlainLine(note),
  ]);
  const limits = columns === undefined ? {} : { maxColumns: columns, shrinks: [4, 1] };
  return renderTable(['WAIT', 'SESSION', 'STATE', 'KIND', 'NOTE'], rows, limits);
}

/** Source: Gas City's `wait inspect`; what it does not know is added only where it is there. */
export function waitText(wait: WaitView): string {
  const lines: readonly (readonly [string, string])[] = [
    ['Wait', wait.id],
    ['Session', `${wait.session_id} (${onePlainLine(wait.session)})`],
    ['State', wait.state],
    ['Kind', wait.kind],
    ['Deps', `${wait.dep_ids.join(', ') || '-'} (${wait.dep_mode})`],
    ...(wait.on_sessions.length === 0
      ? []
      : [['Sessions', wait.on_sessions.map(onePlainLine).join(', ')] as const]),
    ...(wait.until === undefined ? [] : [['Until', wait.until] as const]),
    ...(wait.sleep ? [['Sleeps', 'yes'] as const] : []),
    ['Epoch', wait.registered_epoch || '-'],
    ['Attempt', String(wait.delivery_attempt)],
    ['Nudge', wait.nudge_id || '-'],
    ...(wait.expires_at === undefined ? [] : [['Expires', wait.expires_at] as const]),
    ...(wait.retried_from_wait === undefined ? [] : [['Retries', wait.retried_from_wait] as const]),
    ...(wait.last_error === undefined ? [] : [['Error', onePlainLine(wait.last_error)] as const]),
    ['Note', plainText(wait.note)],
  ];
  return lines.map(([label, value]) => `${label}: ${value}\n`).join('');
}

export function canceledText(wait: WaitView): string {
  if (wait.state === 'canceled') return `Updated wait ${wait.id} to canceled.\n`;
  return `Wait ${wait.id} is ${wait.state} already; nothing was changed.\n`;
}

export function readyText({ wait, retried }: WaitReply): string {
  if (retried !== undefined) return `Retried wait ${retried} as ${wait.id}.\n`;
  return `Updated wait ${wait.id} to ready.\n`;
}
