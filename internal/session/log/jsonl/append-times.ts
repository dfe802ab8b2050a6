/**
 * What the records of one append have in common and a record does not say. It is written before its records, so that a
 * batch of which only a part was written can be told from several records.
 */
export interface AppendNote {
  readonly from: number;
  readonly to: number;
  /** Nanoseconds since the epoch. */
  readonly at: bigint;
  readonly source?: string;
  /** Hash of record `from`; of a batch only, which is whole or is nothing. */
  readonly batch?: string;
}

const NEWLINE = 0x0a;
const NANOS_PER_MS = 1_000_000n;

/** All appends of one log, in order; their file holds one JSON object per line. */
export class AppendTimes {
  readonly #froms: number[] = [];
  readonly #ats: bigint[] = [];
  readonly #sources = new Map<string, AppendNote>();
  #last: AppendNote | undefined;

  /** Length of the file's sound part. */
  bytes = 0;

  get last(): AppendNote | undefined {
    return this.#last;
  }

  /** @param bytes length of the note in the file */
  add(note: AppendNote, bytes: number): void {
    this.#froms.push(note.from);
    this.#ats.push(note.at);
    this.bytes += bytes;
    this.#last = note;
    if (note.source !== undefined) this.#sources.set(note.source, note);
  }

  ofSource(source: string): AppendNote | undefined {
    return this.#sources.get(source);
  }

  /** When a record was appended, in milliseconds since the epoch; 0 when that was lost. */
  recordedAt(seq: number): number {
    let low = 0;
    let high = this.#froms.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#froms[middle] ?? 0) <= seq) low = middle + 1;
      else high = middle;
    }
    const at = this.#ats[low - 1];
    return at === undefined ? 0 : Number(at / NANOS_PER_MS);
  }

  /** Nothing but the times of the records up to `seq`. */
  until(seq: number): readonly AppendNote[] {
    return this.#froms.flatMap((from, index) => {
      const at = this.#ats[index];
      const next = this.#froms[index + 1] ?? seq + 1;
      return from > seq || at === undefined ? [] : [{ from, to: Math.min(seq, next - 1), at }];
    });
  }
}

export function encodeNote(note: AppendNote): string {
  const { from, to, at, source, batch } = note;
  return `${JSON.stringify({ from, to, at: String(at), source, batch })}\n`;
}

export interface ReadNotes {
  /** In order, each with its length in the file. */
  readonly notes: readonly (readonly [AppendNote, number])[];
  /** The append that was announced last, when not all of its records are there. */
  readonly pending: AppendNote | undefined;
}

/**
 * Reads notes up to the first line that cannot be one, or that speaks of records beyond `head`: what follows is of an append
 * that did not happen, or was damaged.
 * @param after the last record that earlier notes speak of
 */
export function readNotes(bytes: Buffer, after: number, head: number): ReadNotes {
  const notes: [AppendNote, number][] = [];
  let last = after;
  for (let start = 0; ; ) {
    const end = bytes.indexOf(NEWLINE, start);
    const note = end < 0 ? undefined : parseNote(bytes.toString('utf8', start, end));
    if (!note || note.from <= last) return { notes, pending: undefined };
    if (note.to > head) return { notes, pending: isLast(bytes, end + 1) ? note : undefined };
    notes.push([note, end + 1 - start]);
    last = note.to;
    start = end + 1;
  }
}

/** Whether no whole note follows: only the append announced last can have been cut off. */
function isLast(bytes: Buffer, start: number): boolean {
  const end = bytes.indexOf(NEWLINE, start);
  return end < 0 || parseNote(bytes.toString('utf8', start, end)) === undefined;
}

function parseNote(line: string): AppendNote | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { from, to, at, source, batch } = value as Readonly<Record<string, unknown>>;
  if (!isSeq(from) || !isSeq(to) || to < from || typeof at !== 'string' || !/^[0-9]{1,20}$/.test(at))
    return undefined;
  return {
    from,
    to,
    at: BigInt(at),
    ...(typeof source === 'string' ? { source } : {}),
    ...(typeof batch === 'string' ? { batch } : {}),
  };
}

const isSeq = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0;
