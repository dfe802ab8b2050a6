import type { OutboxRow } from '../beads/sqlite/outbox-table.ts';
import { codeOf } from '../platform/errors.ts';
import { beaconStart } from '../runtime/beacon.ts';
import type { ConversationPlace, OutboxBody } from '../session/journal/city-journal.ts';
import { ConversationLog, type ConversationTools } from '../session/journal/conversation-log.ts';
import { LOG_UID_KEY } from '../session/journal/facts.ts';
import { OutboxDelivery } from '../session/journal/outbox-delivery.ts';
import { BlobStore, blobFolderOf } from '../session/log/blobs/blob-store.ts';
import { LogCorruptError, SessionDeletedError } from '../session/log/errors.ts';
import type { SessionLogStore } from '../session/log/session-log.ts';
import type { SessionRecord } from '../session/record.ts';
import type { TranscriptReader } from '../session/transcript/transcript-reader.ts';
import type { CityParts } from './city-parts.ts';

/** Rows that are written with one wait for the disk. */
const PAGE_ROWS = 100;
/** Reading again would say the same again. */
const OTHER_VERSION: readonly string[] = ['journal-version', 'transcript-version'];

export interface JournalPumpOptions {
  readonly parts: Pick<CityParts, 'db' | 'store' | 'transcripts' | 'logs' | 'logFile' | 'clock'>;
  /** The city's name. */
  readonly city: string;
  readonly trouble: (error: unknown) => void;
  /** The conversation of a life without a key was found, under the name that its program gave it. */
  readonly found?: (uid: string, conversation: string, place: ConversationPlace) => Promise<void>;
  readonly failed?: ConversationTools['failed'];
}

/**
 * Brings what the city tells its sessions' logs, and what their conversations say, into the logs: one thing after the
 * other, each once, however often it is cut off. The logs are opened when there is something to write.
 */
export class JournalPump {
  readonly #options: JournalPumpOptions;
  readonly #conversations = new Map<string, ConversationLog>();
  /** Transcripts by the log that they belong to, as far as nothing was read of them: no conversation is told to two. */
  readonly #owners = new Map<string, string>();
  /** Logs that take nothing any more. */
  readonly #refused = new Set<string>();
  /** Conversations in a form that this version does not read: said once. */
  readonly #unreadable = new Set<string>();
  #delivery: OutboxDelivery | undefined;
  #store: SessionLogStore | undefined;
  #delivering = false;

  constructor(options: JournalPumpOptions) {
    this.#options = options;
  }

  /** Writes everything that waits, in order. The caller does one thing after the other here. */
  async deliver(): Promise<void> {
    if (this.#delivering) return;
    this.#delivering = true;
    try {
      await this.#deliver();
    } finally {
      this.#delivering = false;
    }
  }

  async #deliver(): Promise<void> {
    for (;;) {
      const { db } = this.#options.parts;
      const page = await db.read(() => db.outbox.next(PAGE_ROWS));
      const last = page.at(-1);
      if (!last) return;
      const delivery = await this.#opened();
      // One wait for the disk carries the rows before it; a log that refuses what it is told does not wait.
      const carrier = page.findLast((row) => (row.body as OutboxBody).facts.length > 0);
      let isRefused = false;
      for (const row of page) {
        await this.#lastWords(row);
        const outcome = await delivery.deliver(row, row === carrier || isRefused ? 'full' : 'group');
        if (outcome.kind === 'refused') this.#options.trouble(outcome.error);
        isRefused ||= outcome.kind === 'refused';
      }
      await db.write(() => db.outbox.delivered(last.num));
    }
  }

