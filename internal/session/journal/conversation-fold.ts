import type { Event } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ObservedEntry, PlacedEntry } from '../transcript/observed.ts';
import {
  answerEvent,
  answeredFact,
  askedFact,
  callEvent,
  compactedFact,
  endEvent,
  executionIdOf,
  failureEvent,
  inputEvent,
  missedFact,
  type Observed,
  resultEvent,
  startEvent,
  usageEvent,
} from './conversation-events.ts';

/** One append: all of its events or none, once per source. */
export interface Step {
  readonly source: string;
  readonly entry: string;
  readonly events: readonly Event[];
}

type Usage = Extract<ObservedEntry, { kind: 'usage' }>;

/** Where a conversation stands between two entries. Plain JSON. */
export interface Turn {
  /** The entry that began the execution that is open; `''`: none is. */
  readonly entry: string;
  /** Calls without a result. */
  readonly pending: readonly string[];
  /** The last thing said was an answer. */
  readonly answered: boolean;
  /** Something came of the input. */
  readonly moved: boolean;
  /** Of the answer that is being written: told when it is complete. */
  readonly usage?: Usage;
  readonly model: string;
}

export const NO_TURN: Turn = { entry: '', pending: [], answered: false, moved: false, model: '' };

/** So many entries without an input before them, and there is none. */
const MOST_HELD = 16;

/**
 * Turns what a transcript says into executions, entry by entry. Pure: equal entries after an equal turn give equal steps,
 * so that what was read twice is written once. Programs write lines out of order around the edges of a turn: a prompt may
 * stand before the last results of the turn that it interrupts, and after the first call that it caused. Such entries
 * are held until the next ones tell where they belong. What was noted by whoever speaks the agent's protocol, or by a program
 * that keeps messages whole, is in order: none of it is held.
 */
export class ConversationFold {
  readonly #observed: Observed;
  #turn: Turn;
  #held: PlacedEntry[] = [];
  #beforeHeld: { readonly offset: number; readonly turn: Turn } | undefined;
  #steps: Step[] = [];

  constructor(observed: Observed, turn: Turn) {
    this.#observed = observed;
    this.#turn = turn;
  }

  get turn(): Turn {
    return this.#turn;
  }

  /** Where a reader has to begin that was told nothing of what is held; `undefined`: nothing is. */
  get beforeHeld(): { readonly offset: number; readonly turn: Turn } | undefined {
    return this.#beforeHeld;
  }

  /** No turn is under way, and nothing is held. */
  get isAtRest(): boolean {
    return this.#turn.entry === '' && this.#held.length === 0;
  }

  take(placed: PlacedEntry): readonly Step[] {
    this.#steps = [];
    this.#take(placed);
    return this.#steps;
  }

  /** Nothing more comes: the session ended. */
  settle(): readonly Step[] {
    this.#steps = [];
    this.#release();
    this.#closeAsIs();
    return this.#steps;
  }

