/** The last bytes of a stream. */
export class TailRing {
  readonly #limit: number;
  #parts: Buffer[] = [];
  #length = 0;
  #dropped = false;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  push(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#length += chunk.length;
    if (this.#length > this.#limit) this.#dropped = true;
    // Trimmed now and then, not for every small piece.
    if (this.#length > this.#limit * 2) this.#trim();
  }

  /** Something before what is kept was let go. */
  get truncated(): boolean {
    return this.#dropped;
  }

  /** From the beginning of a character. */
  text(): string {
    const kept = this.#trim();
    let from = 0;
    while (this.#dropped && from < Math.min(3, kept.length) && isContinuation(kept[from])) from += 1;
    return kept.subarray(from).toString('utf8');
  }

  /** A copy, so that what it was cut from can go. */
  #trim(): Buffer {
    const all = Buffer.concat(this.#parts);
    const kept = Buffer.from(all.subarray(Math.max(0, all.length - this.#limit)));
    this.#parts = kept.length === 0 ? [] : [kept];
    this.#length = kept.length;
    return kept;
  }
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;
