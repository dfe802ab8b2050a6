import type { Environment } from '../../../internal/platform/paths.ts';
import type { SessionRecord } from '../../../internal/session/record.ts';

/** Where somebody's mail is. */
export interface Mailbox {
  /** What messages to it carry. */
  readonly address: string;
  /** Every address whose messages are in it. */
  readonly names: readonly string[];
  /** Whose turns it is told at; `''`: nobody's. */
  readonly sessionName: string;
}

/** The mailbox of the people of a city. */
export const PEOPLE: Mailbox = { address: 'human', names: ['human'], sessionName: '' };

/** Without blanks around it and one slash at its end. Source: Gas City's mail addresses. */
export function plainAddress(text: string): string {
  return text.trim().replace(/\/$/, '');
}

/** A mailbox that nobody is known to have. */
export function literalMailbox(address: string): Mailbox {
  return { address, names: [address], sessionName: '' };
}

/**
 * The mailbox of a session: its alias, else its id. What was sent to any of its names, or to an alias that it had and
 * nobody has now, is in it. Source: Gas City session mailboxes. `open`: every open record.
 */
export function mailboxOf(record: SessionRecord, open: readonly SessionRecord[]): Mailbox {
  const others = new Set(open.filter(({ id }) => id !== record.id).flatMap(namesOf));
  const former = (record.metadata['alias_history'] ?? '').split(',').map((name) => name.trim());
  const names = [...namesOf(record), ...former.filter((name) => name !== '' && !others.has(name))];
  return {
    address: heldIdentity(record) || record.alias || record.id,
    names: [...new Set(names)],
    sessionName: record.sessionName,
  };
}

/** The open session whose id, identity, session name or alias this is. */
export function sessionCalled(name: string, open: readonly SessionRecord[]): SessionRecord | undefined {
  return name === '' ? undefined : open.find((record) => namesOf(record).includes(name));
}

/**
 * The mailbox of whoever runs a command: its session's, else that of the name in its environment, else the people's.
 * Source: Gas City's mail identity.
 */
export function ownMailbox(env: Environment, open: readonly SessionRecord[]): Mailbox {
  const { GC_ALIAS: alias, GC_SESSION_ID: id, GC_AGENT: agent, GC_SESSION_NAME: sessionName } = env;
  const name = alias || id || agent;
  if (!name) return PEOPLE;
  const record = sessionCalled(id ?? '', open) ?? sessionCalled(name, open);
  if (record) return mailboxOf(record, open);
  const names = [alias, id, agent, sessionName].flatMap((each) => (each ? [each] : []));
  return { address: name, names: [...new Set(names)], sessionName: sessionName ?? '' };
}

function namesOf(record: SessionRecord): readonly string[] {
  return [record.id, heldIdentity(record), record.sessionName, record.alias].filter((name) => name !== '');
}

/** A retired record no longer answers to the identity that it had. */
const heldIdentity = (record: SessionRecord): string =>
  record.metadata['continuity_eligible'] === 'false' ? '' : record.namedIdentity;
