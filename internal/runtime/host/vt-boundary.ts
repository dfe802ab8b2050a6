/** Incomplete sequences longer than this (an image, a clipboard) are passed on as they come. */
const HOLD_LIMIT_BYTES = 4_096;

const ESC = 0x1b;
const BEL = 0x07;
const CAN = 0x18;
const SUB = 0x1a;

/**
 * How many of the last bytes begin a character or an escape sequence that is not complete. Output is handed on only
 * up to there, so that a redraw can be put between any two pieces.
 */
export function incompleteTail(bytes: Uint8Array): number {
  const held = Math.max(incompleteCharacter(bytes), incompleteSequence(bytes));
  return held > HOLD_LIMIT_BYTES ? 0 : held;
}

function incompleteCharacter(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? back : 0;
  }
  return 0;
}

function incompleteSequence(bytes: Uint8Array): number {
  const from = Math.max(0, bytes.length - HOLD_LIMIT_BYTES);
  const start = bytes.subarray(from).lastIndexOf(ESC);
  if (start < 0) return 0;
  const body = bytes.subarray(from + start + 1);
  return isComplete(body) ? 0 : body.length + 1;
}

function isComplete(body: Uint8Array): boolean {
  const [kind] = body;
  if (kind === undefined) return false;
  if (body.includes(CAN) || body.includes(SUB)) return true;
  switch (String.fromCharCode(kind)) {
    case '[':
      return body.subarray(1).some((b) => b >= 0x40 && b <= 0x7e);
    case ']':
      return body.includes(BEL);
    case 'P':
    case 'X':
    case '^':
    case '_':
      return false; // its end is an escape of its own
    default:
      return kind < 0x20 || kind > 0x2f || body.some((b) => b >= 0x30);
  }
}

/** Cuts output so that no piece scrolls more lines, or holds more bytes, than given; never inside a short sequence. */
export function* pieces(bytes: Buffer, maxBytes: number, maxLines: number): Generator<Buffer> {
  let from = 0;
  while (from < bytes.length) {
    const end = cutAt(bytes, from, Math.min(bytes.length, from + maxBytes), maxLines);
    const piece = bytes.subarray(from, end);
    const held = end < bytes.length ? incompleteTail(piece) : 0;
    const kept = held < piece.length ? piece.subarray(0, piece.length - held) : piece;
    yield kept;
    from += kept.length;
  }
}

function cutAt(bytes: Buffer, from: number, limit: number, maxLines: number): number {
  let lines = 0;
  for (let i = from; i < limit; i += 1) {
    const byte = bytes[i];
    // Line feed, vertical tab and form feed all move down a line.
    if (byte !== undefined && byte >= 10 && byte <= 12) {
      lines += 1;
      if (lines === maxLines) return i + 1;
    }
  }
  return limit;
}
