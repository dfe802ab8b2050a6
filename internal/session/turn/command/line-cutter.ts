const NEWLINE = 10;

/** Cuts bytes into lines; a character is never cut. */
export class LineCutter {
  readonly #limit: number;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: Buffer): readonly string[] | 'too-long' {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, end));
      if (this.#size > this.#limit) return 'too-long';
      lines.push(this.rest());
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
    return this.#size > this.#limit ? 'too-long' : lines;
  }

  /** What has no end yet. */
  rest(): string {
    const text = Buffer.concat(this.#parts).toString('utf8');
    this.#parts = [];
    this.#size = 0;
    return text.endsWith('\r') ? text.slice(0, -1) : text;
  }

  #keep(part: Buffer): void {
    this.#parts.push(part);
    this.#size += part.length;
  }
}
