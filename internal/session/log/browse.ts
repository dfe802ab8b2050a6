import type { LogReader } from './browse-pages.ts';
import type { ContinuedFrom } from './continue-marker.ts';
import { LogCorruptError, UnknownLogError } from './errors.ts';
import type { SessionIndex, SessionRow } from './session-log.ts';
import { type LogLook, lookAt, type SessionSummary, summaryOf } from './summary.ts';
import { titleFrom } from './title.ts';

/** A list reads this many records of a session at most, however long its log is. */
const LOOK_RECORDS = 200;
const PAGE_SESSIONS = 200;
/** Sources of sources that a title is searched in. */
const TITLE_DEPTH = 8;

const NOTHING: LogLook = { question: undefined, turns: 0, bytes: 0, seen: 0, continues: undefined };

export interface BrowseOptions {
  readonly project?: string;
  readonly includeDeleted?: boolean;
  readonly signal?: AbortSignal;
}

/** Every session of a store, newest first, by the row alone. */
export async function* rowsOf(
  index: Pick<SessionIndex, 'list'>,
  { project, includeDeleted = false, signal }: BrowseOptions = {},
): AsyncGenerator<SessionRow> {
  let after: { readonly createdAt: bigint; readonly uid: string } | undefined;
  for (;;) {
    signal?.throwIfAborted();
    const rows = await index.list({
      limit: PAGE_SESSIONS,
      includeDeleted,
      ...(project === undefined ? {} : { project }),
      ...(after ? { after } : {}),
    });
    yield* rows;
    after = rows.at(-1);
    if (rows.length < PAGE_SESSIONS || !after) return;
  }
}

/** The sessions of a store with their titles, newest first. A damaged log is listed by what its row says. */
export async function* browse(
  store: LogReader & Pick<SessionIndex, 'list'>,
  options: BrowseOptions = {},
): AsyncGenerator<SessionSummary> {
  for await (const row of rowsOf(store, options)) yield await summarize(store, row);
}

/** One session for a list: a bounded look at its log. */
export async function summarize(log: LogReader, row: SessionRow): Promise<SessionSummary> {
  const look = await lookOrNothing(log, row.uid);
  const carried = await carriedQuestion(log, look.continues, new Set([row.uid]));
  return summaryOf(row, look, titleFrom(carried ?? look.question));
}

/** A conversation keeps its title where it is continued. */
async function carriedQuestion(
  log: LogReader,
  continues: ContinuedFrom | undefined,
  seen: Set<string>,
): Promise<string | undefined> {
  if (!continues || seen.has(continues.source) || seen.size > TITLE_DEPTH) return undefined;
  const look = await lookOrNothing(log, continues.source);
  const older = await carriedQuestion(log, look.continues, seen.add(continues.source));
  return older ?? look.question;
}

async function lookOrNothing(log: LogReader, uid: string): Promise<LogLook> {
  try {
    return await lookAt(log, uid, LOOK_RECORDS);
  } catch (error) {
    if (error instanceof LogCorruptError || error instanceof UnknownLogError) return NOTHING;
    throw error;
  }
}
