import { GcError } from '../../platform/errors.ts';

/** A program that takes nothing for this long is not going to: what waits is given back with an error. */
export const INPUT_STALL_TIMEOUT_MS = 30_000;
/** Between tries while the kernel's buffer is full: grows from the first to the last. */
const RETRY_FIRST_MS = 2;
const RETRY_LAST_MS = 50;
/** Written in one go before other work has its turn. */
const TURN_BYTES = 65_536;

interface Item {
  readonly bytes: Buffer;
  /** Ends what was begun when the rest of it is given up. */
  readonly closer: Buffer | undefined;
  readonly done: () => void;
  readonly fail: (error: Error) => void;
  written: number;
}

/** Nobody waits for what only ends a thing that was begun. */
const closing = (bytes: Buffer): Item => ({
  bytes,
  closer: undefined,
  done: () => undefined,
  fail: () => undefined,
  written: 0,
});

/** Input on its way to a program, in order, without loss and without blocking: waits while the program reads slowly. */
export class InputQueue {
  readonly #writeSome: (bytes: Buffer) => number;
  #items: Item[] = [];
  #timer: NodeJS.Timeout | undefined;
  #retryMs = RETRY_FIRST_MS;
  #progressAt = 0;
  #closed = false;

  constructor(writeSome: (bytes: Buffer) => number) {
    this.#writeSome = writeSome;
  }

  get pendingBytes(): number {
    return this.#items.reduce((sum, item) => sum + item.bytes.length - item.written, 0);
  }

  /** Resolves when the program's side has taken all of it. @throws GcError `input-stalled`, `input-closed` */
  push(bytes: Buffer, closer?: Buffer): Promise<void> {
    if (this.#closed) return Promise.reject(new GcError('input-closed', 'the program has ended'));
    return new Promise((done, fail) => {
      this.#items.push({ bytes, closer, done, fail, written: 0 });
      if (this.#items.length === 1) {
        this.#progressAt = performance.now();
        this.#pump();
      }
    });
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const item of this.#items.splice(0)) {
      item.fail(new GcError('input-closed', 'the program ended before it took the input'));
    }
  }

  #pump(): void {
    let budget = TURN_BYTES;
    for (let item = this.#items[0]; item && budget > 0; item = this.#items[0]) {
      const taken = this.#write(item);
      if (taken === undefined) continue;
      if (taken === 0 && item.bytes.length > 0) {
        this.#waitForRoom();
        return;
      }
      this.#retryMs = RETRY_FIRST_MS;
      this.#progressAt = performance.now();
      item.written += taken;
      budget -= taken;
      if (item.written < item.bytes.length) continue;
      this.#items.shift();
      item.done();
    }
    if (this.#items.length > 0) this.#later(0);
  }

  /** `undefined`: this item cannot be delivered, and is given back. */
  #write(item: Item): number | undefined {
    if (item.bytes.length === 0) return 0;
    try {
      return this.#writeSome(item.bytes.subarray(item.written));
    } catch (error) {
      this.#items.shift();
      item.fail(error instanceof Error ? error : new Error(String(error)));
      if (item.closer) this.#items.unshift(closing(item.closer));
      this.#progressAt = performance.now();
      return undefined;
    }
  }

  #waitForRoom(): void {
    if (performance.now() - this.#progressAt > INPUT_STALL_TIMEOUT_MS) {
      this.#giveUp();
      return;
    }
    this.#later(this.#retryMs);
    this.#retryMs = Math.min(RETRY_LAST_MS, this.#retryMs * 2);
  }

  #later(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#pump(), ms);
  }

  #giveUp(): void {
    const seconds = Math.round(INPUT_STALL_TIMEOUT_MS / 1_000);
    const [first] = this.#items;
    for (const item of this.#items.splice(0)) {
      item.fail(new GcError('input-stalled', `the program read no input for ${seconds} s`));
    }
    // Pasted text that was begun must end, or the program takes every later key for a part of it.
    if (first?.closer && first.written > 0) this.push(first.closer).catch(() => undefined);
  }
}
