import type { Clock } from '../../../platform/clock.ts';
import { ConversationJournal } from '../../../runtime/acp/agent/conversation-journal.ts';
import type { JournalFact } from '../../../runtime/acp/agent/journal-fact.ts';
import { JournalFile } from '../../../runtime/acp/agent/journal-file.ts';
import type { ToolChange } from '../../../runtime/acp/agent/updates.ts';
import { journalOf } from '../../../runtime/acp/journal-files.ts';

export interface JournalOptions {
  readonly runtimeDir: string;
  readonly session: string;
  readonly clock: Clock;
  readonly maxBytes?: number;
}

/** Writes a session's journal as its host does, without a host and an agent. */
export class WrittenJournal {
  readonly path: string;
  readonly #options: JournalOptions;
  #journal: ConversationJournal | undefined;
  #turn = 0;
  #ticks = 0;

  constructor(options: JournalOptions) {
    this.#options = options;
    this.path = journalOf(options.runtimeDir, options.session);
  }

  /** A new life of the agent. That of before was ended, or its host was killed. */
  open(conversation = 'c1', how: 'new' | 'loaded' = 'new'): this {
    const { clock, maxBytes } = this.#options;
    const file = new JournalFile(this.path, maxBytes);
    // No two lines at one time, as it mostly is.
    const ticking: Clock = {
      now: () => {
        this.#ticks += 1;
        return clock.now() + this.#ticks;
      },
      monotonic: () => clock.monotonic(),
      sleep: (ms, signal) => clock.sleep(ms, signal),
    };
    this.#journal = new ConversationJournal(file, ticking, '/work', (message) => {
      throw new Error(message);
    });
    this.#turn = 0;
    this.#told().opened(conversation, how, 'scripted');
    return this;
  }

  prompt(text: string): this {
    this.#turn += 1;
    this.#told().prompt(this.#turn, text);
    return this;
  }

  say(text: string): this {
    this.#told().update({ kind: 'text', who: 'agent', text, message: undefined });
    return this;
  }

  think(text: string): this {
    this.#told().update({ kind: 'text', who: 'thought', text, message: undefined });
    return this;
  }

  /** News of a tool call. */
  update(call: ToolChange): this {
    this.#told().update({ kind: 'tool', call });
    return this;
  }

  call(id: string, command: string): this {
    const input = JSON.stringify({ command });
    return this.update({ id, title: `Run ${command}`, tool: 'execute', status: 'in_progress', input });
  }

  result(id: string, output: string, status: 'completed' | 'failed' = 'completed'): this {
    return this.update({ id, status, output });
  }

  note(fact: Extract<JournalFact, { kind: 'asked' | 'answered' | 'turn-ended' }>): this {
    this.#told().note(fact);
    return this;
  }

  end(stop = 'end_turn'): this {
    return this.note({ kind: 'turn-ended', stop });
  }

  close(why = 'the session was removed'): this {
    this.#told().close(why);
    return this;
  }

  turn(n: number): this {
    return this.prompt(`do ${n}`)
      .call(`call${n}`, `echo ${n}`)
      .result(`call${n}`, `${n}`)
      .say(`done ${n}`)
      .end();
  }

  #told(): ConversationJournal {
    if (!this.#journal) throw new Error('open it first');
    return this.#journal;
  }
}
