import type { Clock } from '../../../platform/clock.ts';
import { messageOf } from '../../../platform/errors.ts';
import { JOURNAL_VERSION, type JournalFact, type JournalLine } from './journal-fact.ts';
import type { JournalEnd, JournalFile } from './journal-file.ts';
import type { ToolChange, Update } from './updates.ts';

/** A longer text is written in parts. */
export const PART_CHARS = 262_144;
/** Tool calls that have begun and not ended; the oldest are forgotten beyond this, without a last line. */
const OPEN_CALLS = 256;
/** Tool calls that have ended in a turn: what their agent adds later is no second call. */
const ENDED_CALLS = 256;

interface OpenCall {
  readonly change: ToolChange;
  /** Its first line is written. Agents tell of a call before they know what it is called with. */
  readonly started: boolean;
}

interface Speech {
  readonly kind: 'message' | 'thought';
  readonly key: string;
  readonly message: string;
  text: string;
}

/** Turns what streams by into whole facts and writes them down. A journal that cannot be written stops itself, not the agent. */
export class ConversationJournal {
  readonly #file: JournalFile;
  readonly #clock: Clock;
  readonly #cwd: string;
  readonly #onTrouble: (message: string) => void;
  readonly #calls = new Map<string, OpenCall>();
  readonly #endedCalls = new Set<string>();
  #conversation: string | undefined;
  #seq = 0;
  #turn = 0;
  #messages = 0;
  #speech: Speech | undefined;

  constructor(file: JournalFile, clock: Clock, cwd: string, onTrouble: (message: string) => void) {
    this.#file = file;
    this.#clock = clock;
    this.#cwd = cwd;
    this.#onTrouble = onTrouble;
  }

  /** What an earlier life left. */
  earlier(): JournalEnd | undefined {
    try {
      return this.#file.end();
    } catch (error) {
      this.#onTrouble(messageOf(error));
      return undefined;
    }
  }

  opened(conversation: string, how: 'new' | 'loaded' | 'resumed', agent: string): void {
    const earlier = this.earlier();
    const goesOn = earlier?.conversation === conversation;
    this.#seq = goesOn ? earlier.seq : 0;
    try {
      this.#file.open(goesOn);
    } catch (error) {
      this.#onTrouble(messageOf(error));
      return;
    }
    this.#conversation = conversation;
    this.#write({ kind: 'opened', how, agent });
  }

  prompt(turn: number, text: string): void {
    this.#endSpeech();
    this.#turn = turn;
    this.#endedCalls.clear();
    const message = this.#nextMessage();
    for (let from = 0; from === 0 || from < text.length; from += PART_CHARS) {
      const continues = from + PART_CHARS < text.length && { continues: true as const };
      this.#write({ kind: 'prompt', message, text: text.slice(from, from + PART_CHARS), ...continues });
    }
  }

  update(update: Update): void {
    if (this.#conversation === undefined) return;
    if (update.kind === 'tool') this.#tool(update.call);
    if (update.kind === 'text' && update.who !== 'user') this.#speak(update);
  }

  /** A fact that is whole as it is. What was being said before it is whole with it. */
  note(fact: Exclude<JournalFact, { kind: 'opened' | 'prompt' | 'message' | 'thought' }>): void {
    this.#endSpeech();
    if (fact.kind === 'asked') this.#startCall(fact.call);
    if (fact.kind === 'turn-ended' || fact.kind === 'closed') {
      for (const id of [...this.#calls.keys()]) this.#startCall(id);
    }
    this.#write(fact);
  }

  close(why: string): void {
    this.note({ kind: 'closed', why });
    this.#conversation = undefined;
    this.#file.close();
  }

  #speak(update: Extract<Update, { kind: 'text' }>): void {
    const kind = update.who === 'agent' ? 'message' : 'thought';
    const key = `${kind} ${update.message ?? ''}`;
    if (this.#speech?.key !== key) {
      this.#endSpeech();
      this.#speech = { kind, key, message: this.#nextMessage(), text: '' };
    }
    this.#speech.text += update.text;
    while (this.#speech.text.length > PART_CHARS) {
      const text = this.#speech.text.slice(0, PART_CHARS);
      this.#speech.text = this.#speech.text.slice(PART_CHARS);
      this.#write({ kind, message: this.#speech.message, text, continues: true });
    }
  }

  #tool(change: ToolChange): void {
    if (this.#endedCalls.has(change.id)) return;
    const known = this.#calls.get(change.id);
    const call = { ...known?.change, ...change };
    this.#calls.delete(change.id);
    this.#calls.set(change.id, { change: call, started: known?.started ?? false });
    const { status = 'pending' } = call;
    if (status !== 'pending' || call.input !== undefined) this.#startCall(change.id);
    if (status === 'completed' || status === 'failed') this.#endCall(call, status === 'failed');
    forgetOldest(this.#calls, OPEN_CALLS);
  }

  #startCall(id: string): void {
    const known = this.#calls.get(id);
    if (!known || known.started) return;
    const { title = id, tool, input } = known.change;
    this.#calls.set(id, { ...known, started: true });
    this.note({
      kind: 'tool-started',
      call: id,
      title,
      ...(tool !== undefined && { tool }),
      ...(input !== undefined && { input }),
    });
  }

  #endCall({ id, title = id, output }: ToolChange, failed: boolean): void {
    this.#calls.delete(id);
    this.#endedCalls.add(id);
    forgetOldest(this.#endedCalls, ENDED_CALLS);
    this.note({ kind: 'tool-finished', call: id, title, failed, ...(output !== undefined && { output }) });
  }

  #endSpeech(): void {
    const speech = this.#speech;
    this.#speech = undefined;
    if (speech && speech.text !== '') {
      this.#write({ kind: speech.kind, message: speech.message, text: speech.text });
    }
  }

  #nextMessage(): string {
    this.#messages += 1;
    return `${this.#turn}.${this.#messages}`;
  }

  #write(fact: JournalFact): void {
    if (this.#conversation === undefined) return;
    const line: JournalLine = {
      v: JOURNAL_VERSION,
      seq: this.#seq + 1,
      at: this.#clock.now(),
      conversation: this.#conversation,
      cwd: this.#cwd,
      turn: this.#turn,
      fact,
    };
    try {
      this.#file.append(JSON.stringify(line));
      this.#seq += 1;
    } catch (error) {
      this.#conversation = undefined;
      this.#onTrouble(messageOf(error));
    }
  }
}

function forgetOldest(ids: Map<string, unknown> | Set<string>, kept: number): void {
  const [oldest] = ids.keys();
  if (ids.size > kept && oldest !== undefined) ids.delete(oldest);
}
