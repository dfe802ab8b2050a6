import { limited } from '../platform/limited.ts';
import { programOf } from '../session/journal/city-journal.ts';
import type { SessionRecord } from '../session/record.ts';
import { type ConversationGlance, glanceOf } from '../session/transcript/conversation-glance.ts';
import type { TranscriptReader } from '../session/transcript/transcript-reader.ts';
import type { CityParts } from './city-parts.ts';
import { conversationPlace } from './conversation-place.ts';

/** At most so many transcripts are looked into for one status; of the others is shown what was seen last. */
const GLANCES_PER_STATUS = 16;
const PARALLEL_GLANCES = 4;
/** A status waits no longer than this for transcripts; late ones are in the next. */
const GLANCE_BUDGET_MS = 150;
/** A conversation that goes on all the time is not read more often. */
const GLANCE_MIN_AGE_MS = 1_000;
/** A program writes down what it showed a moment after it showed it. */
const WRITTEN_WITHIN_MS = 2_000;

export interface GlanceRequest {
  readonly record: SessionRecord;
  /** Milliseconds since the epoch; `undefined`: the back end does not tell. */
  readonly lastActivity: number | undefined;
}

interface Seen {
  /** Names the life and the conversation. */
  readonly mark: string;
  readonly file: string | undefined;
  readonly glance: ConversationGlance | undefined;
  /** Activity up to here is in it, milliseconds since the epoch. */
  readonly asOf: number;
}

/** The ends of conversations as they were last seen. Of a session that shows nothing new nothing is read. */
export class ConversationGlances {
  readonly #parts: Pick<CityParts, 'transcripts' | 'clock' | 'city'>;
  readonly #seen = new Map<string, Seen>();
  readonly #looking = new Map<string, Promise<void>>();

  constructor(parts: Pick<CityParts, 'transcripts' | 'clock' | 'city'>) {
    this.#parts = parts;
  }

  get(record: SessionRecord): ConversationGlance | undefined {
    const seen = this.#seen.get(record.id);
    return seen?.mark === markOf(record) ? seen.glance : undefined;
  }

  /** Reads what changed, within the budget of one status. */
  async refresh(requests: readonly GlanceRequest[], open: readonly SessionRecord[]): Promise<void> {
    const ids = new Set(requests.map(({ record }) => record.id));
    for (const id of this.#seen.keys()) if (!ids.has(id)) this.#seen.delete(id);
    const stale = requests
      .filter((request) => this.#isStale(request))
      .toSorted((a, b) => this.#asOf(a) - this.#asOf(b))
      .slice(0, GLANCES_PER_STATUS);
    if (stale.length === 0) return;
    const { clock } = this.#parts;
    const over = new AbortController();
    const budget = clock.sleep(GLANCE_BUDGET_MS, over.signal).catch(() => undefined); // all were faster
    await Promise.race([limited(PARALLEL_GLANCES, stale, ({ record }) => this.#look(record, open)), budget]);
    over.abort();
  }

  #asOf({ record }: GlanceRequest): number {
    return this.#seen.get(record.id)?.asOf ?? 0;
  }

  #isStale({ record, lastActivity }: GlanceRequest): boolean {
    if (!this.#readerOf(record)) return false;
    const seen = this.#seen.get(record.id);
    if (seen?.mark !== markOf(record)) return true;
    if (this.#parts.clock.now() - seen.asOf < GLANCE_MIN_AGE_MS) return false;
    return lastActivity === undefined || lastActivity >= seen.asOf - WRITTEN_WITHIN_MS;
  }

  #look(record: SessionRecord, open: readonly SessionRecord[]): Promise<void> {
    const running = this.#looking.get(record.id);
    if (running) return running;
    const looking = this.#read(record, open)
      // Damaged, or of another version: the status goes without, and gc session logs says what is the matter.
      .catch(() => this.#keep(record, { file: undefined, glance: undefined }, this.#parts.clock.now()))
      .finally(() => this.#looking.delete(record.id));
    this.#looking.set(record.id, looking);
    return looking;
  }

  async #read(record: SessionRecord, open: readonly SessionRecord[]): Promise<void> {
    const asOf = this.#parts.clock.now();
    const reader = this.#readerOf(record);
    const known = this.#seen.get(record.id);
    const place = conversationPlace(record, open, this.#parts.city.workspace.name);
    const file =
      known?.mark === markOf(record) && known.file !== undefined ? known.file : await reader?.locate(place);
    const tail = file === undefined ? undefined : await reader?.tail(file);
    this.#keep(record, { file: tail && file, glance: tail && glanceOf(tail) }, asOf);
  }

  #keep(record: SessionRecord, found: Pick<Seen, 'file' | 'glance'>, asOf: number): void {
    this.#seen.set(record.id, { ...found, mark: markOf(record), asOf });
  }

  #readerOf(record: SessionRecord): TranscriptReader | undefined {
    const program = programOf(record);
    return this.#parts.transcripts.find((reader) => reader.family === program);
  }
}

const markOf = (record: SessionRecord): string => `${record.generation} ${record.sessionKey}`;
