import type { CityDatabase } from '../../beads/sqlite/city-database.ts';
import type { BlobStore } from '../log/blobs/blob-store.ts';
import { externalizeEvent } from '../log/blobs/externalize.ts';
import { SourceReusedError } from '../log/errors.ts';
import type { SessionLogStore } from '../log/session-log.ts';
import { cursorAt } from '../transcript/lines-since.ts';
import type { ObservedChunk, TranscriptCursor } from '../transcript/observed.ts';
import type { TranscriptReader } from '../transcript/transcript-reader.ts';
import { changedFact, type Observed } from './conversation-events.ts';
import { ConversationFold, NO_TURN, readTurn, type Step, type Turn } from './conversation-fold.ts';

/** Pieces of a file that one look reads at most. */
const CHUNKS_PER_LOOK = 4;

/** What a conversation is written with. */
export interface ConversationTools {
  readonly db: CityDatabase;
  readonly store: SessionLogStore;
  readonly blobs: Pick<BlobStore, 'put'>;
  /** Everything that the city has to tell the logs so far is told: it comes before what follows from it. */
  readonly tellFirst: () => Promise<void>;
  /** Its program gave up on a turn. */
  readonly failed?: (uid: string, failure: { readonly text: string; readonly at: number }) => void;
}

export interface FollowedConversation {
  readonly uid: string;
  readonly file: string;
  readonly reader: TranscriptReader;
  /** When the life began that has it, milliseconds since the epoch. */
  readonly since: number;
}

/** Follows one transcript into one log. */
export class ConversationLog {
  readonly #tools: ConversationTools;
  readonly #uid: string;
  readonly #file: string;
  readonly #reader: TranscriptReader;
  readonly #observed: Observed;
  readonly #since: number;
  #cursor: TranscriptCursor | undefined;
  #fold: ConversationFold;
  /** The session ended when so much of the file was there: what was under way then is over. */
  #settleAt: number | undefined;

  private constructor(tools: ConversationTools, place: FollowedConversation, kept: Kept) {
    this.#tools = tools;
    this.#since = place.since;
    this.#uid = place.uid;
    this.#file = place.file;
    this.#reader = place.reader;
    this.#observed = {
      program: place.reader.family,
      conversation: place.reader.conversationOf(place.file),
      evidence: place.reader.evidence ?? 'transcript',
      ordered: place.reader.ordered === true,
    };
    this.#cursor = kept.cursor;
    this.#settleAt = kept.settleAt;
    this.#fold = new ConversationFold(this.#observed, kept.turn);
  }

  /** Takes up where whoever followed it before left off. */
  static async open(tools: ConversationTools, place: FollowedConversation): Promise<ConversationLog> {
    const kept = await tools.db.read(() => readKept(tools.db.outbox.cursor(place.uid, place.file)));
    return new ConversationLog(tools, place, kept);
  }

  get file(): string {
    return this.#file;
  }

  /** Writes what is new. Whether there is still more. @throws GcError what the file or the store lacks */
  async look(): Promise<boolean> {
    for (let chunks = 0; chunks < CHUNKS_PER_LOOK; chunks += 1) {
      const chunk = await this.#reader.observe(this.#file, this.#cursor);
      if (!chunk) return false;
      await this.#take(chunk);
      if (!chunk.more) return false;
    }
    return true;
  }

  /**
   * The session ended: the turn that was under way is over. That it is meant is kept before it is written, so that whoever
   * is cut off here is followed by one who knows.
   */
  async settle(): Promise<void> {
    while (await this.look()) {
      // A long conversation is read to its end.
    }
    if (this.#fold.isAtRest) return;
    this.#settleAt = this.#cursor?.offset ?? 0;
    await this.#keep();
    await this.#settled(Number.POSITIVE_INFINITY);
    await this.#keep();
  }

  async #take(chunk: ObservedChunk): Promise<void> {
    if (chunk.restarted) {
      this.#fold = new ConversationFold(this.#observed, NO_TURN);
      this.#settleAt = undefined;
    }
    const hasNews = chunk.cursor.offset !== (this.#cursor?.offset ?? 0) || chunk.restarted;
    if (!hasNews && this.#settleAt === undefined) return;
    if (chunk.entries.length > 0) await this.#tools.tellFirst();
    for (const placed of chunk.entries) {
      const { entry, at } = placed;
      if (entry.kind === 'failure') this.#tools.failed?.(this.#uid, { text: entry.text, at });
      await this.#settled(placed.offset);
      for (const step of this.#fold.take(placed)) await this.#append(step);
    }
    this.#cursor = chunk.cursor;
    await this.#settled(chunk.cursor.offset);
    await this.#keep();
  }

  /** Everything before `offset` was taken. */
  async #settled(offset: number): Promise<void> {
    if (this.#settleAt === undefined || offset < this.#settleAt) return;
    for (const step of this.#fold.settle()) await this.#append(step);
    this.#settleAt = undefined;
  }

  async #append(step: Step): Promise<void> {
    const { store, blobs } = this.#tools;
    const events = await Promise.all(step.events.map((event) => externalizeEvent(event, blobs)));
    try {
      await store.append(this.#uid, events, { source: step.source, durability: 'group' });
    } catch (error) {
      if (!(error instanceof SourceReusedError)) throw error;
      // A conversation that was copied says of itself that it is another one: only its beginning of a turn names it.
      if (step.source.endsWith(':start')) return;
      await store.append(this.#uid, [changedFact(this.#observed, step.entry)], {
        source: `${step.source}:changed`,
        durability: 'group',
      });
    }
  }

  async #keep(): Promise<void> {
    // Only what is read by its bytes is ever held.
    const held = this.#fold.beforeHeld;
    const cursor = held ? await cursorAt(this.#file, held.offset) : this.#cursor;
    const turn = held ? held.turn : this.#fold.turn;
    const kept: Kept = {
      since: this.#since,
      cursor,
      turn,
      ...(this.#settleAt === undefined ? {} : { settleAt: this.#settleAt }),
    };
    const { db } = this.#tools;
    await db.write(() => db.outbox.keepCursor(this.#uid, this.#file, kept));
  }
}

/** How far a conversation was read, and where it stands there. Plain JSON. */
interface Kept {
  /** Names the life that read it last; only written. */
  readonly since?: number;
  readonly cursor: TranscriptCursor | undefined;
  readonly turn: Turn;
  readonly settleAt?: number;
}

function readKept(value: unknown): Kept {
  const nothing = { cursor: undefined, turn: NO_TURN };
  if (typeof value !== 'object' || value === null || !('cursor' in value) || !('turn' in value))
    return nothing;
  const { cursor } = value;
  if (typeof cursor !== 'object' || cursor === null || !('offset' in cursor) || !('anchor' in cursor)) {
    return nothing;
  }
  const { offset, anchor } = cursor;
  if (typeof offset !== 'number' || typeof anchor !== 'string') return nothing;
  const settleAt = 'settleAt' in value && typeof value.settleAt === 'number' ? value.settleAt : undefined;
  return {
    cursor: { offset, anchor },
    turn: readTurn(value.turn),
    ...(settleAt === undefined ? {} : { settleAt }),
  };
}
