import { codeOf, messageOf } from '../platform/errors.ts';

/** Trouble of the city as a whole, shown in its status until it is over. Each kind is logged once. */
export class Troubles {
  readonly #texts = new Map<string, string>();
  readonly #log: (line: string) => void;

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  get lines(): readonly string[] {
    return [...this.#texts.values()];
  }

  /** `topic` groups errors of one source: the newest stands for all. */
  note(error: unknown, topic = 'operation'): void {
    this.noteText(`${topic}:${codeOf(error) ?? 'error'}`, messageOf(error));
  }

  noteText(key: string, text: string): void {
    if (this.#texts.get(key) === text) return;
    this.#texts.set(key, text);
    this.#log(text);
  }

  /** It is over. */
  clear(key: string): void {
    this.#texts.delete(key);
  }

  /** A pass went well: what troubled earlier passes and operations is over. */
  clearPass(): void {
    for (const key of this.#texts.keys()) {
      if (key.startsWith('pass:') || key.startsWith('operation:')) this.#texts.delete(key);
    }
  }
}
