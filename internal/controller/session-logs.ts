import { stat } from 'node:fs/promises';
import { GcError } from '../platform/errors.ts';
import { displayName } from '../session/display.ts';
import { programOf } from '../session/journal/city-journal.ts';
import type { SessionRecord } from '../session/record.ts';
import { ACP_FAMILY } from '../session/transcript/acp/acp-reader.ts';
import { transcriptLines } from '../session/transcript/format.ts';
import type { Transcript, TranscriptReader } from '../session/transcript/transcript-reader.ts';
import type { LogEntry, LogsOptions } from './city-api.ts';
import { conversationPlace } from './conversation-place.ts';

export interface LogsRequest extends LogsOptions {
  /** As the caller named the session. */
  readonly target?: string;
  /** The city's name. */
  readonly city: string;
}

/**
 * The session's conversation, as its agent program wrote it down. Source of the message for a session without one: Gas City.
 * @throws GcError `no-transcript`, `transcript-unreadable`
 */
export async function readLogs(
  readers: readonly TranscriptReader[],
  record: SessionRecord,
  open: readonly SessionRecord[],
  request: LogsRequest,
  memory: LogMemory = new LogMemory(),
): Promise<readonly LogEntry[]> {
  const label = displayName(record);
  const kind = programOf(record);
  const reader = readers.find((candidate) => candidate.family === kind);
  if (!reader) {
    throw new GcError(
      'no-transcript',
      `session ${label}: conversations of ${kind || 'this program'} cannot be read`,
      { next: `gc session peek ${label}` },
    );
  }
  const place = conversationPlace(record, open, request.city);
  // Of one that slept in between, the last life's conversation is as good as the present one's.
  const file = (await reader.locate(place)) ?? (await reader.locate({ ...place, since: record.createdAt }));
  if (!file) {
    throw new GcError(
      'no-transcript',
      `no session file found for ${JSON.stringify(request.target ?? label)}`,
      {
        // Its host's folder does not outlive every reboot; the log does.
        next: kind === ACP_FAMILY ? `gc log show ${label}` : `gc session peek ${label}`,
      },
    );
  }
  return memory.of(file, request.tail, async () => {
    const transcript = await reader.read(file, { tail: request.tail });
    refuseUnknown(transcript, kind, label);
    return transcriptLines(transcript);
  });
}

/** The conversation that was read last: whoever follows it asks again and again, mostly without news. */
export class LogMemory {
  #last: { readonly mark: string; readonly entries: readonly LogEntry[] } | undefined;

  async of(
    file: string,
    tail: number,
    read: () => Promise<readonly LogEntry[]>,
  ): Promise<readonly LogEntry[]> {
    const state = await stat(file, { bigint: true }).catch(() => undefined); // what has no file of its own is read anew
    const mark = state ? `${file} ${tail} ${state.ino} ${state.size} ${state.mtimeNs}` : '';
    if (mark !== '' && this.#last?.mark === mark) return this.#last.entries;
    const entries = await read();
    this.#last = { mark, entries };
    return entries;
  }
}

/** Nothing but lines that say nothing to us: an empty answer would look like an empty conversation. */
function refuseUnknown({ entries, badLines, file }: Transcript, kind: string, label: string): void {
  if (entries.length > 0 || badLines === 0) return;
  throw new GcError(
    'transcript-unreadable',
    `cannot read ${file}: none of it is a conversation of ${kind} as this version of gc knows it (${badLines} damaged lines)`,
    { next: `gc session peek ${label}` },
  );
}
