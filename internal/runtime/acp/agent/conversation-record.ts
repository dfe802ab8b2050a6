import type { Clock } from '../../../platform/clock.ts';
import type { WireAcpQuestion } from '../../host/protocol.ts';
import { ConversationJournal } from './conversation-journal.ts';
import { ConversationScreen } from './conversation-screen.ts';
import type { Opened } from './handshake.ts';
import type { AnsweredBy } from './journal-fact.ts';
import { type JournalEnd, JournalFile } from './journal-file.ts';
import type { Update } from './updates.ts';

export interface RecordOptions {
  readonly journal: string;
  readonly cwd: string;
  readonly clock: Clock;
  /** Where the conversation can be read as it happens. */
  readonly write: (bytes: Buffer) => void;
}

/** Everything that happens in a conversation, first written down, then shown. */
export class ConversationRecord {
  readonly #screen: ConversationScreen;
  readonly #journal: ConversationJournal;
  #open = false;

  constructor({ journal, cwd, clock, write }: RecordOptions) {
    this.#screen = new ConversationScreen(write);
    this.#journal = new ConversationJournal(new JournalFile(journal), clock, cwd, (message) =>
      this.trouble(`the conversation is not written down any more: ${message}`),
    );
  }

  /** What an earlier life wrote down. */
  earlier(): JournalEnd | undefined {
    return this.#journal.earlier();
  }

  opened({ conversation, how }: Opened, agent: string): void {
    this.#open = true;
    this.#journal.opened(conversation, how, agent);
    this.#screen.did(`${how === 'new' ? 'new' : how} conversation with ${agent || 'the agent'}`);
  }

  prompt(turn: number, text: string): void {
    this.#journal.prompt(turn, text);
    this.#screen.pause();
    this.#screen.speak('user', text);
    this.#screen.pause();
  }

  update(update: Update): void {
    this.#journal.update(update);
    // What was prompted is on the screen already; a conversation that is loaded tells it again.
    if (update.kind === 'text' && update.who === 'user' && this.#open) return;
    this.#screen.update(update);
  }

  asked(question: WireAcpQuestion, call: string): void {
    const { id, title, detail, options } = question;
    this.#journal.note({ kind: 'asked', question: id, call, title, detail, options });
    this.#screen.question(question);
  }

  answered({ id, options }: WireAcpQuestion, by: AnsweredBy, option: string | undefined): void {
    this.#journal.note({ kind: 'answered', question: id, by, ...(option !== undefined && { option }) });
    this.#screen.answer(options.find((one) => one.id === option)?.name ?? 'cancelled');
  }

  turnEnded(stop: string): void {
    this.#journal.note({ kind: 'turn-ended', stop });
    this.#screen.pause();
    if (stop !== 'end_turn') this.#screen.trouble(stop.startsWith('error: ') ? stop : `stopped: ${stop}`);
  }

  trouble(text: string): void {
    this.#screen.trouble(text);
    this.#screen.flush();
  }

  closed(why: string): void {
    this.#journal.close(why);
  }

  flush(): void {
    this.#screen.flush();
  }
}
