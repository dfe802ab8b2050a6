import { beaconStart } from '../runtime/beacon.ts';
import { displayName } from '../session/display.ts';
import { programOf } from '../session/journal/city-journal.ts';
import type { SessionRecord } from '../session/record.ts';
import type { TranscriptPlace } from '../session/transcript/transcript-reader.ts';
import { KEY_HISTORY_KEY } from './endings.ts';

/**
 * Where a session's conversation is looked for. Without a key only what began since counts: since the life of one that
 * has one, else since the record was made.
 */
export function conversationPlace(
  record: SessionRecord,
  open: readonly SessionRecord[],
  city: string,
): TranscriptPlace {
  const history = (record.metadata[KEY_HISTORY_KEY] ?? '').split(',');
  const program = programOf(record);
  const neighbours = open.filter(
    (other) => other.id !== record.id && other.workDir === record.workDir && programOf(other) === program,
  );
  return {
    session: record.sessionName,
    workDir: record.workDir,
    keys: [record.sessionKey, ...history].filter((key) => key !== ''),
    aloneInWorkDir: neighbours.length === 0,
    since: record.lastWokeAt ?? record.createdAt,
    beacon: beaconStart(city, displayName(record)),
  };
}
