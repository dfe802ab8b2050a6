/** Ctrl-Q as one byte. */
const CTRL_Q = 0x11;
const ESC = 0x1b;

/**
 * Ctrl-Q as terminals send it once an agent has switched on extended keys: `CSI 113;5u` (kitty keyboard protocol,
 * with optional alternate keys, lock modifiers and event type) and `CSI 27;5;113~` (xterm modifyOtherKeys).
 * Source: the kitty keyboard protocol and xterm's control sequences.
 */
const DETACH_SEQUENCE = /^\x1b\[(?:113(?::\d*)*;(\d+)(?::(\d+))?(?:;[\d:]*)?u|27;(\d+);113~)$/;
/** Any beginning of a control sequence that could still become one of those. */
const UNFINISHED_SEQUENCE = /^\x1b(?:\[[\d;:]*)?$/;
const PASTE_BEGIN = '\x1b[200~';
const PASTE_END = '\x1b[201~';
/** Longer parameters belong to something else. */
const MAX_HELD_BYTES = 32;

const CTRL_BIT = 4;
const CAPS_LOCK_BIT = 64;
const NUM_LOCK_BIT = 128;
const RELEASE_EVENT = '3';

export interface FilteredKeys {
  /** What the agent gets. */
  readonly pass: Uint8Array;
  /** The person asked to leave; what followed was dropped. */
  readonly detach: boolean;
}

/**
 * Looks for the detach key in what a person types, whatever the borders of the chunks. A lone Escape at the end of a
 * chunk is held back: call `flush` when nothing followed for a moment. Text inside a bracketed paste is never a key.
 */
export class KeyFilter {
  #held: number[] = [];
  #pasting = false;

  /** Bytes wait for their continuation. */
  get holding(): boolean {
    return this.#held.length > 0;
  }

  push(chunk: Uint8Array): FilteredKeys {
    const pass: number[] = [];
    for (const byte of chunk) {
      if (this.#held.length > 0 || byte === ESC) {
        if (this.#continueSequence(byte, pass)) return { pass: Uint8Array.from(pass), detach: true };
      } else if (byte === CTRL_Q && !this.#pasting) {
        return { pass: Uint8Array.from(pass), detach: true };
      } else pass.push(byte);
    }
    return { pass: Uint8Array.from(pass), detach: false };
  }

  /** Gives up waiting: what was held is passed on. */
  flush(): Uint8Array {
    const bytes = Uint8Array.from(this.#held);
    this.#held = [];
    return bytes;
  }

  /** Takes the next byte of a sequence; answers whether it completed the detach key. */
  #continueSequence(byte: number, pass: number[]): boolean {
    if (byte === ESC && this.#held.length > 0) pass.push(...this.flush());
    this.#held.push(byte);
    const text = String.fromCharCode(...this.#held);
    if (UNFINISHED_SEQUENCE.test(text) && this.#held.length <= MAX_HELD_BYTES) return false;
    if (!this.#pasting && isDetachSequence(text)) {
      this.#held = [];
      return true;
    }
    if (text === PASTE_BEGIN) this.#pasting = true;
    if (text === PASTE_END) this.#pasting = false;
    const last = this.#held.at(-1);
    if (last === CTRL_Q && !this.#pasting) {
      pass.push(...this.#held.slice(0, -1));
      this.#held = [];
      return true;
    }
    pass.push(...this.flush());
    return false;
  }
}

function isDetachSequence(text: string): boolean {
  const match = DETACH_SEQUENCE.exec(text);
  if (!match) return false;
  const modifiers = Number(match[1] ?? match[3]) - 1;
  return (modifiers & ~(CAPS_LOCK_BIT | NUM_LOCK_BIT)) === CTRL_BIT && match[2] !== RELEASE_EVENT;
}
