/** What brings a screen up to now, given what the pod's log kept. */
export interface CatchUp {
  /** `rebuild`: what the screen showed cannot be found in the log, so it begins anew. */
  readonly kind: 'continue' | 'rebuild';
  /** Output of before: to be shown, not to be answered. */
  readonly replay: Buffer;
}

/** Bytes before the last line end that must be found again in the log for the screen to go on. */
const ANCHOR_BYTES = 4_096;
/** How much of what came since the connection stands is looked for at the log's end. */
const MAX_OVERLAP_BYTES = 65_536;
const LINE_FEED = 10;
const ESCAPE = 0x1b;
const NOTHING = Buffer.alloc(0);
/** Empties the scrollback and resets everything that a program can set. */
const RESET = Buffer.from('\x1b[3J\x1bc');

/**
 * `seen`: the end of what the screen was given before the connection broke; `log`: the end of the pod's log, `cut` when
 * more came before it; `live`: what came since the new connection stands, and will be shown after the replay. Container
 * runtimes write a line to the log when it ends, so an unfinished last line may be missing there: one that is on the
 * screen is kept.
 */
export function catchUp(seen: Buffer, log: Buffer, cut: boolean, live: Buffer): CatchUp {
  const before = withoutOverlap(log, live);
  if (seen.length === 0) return { kind: 'continue', replay: fromSafeStart(before, cut) };
  const missed = missedSince(seen, before);
  if (missed) return { kind: 'continue', replay: missed };
  return { kind: 'rebuild', replay: Buffer.concat([RESET, fromSafeStart(before, cut)]) };
}

/** The log up to where the live bytes begin: its longest end that is their beginning is left to them. */
function withoutOverlap(log: Buffer, live: Buffer): Buffer {
  for (let length = Math.min(log.length, live.length, MAX_OVERLAP_BYTES); length > 0; length -= 1) {
    if (log[log.length - length] !== live[0]) continue;
    if (log.subarray(log.length - length).equals(live.subarray(0, length))) {
      return log.subarray(0, log.length - length);
    }
  }
  return log;
}

function missedSince(seen: Buffer, log: Buffer): Buffer | undefined {
  const lineStart = seen.lastIndexOf(LINE_FEED) + 1;
  const unfinished = seen.subarray(lineStart);
  const anchor = seen.subarray(Math.max(0, lineStart - ANCHOR_BYTES), lineStart);
  // Without a line end, all that was seen is the beginning of everything.
  const at = anchor.length === 0 ? 0 : log.lastIndexOf(anchor);
  if (at < 0) return undefined;
  const rest = log.subarray(at + anchor.length);
  if (rest.length >= unfinished.length) {
    return rest.subarray(0, unfinished.length).equals(unfinished)
      ? rest.subarray(unfinished.length)
      : undefined;
  }
  return unfinished.subarray(0, rest.length).equals(rest) ? NOTHING : undefined;
}

/** A log that was cut begins in the middle of anything: of a line, of a sequence, of a character. */
function fromSafeStart(log: Buffer, cut: boolean): Buffer {
  if (!cut) return log;
  const line = log.indexOf(LINE_FEED);
  if (line >= 0) return log.subarray(line + 1);
  const sequence = log.indexOf(ESCAPE);
  return sequence >= 0 ? log.subarray(sequence) : NOTHING;
}

/** The end of what went to a screen, within a bound. */
export class SeenOutput {
  readonly #limit: number;
  #parts: Buffer[] = [];
  #length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#parts.push(bytes);
    this.#length += bytes.length;
    if (this.#length > 2 * this.#limit || this.#parts.length > MAX_PARTS) this.#compact();
  }

  end(): Buffer {
    this.#compact();
    return this.#parts[0] ?? NOTHING;
  }

  clear(): void {
    this.#parts = [];
    this.#length = 0;
  }

  #compact(): void {
    // A copy: a part would keep the whole message that it is cut from.
    const kept = Buffer.from(Buffer.concat(this.#parts).subarray(-this.#limit));
    this.#parts = kept.length === 0 ? [] : [kept];
    this.#length = kept.length;
  }
}

const MAX_PARTS = 256;
