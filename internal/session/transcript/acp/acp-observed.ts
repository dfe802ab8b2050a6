import { isFields } from '../../../platform/fields.ts';
import type { ObservedEntry, PlacedEntry } from '../observed.ts';
import type { KnownFact, KnownLine } from './journal-line.ts';

/** What is longer is told as several messages: nobody holds more of one text in memory. */
export const MESSAGE_CHARS = 8_388_608;
const ERROR_STOP = /^error: /;

type TextFact = Extract<KnownFact, { kind: 'prompt' | 'message' | 'thought' }>;

interface Speech {
  readonly first: KnownLine;
  readonly fact: TextFact;
  readonly text: string;
}

/**
 * Turns the lines of a journal, in order, into what they tell of the conversation. Pure. A text in parts is told with its
 * last one; that none is open is a place from which another reader can go on and tells the same.
 */
export class JournalObserver {
  #next: number | undefined;
  #speech: Speech | undefined;

  /** @param next the number of the line that comes next; `undefined`: not known */
  constructor(next: number | undefined) {
    this.#next = next;
  }

  /** A text is not whole yet. */
  get isOpen(): boolean {
    return this.#speech !== undefined;
  }

  take(line: KnownLine): readonly PlacedEntry[] {
    const { fact } = line;
    const missed = this.#missedBefore(line);
    this.#next = line.seq + 1;
    const speech = this.#speech;
    if (!isText(fact)) return [...this.#cutOff(), ...missed, ...placed(line, entriesOf(line))];
    const goesOn = speech && missed.length === 0 && isSameMessage(speech, line, fact);
    const before = goesOn ? [] : this.#cutOff();
    this.#speech = goesOn
      ? { ...speech, text: speech.text + fact.text }
      : { first: line, fact, text: fact.text };
    const isWhole = fact.continues !== true || this.#speech.text.length >= MESSAGE_CHARS;
    return [...before, ...missed, ...(isWhole ? this.#cutOff() : [])];
  }

  /** Its writer was killed before the last part: what there is of it is what was said. */
  #cutOff(): readonly PlacedEntry[] {
    const speech = this.#speech;
    this.#speech = undefined;
    return speech ? placed(speech.first, spoken(speech)) : [];
  }

  #missedBefore(line: KnownLine): readonly PlacedEntry[] {
    const count = line.seq - (this.#next ?? line.seq);
    return count > 0 ? placed(line, [{ kind: 'missed', id: `${idOf(line)}:before`, count }]) : [];
  }
}

/** Unique over all conversations, and over a journal that begins anew. */
const idOf = ({ conversation, seq, at }: KnownLine): string => `${conversation}:${seq}:${at}`;

function placed(line: KnownLine, entries: readonly ObservedEntry[]): readonly PlacedEntry[] {
  return entries.map((entry) => ({ entry, at: line.at, offset: line.seq }));
}

const isText = (fact: KnownFact): fact is TextFact =>
  fact.kind === 'prompt' || fact.kind === 'message' || fact.kind === 'thought';

function isSameMessage({ first, fact }: Speech, line: KnownLine, next: TextFact): boolean {
  return fact.kind === next.kind && fact.message === next.message && first.turn === line.turn;
}

function spoken({ first, fact, text }: Speech): readonly ObservedEntry[] {
  const id = idOf(first);
  switch (fact.kind) {
    case 'prompt':
      return [{ kind: 'prompt', id, at: first.at, text }];
    case 'message':
      return text === '' ? [] : [{ kind: 'answer', id, text, ends: false }];
    case 'thought':
      return [];
  }
}

function entriesOf(line: KnownLine): readonly ObservedEntry[] {
  const { fact, at } = line;
  const id = idOf(line);
  switch (fact.kind) {
    case 'opened':
    case 'closed':
      // A host that was killed wrote no end of the turn that was under way.
      return [{ kind: 'turn-end', id, how: 'unknown' }];
    case 'tool-started': {
      const { call: callId, title, tool: name = 'tool' } = fact;
      return [{ kind: 'tool-call', id, callId, name, title, input: inputOf(fact) }];
    }
    case 'tool-finished':
      return [{ kind: 'tool-result', id, callId: fact.call, error: fact.failed, text: fact.output ?? '' }];
    case 'asked': {
      const { question, call: callId, title, detail, options } = fact;
      return [{ kind: 'asked', id, at, question, callId, title, detail, options }];
    }
    case 'answered':
      return [{ kind: 'answered', id, at, question: fact.question, by: fact.by, option: fact.option }];
    case 'turn-ended':
      return [turnEnd(id, fact.stop)];
    case 'prompt':
    case 'message':
    case 'thought':
    case 'other':
      return [];
  }
}

/** Of the protocol's reasons only `cancelled` is no end of the agent's own. */
function turnEnd(id: string, stop: string): ObservedEntry {
  if (ERROR_STOP.test(stop)) return { kind: 'failure', id, text: stop.replace(ERROR_STOP, '') };
  return { kind: 'turn-end', id, how: stop === 'cancelled' ? 'interrupted' : 'completed' };
}

/** What the program itself was given, with the agent's own words for it where it has none. */
function inputOf({ title, input }: Extract<KnownFact, { kind: 'tool-started' }>): unknown {
  const description = { description: title };
  if (input === undefined) return description;
  try {
    const value: unknown = JSON.parse(input);
    return isFields(value) ? { ...description, ...value } : { ...description, input: value };
  } catch {
    return { ...description, input }; // cut
  }
}
