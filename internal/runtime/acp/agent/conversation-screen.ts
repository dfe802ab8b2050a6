import { unreachable } from '../../../platform/errors.ts';
import type { WireAcpQuestion } from '../../host/protocol.ts';
import { plainText } from './plain-text.ts';
import type { Speaker, ToolChange, Update } from './updates.ts';

/** Tool calls whose title is remembered for their last line. */
const REMEMBERED_CALLS = 256;
const MARKS: Readonly<Record<Speaker, string>> = { user: '> ', agent: '', thought: '~ ' };

/**
 * A conversation as plain text, as somebody would read it over the agent's shoulder: what it was told (`> `), what it
 * says, thinks (`~ `), does (`* `), asks (`? `), and what went wrong (`! `).
 */
export class ConversationScreen {
  readonly #write: (bytes: Buffer) => void;
  readonly #titles = new Map<string, string>();
  /** Who speaks in the line that is open or was just ended. */
  #speaker: Speaker | undefined;
  #message: string | undefined;
  #lineOpen = false;
  #pending = '';
  #plan = '';

  constructor(write: (bytes: Buffer) => void) {
    this.#write = write;
  }

  update(update: Update): void {
    switch (update.kind) {
      case 'text':
        this.speak(update.who, update.text, update.message);
        break;
      case 'tool':
        this.#tool(update.call);
        break;
      case 'plan':
        this.#planned(update);
        break;
      case 'mode':
        this.#line(`* mode: ${update.mode}`);
        break;
      case 'notice':
        this.#line(`! ${update.text}`);
        break;
      case 'other':
        break;
      default:
        unreachable(update);
    }
  }

  /** A piece of what somebody says; pieces of one message are joined. */
  speak(who: Speaker, text: string, message?: string): void {
    if (text === '') return;
    if (who !== this.#speaker || message !== this.#message) this.pause();
    this.#speaker = who;
    this.#message = message;
    const mark = MARKS[who];
    for (const part of plainText(text).split(/(\n)/)) {
      if (part === '') continue;
      if (!this.#lineOpen && mark !== '') this.#pending += mark;
      this.#pending += part === '\n' ? '\r\n' : part;
      this.#lineOpen = part !== '\n';
    }
  }

  /** What comes next begins a new line. */
  pause(): void {
    this.#endLine();
    this.#speaker = undefined;
  }

  question({ title, detail, options }: WireAcpQuestion): void {
    this.#line(`? ${title}`);
    for (const line of detail === '' ? [] : plainText(detail).split('\n')) this.#line(`    ${line}`);
    for (const [index, { name }] of options.entries()) this.#line(`    ${index + 1} ${name}`);
  }

  did(what: string): void {
    this.#line(`* ${what}`);
  }

  answer(text: string): void {
    this.#line(`  = ${text}`);
  }

  /** Something went wrong; several lines are kept apart. */
  trouble(text: string): void {
    for (const line of plainText(text).trimEnd().split('\n')) this.#line(`! ${line}`);
  }

  /** Gives everything so far to the terminal; empty when nothing is to be shown, which still tells that the agent lives. */
  flush(): void {
    const bytes = Buffer.from(this.#pending);
    this.#pending = '';
    this.#write(bytes);
  }

  #tool({ id, title, status }: ToolChange): void {
    const known = this.#titles.get(id);
    const name = title ?? known ?? id;
    this.#titles.delete(id);
    if (status === 'completed' || status === 'failed') {
      this.#line(`* ${name}: ${status === 'completed' ? 'done' : 'failed'}`);
      return;
    }
    this.#titles.set(id, name);
    const [oldest] = this.#titles.keys();
    if (this.#titles.size > REMEMBERED_CALLS && oldest !== undefined) this.#titles.delete(oldest);
    if (known === undefined) this.#line(`* ${name}`);
  }

  #planned({ done, steps, current }: Extract<Update, { kind: 'plan' }>): void {
    const line = `* plan: ${done} of ${steps} done${current === '' ? '' : `, now: ${current}`}`;
    if (line === this.#plan) return;
    this.#plan = line;
    this.#line(line);
  }

  #line(text: string): void {
    this.pause();
    this.#pending += `${text}\r\n`;
  }

  #endLine(): void {
    if (this.#lineOpen) this.#pending += '\r\n';
    this.#lineOpen = false;
  }
}
