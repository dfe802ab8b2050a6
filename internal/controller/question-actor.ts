import { GcError } from '../platform/errors.ts';
import type { SessionRecord } from '../session/record.ts';

/**
 * An agent cannot answer its own question, nor make a rule that does, also not past the command line. Whoever asks says
 * who it is: this keeps honest programs honest, and the account is no boundary. @throws GcError `answered-by-agent`
 */
export function refuseSessions(actor: string, records: readonly SessionRecord[], what: string): void {
  const own = records.find((record) => namesOf(record).includes(actor));
  if (!own) return;
  throw new GcError(
    'answered-by-agent',
    `${what} is for a person: an agent cannot answer its own question, and ${actor} is a session of this city`,
    { next: 'let a person run it, in a terminal of their own' },
  );
}

function namesOf({ id, sessionName, alias, namedIdentity, agentName }: SessionRecord): readonly string[] {
  return [id, sessionName, alias, namedIdentity, agentName].filter((name) => name !== '');
}
