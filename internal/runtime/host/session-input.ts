import { codeOf, GcError } from '../../platform/errors.ts';
import { SessionNotFoundError } from '../errors.ts';
import type { AgentProcess } from './agent-process.ts';
import { InputQueue } from './input-queue.ts';
import { keyBytes } from './keys.ts';
import { CANONICAL_LINE_BYTES, isCanonical, longestLineBytes } from './terminal-mode.ts';

/** A person's typing beyond this, unread by the program, is dropped. */
const TYPED_LIMIT_BYTES = 1_048_576;
const QUEUE_LIMIT_BYTES = 134_217_728;
const PASTE_BEGIN = '\x1b[200~';
const PASTE_END = '\x1b[201~';

/** What the program asked of its terminal that changes the bytes of input. */
export interface InputModes {
  readonly bracketedPaste: boolean;
  readonly applicationCursorKeys: boolean;
}

type InputTaker = Pick<AgentProcess, 'terminal' | 'terminalPath' | 'writeSome'>;

/** Everything that is typed to one agent, by people and by the controller, in order. */
export class SessionInput {
  readonly #name: string;
  readonly #modes: InputModes;
  readonly #interrupt: () => void;
  #process: InputTaker | undefined;
  #queue = new InputQueue(() => 0);

  constructor(name: string, modes: InputModes, interrupt: () => void) {
    this.#name = name;
    this.#modes = modes;
    this.#interrupt = interrupt;
  }

  connect(process: InputTaker): void {
    this.#process = process;
    this.#queue = new InputQueue((bytes) => process.writeSome(bytes));
  }

  /** The program ended. */
  close(): void {
    this.#process = undefined;
    this.#queue.close();
  }

  /**
   * One paste, framed when the program asked for that. Resolves when the program's side has taken all of it.
   * @throws SessionNotFoundError when it has ended; GcError `line-too-long`, `input-full`, `input-stalled`
   */
  async paste(text: string): Promise<void> {
    if (this.#queue.pendingBytes + text.length > QUEUE_LIMIT_BYTES) {
      throw new GcError('input-full', `session "${this.#name}" has too much unread input`);
    }
    if (!this.#process?.terminal) return this.#push(Buffer.from(text));
    const longest = longestLineBytes(text);
    if (longest > CANONICAL_LINE_BYTES && (await this.limit()) !== undefined) {
      throw new GcError(
        'line-too-long',
        `session "${this.#name}": a line of ${longest} bytes does not fit: its program reads whole lines of at most ${CANONICAL_LINE_BYTES} bytes`,
        { next: 'break the text into shorter lines, or send the name of a file' },
      );
    }
    if (!this.#modes.bracketedPaste) return this.#push(Buffer.from(text));
    // A blank in its place: what stands around it cannot make another one.
    const whole = `${PASTE_BEGIN}${text.replaceAll(PASTE_END, ' ')}${PASTE_END}`;
    return this.#push(Buffer.from(whole), Buffer.from(PASTE_END));
  }

  /** Keys in tmux's spelling. Without a terminal, Enter is a line feed and `C-c` an interrupt. */
  async keys(keys: readonly string[]): Promise<void> {
    const terminal = this.#process?.terminal ?? false;
    for (const key of keys) {
      if (!terminal && key === 'C-c') this.#interrupt();
      else if (!terminal && key === 'Enter') await this.#push(Buffer.from('\n'));
      else await this.#push(Buffer.from(keyBytes(key, this.#modes.applicationCursorKeys)));
    }
  }

  /** Bytes that one line may have now; `undefined`: no limit known. */
  async limit(): Promise<number | undefined> {
    const path = this.#process?.terminalPath;
    if (path === undefined) return undefined;
    return (await isCanonical(path)) ? CANONICAL_LINE_BYTES : undefined;
  }

  /** What a person, or the terminal itself, sends: dropped when the program reads nothing, as at any terminal. */
  typed(bytes: Buffer): void {
    if (this.#queue.pendingBytes >= TYPED_LIMIT_BYTES) return;
    this.#queue.push(bytes).catch(() => undefined); // the program ended or gave up reading
  }

  /** A program that has ended takes input no more than one that never was. */
  async #push(bytes: Buffer, closer?: Buffer): Promise<void> {
    try {
      await this.#queue.push(bytes, closer);
    } catch (error) {
      throw codeOf(error) === 'input-closed' ? new SessionNotFoundError(this.#name) : error;
    }
  }
}
