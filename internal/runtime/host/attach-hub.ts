import type { TerminalSize } from '../provider.ts';
import { attachBegin, REDRAW_BEGIN, REDRAW_END } from './attach-text.ts';
import type { EndReason } from './protocol.ts';
import type { Screen } from './screen.ts';

/** A person's terminal that has this much to take yet gets no more output, but a redraw once it has caught up. */
const BEHIND_BYTES = 1_048_576;
const CAUGHT_UP_BYTES = 65_536;
const REDRAW_INTERVAL_MS = 50;

/** The connection of one person's terminal. */
export interface AttachSink {
  send(bytes: Buffer): void;
  /** Handed to `send`, but not taken by the other side. */
  queuedBytes(): number;
  end(reason: EndReason): void;
}

export interface AttachedTerminal {
  resize(size: TerminalSize): void;
  leave(): void;
}

interface Member {
  readonly sink: AttachSink;
  size: TerminalSize;
  /** Gets output as it comes: same size, not behind, and drawn once. */
  live: boolean;
  drawn: boolean;
  timer: NodeJS.Timeout | undefined;
}

/**
 * The people at one session's terminal. The session takes the smallest of their sizes. A terminal of that size gets
 * the program's own bytes; a larger one, or one that is behind, gets redraws.
 */
export class AttachHub {
  readonly #screen: Screen;
  readonly #resize: (size: TerminalSize) => void;
  readonly #onCount: (change: 'attached' | 'detached') => void;
  readonly #members = new Set<Member>();

  constructor(
    screen: Screen,
    resize: (size: TerminalSize) => void,
    onCount: (change: 'attached' | 'detached') => void,
  ) {
    this.#screen = screen;
    this.#resize = resize;
    this.#onCount = onCount;
  }

  get count(): number {
    return this.#members.size;
  }

  /** Some person's terminal sees the program's questions and answers them itself. */
  get answers(): boolean {
    return [...this.#members].some((member) => member.live);
  }

  add(sink: AttachSink, size: TerminalSize): AttachedTerminal {
    const member: Member = { sink, size, live: false, drawn: false, timer: undefined };
    this.#members.add(member);
    this.#fit();
    this.#draw(member);
    this.#onCount('attached');
    return {
      resize: (next) => {
        member.size = next;
        this.#fit();
        this.#draw(member);
      },
      leave: () => {
        if (!this.#members.delete(member)) return;
        clearTimeout(member.timer);
        if (this.#members.size > 0) this.#fit();
        this.#onCount('detached');
      },
    };
  }

  /** The screen has changed without output that could be passed on. */
  redraw(): void {
    for (const member of this.#members) {
      member.live = false;
      this.#drawSoon(member);
    }
  }

  /** A piece of output is on the screen: it goes to everyone who is up to date. */
  shown(piece: Buffer): void {
    for (const member of this.#members) {
      if (!member.live) {
        this.#drawSoon(member);
        continue;
      }
      member.sink.send(piece);
      if (member.sink.queuedBytes() > BEHIND_BYTES) member.live = false;
    }
  }

  end(reason: EndReason): void {
    for (const member of this.#members) {
      clearTimeout(member.timer);
      member.sink.end(reason);
    }
    this.#members.clear();
  }

  #fit(): void {
    const sizes = [...this.#members].map((member) => member.size);
    const size = {
      columns: Math.min(...sizes.map((s) => s.columns)),
      rows: Math.min(...sizes.map((s) => s.rows)),
    };
    if (size.columns === this.#screen.columns && size.rows === this.#screen.rows) return;
    this.#resize(size);
    for (const member of this.#members) {
      member.live = false;
      this.#drawSoon(member);
    }
  }

  #drawSoon(member: Member): void {
    member.timer ??= setTimeout(() => this.#draw(member), REDRAW_INTERVAL_MS);
  }

  #draw(member: Member): void {
    clearTimeout(member.timer);
    member.timer = undefined;
    if (!this.#members.has(member)) return;
    if (member.sink.queuedBytes() > CAUGHT_UP_BYTES) {
      this.#drawSoon(member);
      return;
    }
    const { columns, rows } = this.#screen;
    const same = member.size.columns === columns && member.size.rows === rows;
    const begin = member.drawn ? REDRAW_BEGIN : attachBegin(member.size.rows);
    const body = same ? this.#screen.redraw() : this.#screen.redrawFor(member.size);
    member.sink.send(Buffer.from(begin + body + REDRAW_END));
    member.drawn = true;
    member.live = same;
  }
}
