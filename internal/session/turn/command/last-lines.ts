import type { Environment } from '../../../platform/paths.ts';

/** Kept of what a program said last. */
const KEPT_LINES = 50;
const KEPT_CHARS = 16_384;
/** Shown of it in an error. */
const SHOWN_LINES = 8;
const SHOWN_LINE_CHARS = 300;
/** Variables whose values are hidden when a program prints them. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH/i;
/** Shorter values are words that may stand anywhere. */
const SECRET_MIN_CHARS = 8;

/** The last lines that a program printed, for errors. */
export class LastLines {
  readonly #secrets: readonly string[];
  #text = '';

  constructor(env: Environment) {
    this.#secrets = Object.entries(env).flatMap(([name, value]) =>
      value !== undefined && value.length >= SECRET_MIN_CHARS && SECRET_NAME.test(name) ? [value] : [],
    );
  }

  add(text: string): void {
    this.#text = (this.#text + text).slice(-KEPT_CHARS);
  }

  lines(): readonly string[] {
    return this.#text
      .split('\n')
      .filter((line) => line.trim() !== '')
      .slice(-KEPT_LINES);
  }

  /** A text of the program without the values of secret variables. */
  clean(text: string): string {
    return this.#secrets.reduce((shown, secret) => shown.replaceAll(secret, '[hidden]'), text);
  }

  /** For the end of a message: `: last line; line before`, '' when nothing was said. Values of secret variables are hidden. */
  shown(): string {
    const lines = this.lines()
      .slice(-SHOWN_LINES)
      .map((line) => this.clean(line).slice(0, SHOWN_LINE_CHARS));
    return lines.length === 0 ? '' : `; its last lines:\n${lines.join('\n')}`;
  }
}
