import type { SessionRecord } from './record.ts';

/** What people call a session: its configured identity, else its alias, else its runtime name. */
export function displayName(
  record: Pick<SessionRecord, 'id' | 'namedIdentity' | 'alias' | 'sessionName'>,
): string {
  return record.namedIdentity || record.alias || record.sessionName || record.id;
}

/** What a list calls the thing that other commands take: alias, else runtime name. Source: `gc session list`'s TARGET. */
export function targetName(record: Pick<SessionRecord, 'id' | 'alias' | 'sessionName'>): string {
  return record.alias || record.sessionName || record.id;
}