  /** Writes what is new in the session's conversation. Whether there is still more. */
  async look(uid: string, place: ConversationPlace): Promise<boolean> {
    let more = false;
    await this.#with(uid, place, async (conversation) => {
      more = await conversation.look();
    });
    return more;
  }

  /** Nothing follows these any more. */
  keepOnly(uids: ReadonlySet<string>): void {
    for (const [key, conversation] of this.#conversations) {
      const uid = key.slice(0, key.indexOf(' '));
      if (uids.has(uid)) continue;
      this.#conversations.delete(key);
      this.#owners.delete(conversation.file);
    }
  }

  hasReader(place: Pick<ConversationPlace, 'program'>): boolean {
    return this.#reader(place) !== undefined;
  }

  /** A conversation that cannot be read must not hold up what the city has to say. */
  async #lastWords(row: OutboxRow): Promise<void> {
    const place = (row.body as OutboxBody).life_over;
    if (place) await this.#with(row.logUid, place, (conversation) => conversation.settle());
  }

  /** A conversation that could not be written is taken up anew from what is known to be written. */
  async #with(
    uid: string,
    place: ConversationPlace,
    work: (conversation: ConversationLog) => Promise<void>,
  ): Promise<void> {
    if (this.#refused.has(uid)) return;
    const key = `${uid} ${place.key || place.since}`;
    if (this.#unreadable.has(key)) return;
    try {
      const conversation = await this.#conversation(key, uid, place);
      if (conversation) await work(conversation);
    } catch (error) {
      this.#conversations.delete(key);
      if (OTHER_VERSION.includes(codeOf(error) ?? '')) this.#unreadable.add(key);
      if (error instanceof SessionDeletedError || error instanceof LogCorruptError) this.#refused.add(uid);
      this.#options.trouble(error);
    }
  }

  async #conversation(
    key: string,
    uid: string,
    place: ConversationPlace,
  ): Promise<ConversationLog | undefined> {
    const known = this.#conversations.get(key);
    if (known) return known;
    const reader = this.#reader(place);
    if (!reader) return undefined;
    const file = await this.#locate(reader, uid, place);
    if (file === undefined) return undefined;
    const { db } = this.#options.parts;
    const owner = this.#owners.get(file) ?? (await db.read(() => db.outbox.logOf(file)));
    if (owner !== undefined && owner !== uid) return undefined;
    if (place.key === '' && reader.evidence === undefined)
      await this.#options.found?.(uid, reader.conversationOf(file), place);
    const { since } = place;
    const conversation = await ConversationLog.open(await this.#tools(), { uid, file, reader, since });
    this.#conversations.set(key, conversation);
    this.#owners.set(file, uid);
    return conversation;
  }

  async #locate(
    reader: TranscriptReader,
    uid: string,
    place: ConversationPlace,
  ): Promise<string | undefined> {
    const { key, work_dir: workDir, since, session = '' } = place;
    if (key !== '') return reader.locate({ session, workDir, keys: [key], aloneInWorkDir: false, since });
    const { db, store } = this.#options.parts;
    const known = await db.read(() => db.outbox.fileOf(uid, since));
    if (known !== undefined) return known;
    const records = [...(await store.list('open')), ...(await store.closedIn(workDir))];
    const aloneInWorkDir = !records.some((record) => isNeighbour(record, uid, place));
    const beacon = place.agent === undefined ? '' : beaconStart(this.#options.city, place.agent);
    return reader.locate({ session, workDir, keys: [], aloneInWorkDir, since, beacon });
  }

  #reader({ program }: Pick<ConversationPlace, 'program'>): TranscriptReader | undefined {
    return this.#options.parts.transcripts.find((reader) => reader.family === program);
  }

  async #opened(): Promise<OutboxDelivery> {
    this.#store ??= await this.#options.parts.logs();
    this.#delivery ??= new OutboxDelivery(this.#store, this.#options.city);
    return this.#delivery;
  }

  async #tools(): Promise<ConversationTools> {
    await this.#opened();
    const { parts, failed } = this.#options;
    return {
      ...(failed ? { failed } : {}),
      db: parts.db,
      store: await parts.logs(),
      blobs: new BlobStore(blobFolderOf(parts.logFile), parts.clock),
      // Last words are read in the middle of a delivery: what comes before them is written by then.
      tellFirst: () => this.deliver(),
    };
  }
}

/** It works, or worked during this life, where the session does, with the same program: whose file is whose cannot be told. */
function isNeighbour(record: SessionRecord, uid: string, place: ConversationPlace): boolean {
  const isOther = record.metadata[LOG_UID_KEY] !== uid;
  const kind = record.providerKind || record.provider;
  const wasOver = record.closed && Date.parse(record.metadata['closed_at'] ?? '') <= place.since;
  return isOther && record.workDir === place.work_dir && kind === place.program && !wasOver;
}
