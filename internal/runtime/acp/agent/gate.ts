/** Lets pass while it is open; who comes while it is closed waits. */
export class Gate {
  #waiting: (() => void)[] | undefined;

  close(): void {
    this.#waiting ??= [];
  }

  open(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const pass of waiting) pass();
  }

  pass(): Promise<void> | undefined {
    const waiting = this.#waiting;
    return waiting && new Promise((resolve) => waiting.push(resolve));
  }
}
