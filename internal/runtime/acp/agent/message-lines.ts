/** Longer messages are not kept: nothing that an agent says may fill the memory of a host with many agents. */
export const MAX_MESSAGE_BYTES = 4_194_304;
/** Of a message that is too long, this much is kept, to see what it was. */
const HEAD_BYTES = 512;
/** A message that is passed over must end within this. */
const PASSED_OVER_LIMIT_BYTES = 268_435_456;
const NEWLINE = 10;

export type MessageLine =
  | { readonly kind: 'line'; readonly text: string }
  /** Told as soon as it is seen; the rest of it follows unseen. */
  | { readonly kind: 'too-long'; readonly head: string }
  /** What began too long does not end. */
  | { readonly kind: 'endless' };

/** Cuts a byte stream into lines of bounded length. What a longer line held is let go as it comes. */
export class MessageLines {
  readonly #limit: number;
  #parts: Buffer[] = [];
  #length = 0;

  constructor(limit = MAX_MESSAGE_BYTES) {
    this.#limit = limit;
  }

  push(chunk: Buffer): readonly MessageLine[] {
    const lines: MessageLine[] = [];
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, end), lines);
      if (this.#length <= this.#limit) lines.push({ kind: 'line', text: this.#text() });
      this.#parts = [];
      this.#length = 0;
      from = end + 1;
    }
    this.#keep(chunk.subarray(from), lines);
    return lines;
  }

  #keep(bytes: Buffer, lines: MessageLine[]): void {
    if (bytes.length === 0) return;
    const was = this.#length;
    this.#length += bytes.length;
    if (this.#length <= this.#limit) {
      this.#parts.push(bytes);
    } else if (was <= this.#limit) {
      this.#parts = [head([...this.#parts, bytes])];
      lines.push({ kind: 'too-long', head: this.#text() });
      this.#parts = [];
    } else if (was <= PASSED_OVER_LIMIT_BYTES && this.#length > PASSED_OVER_LIMIT_BYTES) {
      lines.push({ kind: 'endless' });
    }
  }

  #text(): string {
    return Buffer.concat(this.#parts).toString('utf8');
  }
}

/** A copy, so that what it was cut from can go. */
function head(parts: readonly Buffer[]): Buffer {
  const first: Buffer[] = [];
  let length = 0;
  for (const part of parts) {
    if (length >= HEAD_BYTES) break;
    first.push(part.subarray(0, HEAD_BYTES - length));
    length += part.length;
  }
  return Buffer.concat(first);
}

const LONG_UPDATE = /^\s*\{\s*("jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"method"\s*:\s*"session\/update"\s*,/;

/** Whether the beginning of a message that is too long shows that nobody waits for it. */
export const isUpdateHead = (text: string): boolean => LONG_UPDATE.test(text);
