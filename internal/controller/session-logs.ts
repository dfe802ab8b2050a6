import { GcError } from '../platform/errors.ts';
import { displayName } from '../session/display.ts';
import { programOf } from '../session/journal/city-journal.ts';
import type { SessionRecord } from '../session/record.ts';
import { ACP_FAMILY } from '../session/transcript/acp/acp-reader.ts';
import { transcriptLines } from '../session/transcript/format.ts';
import type { TranscriptReader } from '../session/transcript/transcript-reader.ts';
import type { LogEntry, LogsOptions } from './city-api.ts';
import { KEY_HISTORY_KEY } from './endings.ts';

/** The session's conversation, as its agent program wrote it down. @throws GcError `no-transcript`, `transcript-unreadable` */
export async function readLogs(
  readers: readonly TranscriptReader[],
  record: SessionRecord,
  open: readonly SessionRecord[],
  options: LogsOptions,
): Promise<readonly LogEntry[]> {
  const label = displayName(record);
  const kind = programOf(record);
  const reader = readers.find((candidate) => candidate.family === kind);
  if (!reader) {
    throw new GcError(
      'no-transcript',
      `session ${label}: conversations of ${kind || 'this program'} cannot be read`,
      {
        next: `gc session peek ${label}`,
      },
    );
  }
  const neighbours = open.filter(
    (other) =>
      other.id !== record.id &&
      other.workDir === record.workDir &&
      other.providerKind === record.providerKind,
  );
  const history = (record.metadata[KEY_HISTORY_KEY] ?? '').split(',');
  const file = await reader.locate({
    session: record.sessionName,
    workDir: record.workDir,
    keys: [record.sessionKey, ...history].filter((key) => key !== ''),
    aloneInWorkDir: neighbours.length === 0,
  });
  if (!file) {
    throw new GcError('no-transcript', `session ${label} has no conversation on disk yet`, {
      // Its host's folder does not outlive every reboot; the log does.
      next: kind === ACP_FAMILY ? `gc log show ${label}` : `gc session peek ${label}`,
    });
  }
  return transcriptLines(await reader.read(file, { tail: options.tail }));
}
