/** What a control-mode server says. Source: tmux(1), "CONTROL MODE". */
export type ControlEvent =
  /** The answer to one command; `own` is false for hooks and for commands given on the command line. */
  | { readonly kind: 'block'; readonly own: boolean; readonly ok: boolean; readonly body: string }
  | { readonly kind: 'notification'; readonly name: string };

interface OpenBlock {
  readonly end: string;
  readonly error: string;
  readonly own: boolean;
  readonly lines: Buffer[];
}

const NEWLINE = 0x0a;
const PERCENT = 0x25;
const LINE_BREAK = Buffer.from('\n');

/**
 * Cuts the byte stream of a control connection into events. A block ends only at the guard with its own time and
 * number, because the text of a pane may itself hold lines that look like guards.
 */
export class BlockParser {
  #partial: Buffer[] = [];
  #block: OpenBlock | undefined;

  push(chunk: Buffer): readonly ControlEvent[] {
    const events: ControlEvent[] = [];
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      const tail = chunk.subarray(from, at);
      from = at + 1;
      const line = this.#partial.length > 0 ? Buffer.concat([...this.#partial, tail]) : tail;
      this.#partial = [];
      const event = this.#line(line);
      if (event) events.push(event);
    }
    if (from < chunk.length) this.#partial.push(chunk.subarray(from));
    return events;
  }

  #line(line: Buffer): ControlEvent | undefined {
    const guard = line[0] === PERCENT ? line.toString('latin1') : '';
    const block = this.#block;
    if (block) {
      if (guard !== block.end && guard !== block.error) {
        block.lines.push(line);
        return undefined;
      }
      this.#block = undefined;
      return { kind: 'block', own: block.own, ok: guard === block.end, body: joinLines(block.lines) };
    }
    const begin = /^%begin (\d+ \d+ (\d+))$/.exec(guard);
    if (begin) {
      this.#block = {
        end: `%end ${begin[1]}`,
        error: `%error ${begin[1]}`,
        own: begin[2] === '1',
        lines: [],
      };
      return undefined;
    }
    const name = /^%([a-z-]+)/.exec(guard)?.[1];
    return name ? { kind: 'notification', name } : undefined;
  }
}

function joinLines(lines: readonly Buffer[]): string {
  return Buffer.concat(lines.flatMap((line, i) => (i === 0 ? [line] : [LINE_BREAK, line]))).toString('utf8');
}
