/**
 * The event types of a city. Any other string is legal too: readers ignore what they do not know.
 * Source: Gas City's event log; the last group is ours.
 * @public
 */
export const EVENT_TYPES = [
  'controller.started',
  'controller.stopped',
  'city.suspended',
  'city.resumed',
  'session.woke',
  'session.stopped',
  'session.crashed',
  'session.draining',
  'session.undrained',
  'session.quarantined',
  'session.idle_killed',
  'session.suspended',
  'session.updated',
  'bead.created',
  'bead.updated',
  'bead.closed',
  'mail.sent',
  'mail.read',
  'mail.archived',
  'mail.marked_read',
  'mail.marked_unread',
  'mail.replied',
  'mail.deleted',
  'convoy.created',
  'convoy.closed',
  'order.fired',
  'order.completed',
  'order.failed',
  'provider.swapped',
  'extmsg.bound',
  'extmsg.unbound',
  'extmsg.group_created',
  'extmsg.adapter_added',
  'extmsg.adapter_removed',
  'extmsg.inbound',
  'extmsg.outbound',
  /** Every session went together with the server or host that held it: one event, nobody's fault. */
  'provider.lost',
  /** A waiting session tries again, or a person lifted its quarantine. */
  'session.released',
  /** A start has waited long for memory or processors of the machine. */
  'session.waits_for_room',
  /** An account of an agent program may not work for a while: its sessions wait. */
  'account.limited',
  /** A message to an agent waits, arrived after it had waited, ran out of time, or was given up. */
  'nudge.queued',
  'nudge.delivered',
  'nudge.expired',
  'nudge.dead',
  /** The end of `events.jsonl` was damaged and has been mended. */
  'events.repaired',
] as const;

/** The actor of everything that the controller does by itself. */
export const CONTROLLER_ACTOR = 'gc';

/** Who a command acts for. Source: the CLI actor rule, first non-empty of these, else `human`. */
export function commandActor(env: Readonly<Record<string, string | undefined>>): string {
  return env['GC_ALIAS'] || env['GC_AGENT'] || env['GC_SESSION_ID'] || 'human';
}
