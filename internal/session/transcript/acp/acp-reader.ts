import { GcError, messageOf } from '../../../platform/errors.ts';
import { journalOf } from '../../../runtime/acp/journal-files.ts';
import { isSessionName } from '../../../runtime/name-rule.ts';
import { FILE_START } from '../lines-since.ts';
import type { ObservedChunk, PlacedEntry, TranscriptCursor } from '../observed.ts';
import type {
  Transcript,
  TranscriptEntry,
  TranscriptPlace,
  TranscriptReader,
  TranscriptReadOptions,
  TranscriptTail,
} from '../transcript-reader.ts';
import { JournalObserver } from './acp-observed.ts';
import { shownEntry } from './acp-shown.ts';
import {
  linesFrom,
  markAt,
  type Piece,
  type PlaceInPieces,
  placeOfMark,
  withPieces,
} from './journal-pieces.ts';

/** The program that a session's conversation is read as when its agent is spoken to in the protocol. */
export const ACP_FAMILY = 'acp';
/** How much one pass reads, as far as no text ends later. */
const PASS_BYTES = 2_097_152;
const TAIL_BYTES = 65_536;
const JOURNAL_START: PlaceInPieces = { index: 0, offset: 0 };
const FIRST_LINE = 1;

/**
 * The conversations of agents that are spoken to in the Agent Client Protocol, as their session host writes them down: one
 * journal per session name, in which one conversation follows another. What is called a file here is one conversation in
 * one journal. The numbers of its lines are the offsets: they go on when the journal is rotated.
 */
export class AcpTranscriptReader implements TranscriptReader {
  readonly family = ACP_FAMILY;
  readonly evidence = 'protocol';
  readonly #runtimeDir: string;
  readonly #passBytes: number;

  /** @param runtimeDir that of the host of the city's ACP sessions */
  constructor(runtimeDir: string, passBytes = PASS_BYTES) {
    this.#runtimeDir = runtimeDir;
    this.#passBytes = passBytes;
  }

  /** Without a key: the newest conversation of that name, if it began since. @throws GcError `journal-version` */
  async locate({ session = '', keys, since = 0 }: TranscriptPlace): Promise<string | undefined> {
    if (!isSessionName(session)) return undefined;
    const journal = journalOf(this.#runtimeDir, session);
    const firsts = await withPieces(journal, async (pieces) => pieces.map(({ first }) => first));
    const newest = firsts.at(-1)?.conversation;
    const began = firsts.find(({ conversation }) => conversation === newest)?.at ?? 0;
    const wanted = keys.length > 0 || newest === undefined || began < since ? keys : [newest];
    const found = wanted.find((key) => firsts.some(({ conversation }) => conversation === key));
    return found === undefined ? undefined : nameOf(journal, found);
  }

  conversationOf(file: string): string {
    return partsOf(file).conversation;
  }

  /** @throws GcError `transcript-unreadable`, `journal-version` */
  async observe(file: string, since: TranscriptCursor | undefined): Promise<ObservedChunk | undefined> {
    return withConversation(file, async (pieces) => {
      const [oldest] = pieces;
      if (!oldest) return undefined;
      if (since === undefined || since.anchor === '') {
        return { ...(await this.#read(pieces, JOURNAL_START, FIRST_LINE)), restarted: false };
      }
      const place = await placeOfMark(pieces, since.anchor);
      // Set aside for good, with all that was read, is not written anew: what is left goes on behind it.
      const restarted = !place && oldest.first.seq < since.offset;
      const next = restarted ? undefined : since.offset;
      return { ...(await this.#read(pieces, place ?? JOURNAL_START, next, since)), restarted };
    });
  }

  /** A journal is one segment: it has no marks at which it could be cut. @throws GcError as `observe` */
  async read(file: string, _options: TranscriptReadOptions): Promise<Transcript> {
    return withConversation(file, async (pieces) => {
      const observer = new JournalObserver(undefined);
      const entries: TranscriptEntry[] = [];
      let badLines = 0;
      for await (const { line, start, end } of linesFrom(pieces, JOURNAL_START)) {
        if (line) entries.push(...observer.take(line).flatMap(shownEntry));
        else if (end - start > 1) badLines += 1;
      }
      const hasOlder = (pieces[0]?.first.seq ?? FIRST_LINE) > FIRST_LINE;
      const totalEntries = entries.length;
      return { file, entries, hasOlder, totalEntries, compactions: 0, hasBranches: false, badLines };
    });
  }

  /** The end of the newest piece. @throws GcError as `observe` */
  async tail(file: string): Promise<TranscriptTail | undefined> {
    return withConversation(file, async (pieces) => {
      const last = pieces.at(-1);
      if (!last) return undefined;
      const observer = new JournalObserver(undefined);
      const entries: PlacedEntry[] = [];
      // The first line is mostly a piece of one, which counts as damaged.
      const from = { index: pieces.length - 1, offset: Math.max(0, last.size - TAIL_BYTES) };
      for await (const { line } of linesFrom(pieces, from)) if (line) entries.push(...observer.take(line));
      return { entries };
    });
  }

  async #read(
    pieces: readonly Piece[],
    from: PlaceInPieces,
    next: number | undefined,
    since: TranscriptCursor = FILE_START,
  ): Promise<Omit<ObservedChunk, 'restarted'>> {
    const observer = new JournalObserver(next);
    const entries: PlacedEntry[] = [];
    let whole: { readonly entries: number; readonly offset: number; anchor(): Promise<string> } | undefined;
    let more = false;
    let bytes = 0;
    for await (const { line, piece, start, end } of linesFrom(pieces, from)) {
      bytes += end - start;
      if (!line) continue;
      entries.push(...observer.take(line));
      if (observer.isOpen) continue;
      whole = { entries: entries.length, offset: line.seq + 1, anchor: () => markAt(piece, end) };
      more = bytes >= this.#passBytes;
      if (more) break;
    }
    if (!whole) return { entries: [], cursor: since, more: false };
    const cursor = { offset: whole.offset, anchor: await whole.anchor() };
    return { entries: entries.slice(0, whole.entries), cursor, more };
  }
}

/** The pieces of one conversation, oldest first; none when it is not there. */
async function withConversation<T>(file: string, use: (pieces: readonly Piece[]) => Promise<T>): Promise<T> {
  const { journal, conversation } = partsOf(file);
  try {
    return await withPieces(journal, (pieces) =>
      use(pieces.filter(({ first }) => first.conversation === conversation)),
    );
  } catch (error) {
    if (error instanceof GcError) throw error;
    throw new GcError('transcript-unreadable', `cannot read ${journal}: ${messageOf(error)}`, {
      cause: error,
      next: 'check that the file exists and is yours',
    });
  }
}

/** Agents call their conversations as they like. */
const nameOf = (journal: string, conversation: string): string =>
  `${journal}#${encodeURIComponent(conversation)}`;

function partsOf(file: string): { readonly journal: string; readonly conversation: string } {
  const mark = file.lastIndexOf('#');
  if (mark < 0) return { journal: file, conversation: '' };
  return { journal: file.slice(0, mark), conversation: decodeURIComponent(file.slice(mark + 1)) };
}