  #take(placed: PlacedEntry): void {
    const { entry } = placed;
    switch (entry.kind) {
      case 'model':
        this.#turn = { ...this.#turn, model: entry.model };
        return;
      case 'window':
        return;
      case 'compacted':
        this.#step(entry.id, 'compacted', [compactedFact(this.#observed, entry)]);
        return;
      case 'asked':
        this.#step(entry.id, 'asked', [askedFact(this.#observed, entry)]);
        return;
      case 'answered':
        this.#step(entry.id, 'answered', [answeredFact(this.#observed, entry)]);
        return;
      case 'missed':
        this.#step(entry.id, 'missed', [missedFact(this.#observed, entry)]);
        return;
      case 'prompt':
        if (this.#isInOrder) this.#closeAsIs();
        this.#prompt(placed, entry);
        return;
      case 'turn-end':
        this.#turnEnd(entry.how);
        return;
      case 'tool-result':
        this.#result(placed, entry);
        return;
      case 'tool-call':
      case 'answer':
      case 'usage':
      case 'failure':
        if (this.#holdsPrompt) this.#release();
        if (this.#turn.entry === '' && !this.#isInOrder) {
          this.#hold(placed);
          return;
        }
        if (this.#turn.entry === '') this.#beginWithout(entry);
        this.#effect(entry);
    }
  }

  #prompt(placed: PlacedEntry, entry: Extract<ObservedEntry, { kind: 'prompt' }>): void {
    const first = this.#held[0];
    if (first && !this.#holdsPrompt && placed.at <= first.at) {
      // Its own first effects were written before it.
      const effects = this.#takeHeld();
      this.#begin(entry);
      for (const effect of effects) this.#take(effect);
      return;
    }
    if (first) this.#release();
    if (this.#turn.entry === '') this.#begin(entry);
    else this.#hold(placed);
  }

  #turnEnd(how: 'completed' | 'interrupted' | 'unknown'): void {
    if (this.#holdsPrompt) {
      this.#close(how === 'completed' || this.#isComplete ? 'COMPLETED' : 'CANCELED');
      this.#release();
      return;
    }
    this.#release();
    if (how === 'interrupted') this.#close('CANCELED');
    else if (how === 'unknown') this.#closeAsIs();
    else if (this.#turn.moved || this.#isInOrder) this.#close('COMPLETED');
  }

  #result(placed: PlacedEntry, entry: Extract<ObservedEntry, { kind: 'tool-result' }>): void {
    const { pending } = this.#turn;
    if (this.#turn.entry === '') {
      const isAnswerToHeld = this.#held.some(
        (held) => held.entry.kind === 'tool-call' && held.entry.callId === entry.callId,
      );
      if (isAnswerToHeld) this.#hold(placed);
      return;
    }
    // Of a turn that is over by now, or told before.
    if (!pending.includes(entry.callId)) return;
    this.#usage();
    this.#step(entry.id, `result:${entry.callId}`, [resultEvent(this.#execution, entry)]);
    this.#turn = {
      ...this.#turn,
      pending: pending.filter((id) => id !== entry.callId),
      answered: false,
      moved: true,
    };
  }

  #effect(entry: Extract<ObservedEntry, { kind: 'tool-call' | 'answer' | 'usage' | 'failure' }>): void {
    switch (entry.kind) {
      case 'tool-call':
        this.#step(entry.id, `call:${entry.callId}`, [callEvent(this.#execution, entry)]);
        this.#turn = {
          ...this.#turn,
          pending: [...this.#turn.pending, entry.callId],
          answered: false,
          moved: true,
        };
        return;
      case 'answer':
        this.#step(entry.id, 'answer', [answerEvent(this.#execution, entry)]);
        this.#turn = { ...this.#turn, answered: true, moved: true };
        if (entry.ends) this.#close('COMPLETED');
        return;
      case 'usage':
        if (this.#turn.usage?.id !== entry.id) this.#usage();
        this.#turn = { ...this.#turn, usage: { ...entry, model: entry.model || this.#turn.model } };
        return;
      case 'failure':
        this.#step(entry.id, 'failure', [failureEvent(this.#execution, entry)]);
        this.#close('FAILED');
    }
  }

  #begin(entry: Extract<ObservedEntry, { kind: 'prompt' }>): void {
    this.#turn = { ...NO_TURN, model: this.#turn.model, entry: entry.id };
    const id = this.#execution;
    this.#step(entry.id, 'start', [startEvent(id, 1, this.#observed), inputEvent(id, entry)]);
  }

  /** Nobody said anything: the agent went on, or was woken, by itself. */
  #beginWithout(entry: ObservedEntry): void {
    this.#turn = { ...NO_TURN, model: this.#turn.model, entry: entry.id };
    this.#step(entry.id, 'start', [startEvent(this.#execution, 0, this.#observed)]);
  }

  #close(state: 'COMPLETED' | 'FAILED' | 'CANCELED'): void {
    const { entry, model } = this.#turn;
    if (entry === '') return;
    this.#usage();
    this.#step(entry, 'end', [endEvent(this.#execution, state)]);
    this.#turn = { ...NO_TURN, model };
  }

  /** Nobody said how it ended. */
  #closeAsIs(): void {
    this.#close(this.#isComplete ? 'COMPLETED' : 'CANCELED');
  }

  #usage(): void {
    const { usage, ...rest } = this.#turn;
    if (!usage) return;
    this.#step(usage.id, 'usage', [usageEvent(this.#execution, usage)]);
    this.#turn = rest;
  }

  #hold(placed: PlacedEntry): void {
    this.#beforeHeld ??= { offset: placed.offset, turn: this.#turn };
    this.#held.push(placed);
    if (this.#held.length >= MOST_HELD) this.#release();
  }

  #takeHeld(): readonly PlacedEntry[] {
    const held = this.#held;
    this.#held = [];
    this.#beforeHeld = undefined;
    return held;
  }

  /** What is held belongs nowhere else: a prompt begins, effects stand without an input. */
  #release(): void {
    const held = this.#takeHeld();
    const first = held[0]?.entry;
    if (!first) return;
    if (first.kind === 'prompt') {
      this.#closeAsIs();
      this.#begin(first);
      return;
    }
    for (const placed of held) {
      if (this.#turn.entry === '') {
        // What a request took says nothing without what came of it.
        if (!held.some(({ entry }) => entry.kind !== 'usage')) return;
        this.#beginWithout(placed.entry);
      }
      this.#take(placed);
    }
  }

  get #holdsPrompt(): boolean {
    return this.#held[0]?.entry.kind === 'prompt';
  }

  get #isInOrder(): boolean {
    return this.#observed.evidence === 'protocol' || this.#observed.ordered === true;
  }

  get #isComplete(): boolean {
    return this.#turn.answered && this.#turn.pending.length === 0;
  }

  get #execution(): string {
    return executionIdOf(this.#observed.program, this.#turn.entry);
  }

  #step(id: string, part: string, events: readonly Event[]): void {
    this.#steps.push({ source: `${this.#observed.program}:${id}:${part}`, entry: id, events });
  }
}

/** A turn as it was kept; anything else counts as none. */
export function readTurn(value: unknown): Turn {
  if (typeof value !== 'object' || value === null) return NO_TURN;
  const turn = value as Partial<Turn>;
  if (typeof turn.entry !== 'string' || !Array.isArray(turn.pending)) return NO_TURN;
  return { ...NO_TURN, ...turn };
}
