/** What a container wrote, for `pods/log`: a bounded ring of pieces with their times. */
const KEEP_BYTES = 4_000_000;

export interface LogQuery {
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
  readonly sinceMs: number | undefined;
}

export class ContainerLog {
  #pieces: { readonly at: number; readonly bytes: Buffer }[] = [];
  #size = 0;
  readonly #followers = new Set<(bytes: Buffer) => void>();

  append(bytes: Buffer): void {
    this.#pieces.push({ at: Date.now(), bytes });
    this.#size += bytes.length;
    while (this.#size > KEEP_BYTES) this.#size -= this.#pieces.shift()?.bytes.length ?? 0;
    for (const follower of this.#followers) follower(bytes);
  }

  read(query: LogQuery): Buffer {
    const { tailLines, limitBytes, sinceMs } = query;
    const chosen = this.#pieces.filter((piece) => sinceMs === undefined || piece.at >= sinceMs);
    let bytes: Buffer = Buffer.concat(chosen.map((piece) => piece.bytes));
    if (tailLines !== undefined) bytes = lastLines(bytes, tailLines);
    return limitBytes === undefined ? bytes : bytes.subarray(0, limitBytes);
  }

  follow(listener: (bytes: Buffer) => void): () => void {
    this.#followers.add(listener);
    return () => this.#followers.delete(listener);
  }
}

const NEWLINE = 0x0a;

/** A line without its end counts as one. */
function lastLines(bytes: Buffer, count: number): Buffer {
  if (count <= 0) return Buffer.alloc(0);
  let from = bytes.at(-1) === NEWLINE ? bytes.length - 1 : bytes.length;
  for (let left = count; left > 0; left -= 1) {
    const newline = from === 0 ? -1 : bytes.lastIndexOf(NEWLINE, from - 1);
    if (newline < 0) return bytes;
    from = newline;
  }
  return bytes.subarray(from + 1);
}
