import { resolved } from './files.ts';
import type { ObservedChunk, PlacedEntry, TranscriptCursor } from './observed.ts';
import { isAnswer, isDone, type OpencodeMessage, opencodeObserved } from './opencode-observed.ts';
import { pageOf, sessionIdOf, sessionsIn, sessionWithId } from './opencode-store.ts';
import { shownEntries, transcriptOf } from './shown.ts';
import { unreadable } from './tail-entries.ts';
import type {
  Transcript,
  TranscriptPlace,
  TranscriptReader,
  TranscriptReadOptions,
  TranscriptTail,
} from './transcript-reader.ts';

/** Messages that one pass reads. */
const PAGE_MESSAGES = 40;
/** Messages that are the end of a conversation. */
const LAST_MESSAGES = 12;

/**
 * opencode's conversations. Roots are folders like `~/.local/share/opencode`: a database, or, of older versions, a folder
 * of JSON files. What is called a file here is one conversation in it. The numbers of its messages are the offsets.
 */
export class OpencodeTranscriptReader implements TranscriptReader {
  readonly family = 'opencode';
  readonly ordered = true;
  readonly #roots: readonly string[];

  constructor(roots: readonly string[]) {
    this.#roots = roots;
  }

  async locate(place: TranscriptPlace): Promise<string | undefined> {
    for (const key of place.keys) {
      for (const root of this.#roots) {
        const found = await sessionWithId(root, key);
        if (found !== undefined) return found;
      }
    }
    const { beacon = '', aloneInWorkDir, since = 0 } = place;
    if (place.keys.length > 0 || (!aloneInWorkDir && beacon === '')) return undefined;
    const dirs = [...new Set([place.workDir, await resolved(place.workDir)])];
    for (const root of this.#roots) {
      const sessions = (await sessionsIn(root, dirs)).filter(({ beganAt }) => beganAt >= since);
      if (aloneInWorkDir && sessions[0]) return sessions[0].file;
      for (const { file } of sessions) {
        if ((await firstPrompt(file))?.trimStart().startsWith(beacon)) return file;
      }
    }
    return undefined;
  }

  conversationOf(file: string): string {
    return sessionIdOf(file);
  }

  /** A message is told when nothing more is written to it, or when the program went on without finishing it. */
  async observe(file: string, since: TranscriptCursor | undefined): Promise<ObservedChunk | undefined> {
    const page = await pageOf(file, { after: since?.anchor ?? '', limit: PAGE_MESSAGES });
    if (!page) return undefined;
    const restarted = since !== undefined && !page.isAfterThere;
    const start = since === undefined || restarted ? { offset: 0, anchor: '' } : since;
    const count = settledCount(page.messages);
    const told = page.messages.slice(0, count);
    const anchor = told.at(-1)?.id ?? start.anchor;
    return {
      entries: placed(told, start.offset),
      cursor: { offset: start.offset + count, anchor },
      restarted,
      more: count === PAGE_MESSAGES,
      badLines: page.badParts,
    };
  }

  async tail(file: string): Promise<TranscriptTail | undefined> {
    const page = await pageOf(file, { after: '', limit: LAST_MESSAGES, fromEnd: true });
    return page && { entries: placed(page.messages, 0) };
  }

  async read(file: string, options: TranscriptReadOptions): Promise<Transcript> {
    const placedEntries: PlacedEntry[] = [];
    let badLines = 0;
    for (let after = '', count = 0; ; ) {
      const page = await pageOf(file, { after, limit: PAGE_MESSAGES });
      if (!page) throw unreadable(file, new Error('the conversation is not there any more'));
      placedEntries.push(...placed(page.messages, count));
      badLines += page.badParts;
      count += page.messages.length;
      after = page.messages.at(-1)?.id ?? after;
      if (page.messages.length < PAGE_MESSAGES || !page.isAfterThere) break;
      // A database is read in one go: others have their turn in between.
      await new Promise((resolve) => setImmediate(resolve));
    }
    return transcriptOf(file, shownEntries(placedEntries), { tail: options.tail, badLines });
  }
}

function settledCount(messages: readonly OpencodeMessage[]): number {
  const open = messages.findIndex((message, index) => {
    const later = messages.slice(index + 1);
    // A prompt that waits for the end of a turn stands behind the answer that is being written.
    return !isDone(message) && !(isAnswer(message) ? later.some(isAnswer) : later.length > 0);
  });
  return open === -1 ? messages.length : open;
}

function placed(messages: readonly OpencodeMessage[], from: number): readonly PlacedEntry[] {
  return messages.flatMap((message, index) => {
    const { entries, at } = opencodeObserved(message);
    return entries.map((entry) => ({ entry, at, offset: from + index }));
  });
}

async function firstPrompt(file: string): Promise<string | undefined> {
  const page = await pageOf(file, { after: '', limit: 2 });
  const prompt = placed(page?.messages ?? [], 0).find(({ entry }) => entry.kind === 'prompt')?.entry;
  return prompt?.kind === 'prompt' ? prompt.text : undefined;
}
