export interface SseFrame {
  /** `message` when the frame names none. */
  readonly event: string;
  /** Absent when the frame has no id of its own. */
  readonly id?: string;
  readonly data: string;
}

/** Cuts a stream of text into server-sent events, wherever its pieces break. Source: the HTML standard's event-stream format. */
export class SseParser {
  #rest = '';

  push(chunk: string): readonly SseFrame[] {
    this.#rest += chunk;
    const frames: SseFrame[] = [];
    for (;;) {
      const end = /\r?\n\r?\n/.exec(this.#rest);
      if (!end) return frames;
      const frame = parseFrame(this.#rest.slice(0, end.index));
      this.#rest = this.#rest.slice(end.index + end[0].length);
      if (frame) frames.push(frame);
    }
  }
}

/** `undefined` for a frame without data: a comment. */
function parseFrame(block: string): SseFrame | undefined {
  const data: string[] = [];
  let event = 'message';
  let id: string | undefined;
  for (const line of block.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') data.push(value);
    else if (field === 'event') event = value;
    else if (field === 'id') id = value;
  }
  if (data.length === 0) return undefined;
  return { event, data: data.join('\n'), ...(id === undefined ? {} : { id }) };
}
