import { GcError } from '../../../platform/errors.ts';
import type { WireAcpBlock } from '../../host/protocol.ts';
import type { AcpConnection } from './connection.ts';
import type { ConversationRecord } from './conversation-record.ts';
import { stopOf, stopOfError, toContent } from './prompt-content.ts';
import type { QuestionBook } from './questions.ts';
import type { Terminals } from './terminals.ts';
import type { Transport } from './transport.ts';
import { textOf } from './updates.ts';
import type { Watchers } from './watchers.ts';

/** A prompt that the agent does not take within this is given up; the turn stays open until the agent ends it. */
const PROMPT_TAKEN_MS = 30_000;
/** An agent that was told to cancel gets this long before the commands of its turn are ended for it. */
const CANCEL_PATIENCE_MS = 2_000;
/** And this long in all. */
const CANCEL_LIMIT_MS = 6_000;
const SECOND_MS = 1_000;

interface Turn {
  readonly number: number;
  /** Somebody asked for its end. */
  cancelled: boolean;
}

export interface TurnParts {
  readonly session: string;
  readonly connection: AcpConnection;
  readonly transport: Transport;
  readonly record: ConversationRecord;
  readonly questions: QuestionBook;
  readonly terminals: Terminals;
  readonly watchers: Watchers;
  readonly onChanged: () => void;
}

/** The turns of one conversation, one at a time. */
export class Turns {
  readonly #parts: TurnParts;
  #open: Turn | undefined;
  #count = 0;
  #lastStop: string | undefined;

  constructor(parts: TurnParts) {
    this.#parts = parts;
  }

  get busy(): boolean {
    return this.#open !== undefined;
  }

  get count(): number {
    return this.#count;
  }

  get lastStop(): string | undefined {
    return this.#lastStop;
  }

  /**
   * Answers the turn's number when the agent's side has taken all of the prompt, `undefined` when the connection ended
   * before. @throws GcError `agent-busy`, `input-stalled`
   */
  async begin(conversation: string, blocks: readonly WireAcpBlock[]): Promise<number | undefined> {
    const { session, connection, transport, record, onChanged } = this.#parts;
    if (this.#open) {
      throw new GcError('agent-busy', `the agent of "${session}" works on an earlier prompt`, {
        next: 'wait for the end of its turn, or cancel it',
      });
    }
    this.#count += 1;
    const turn: Turn = { number: this.#count, cancelled: false };
    this.#open = turn;
    const prompt = blocks.map(toContent);
    record.prompt(turn.number, prompt.map(textOf).join('\n'));
    const taken = transport.taken('session/prompt');
    connection.request('session/prompt', { sessionId: conversation, prompt }).then(
      (answer) => this.#end(turn, stopOf(answer)),
      (error: unknown) => this.#end(turn, stopOfError(error, turn.cancelled)),
    );
    onChanged();
    return (await this.#handOver(taken)) ? turn.number : undefined;
  }

  /**
   * Questions are answered as cancelled first, then the agent is told. Resolves when the turn has ended; commands that
   * an agent waits for all the same are ended for it. No open turn is fine. @throws GcError `cancel-unheard`
   */
  async cancel(conversation: string): Promise<void> {
    const turn = this.#open;
    if (!turn) return;
    const { session, connection, transport, questions, terminals, watchers } = this.#parts;
    turn.cancelled = true;
    questions.cancelAll('cancel');
    const over = () => this.#open !== turn;
    const tell = async () => {
      await transport.answered('session/request_permission');
      if (!over()) await connection.notify('session/cancel', { sessionId: conversation });
    };
    tell().catch(() => undefined); // the connection has ended, and the turn with it
    await watchers.until(over, CANCEL_PATIENCE_MS);
    if (over()) return;
    terminals.killOfTurn(turn.number);
    await watchers.until(over, CANCEL_LIMIT_MS - CANCEL_PATIENCE_MS);
    if (over()) return;
    const seconds = CANCEL_LIMIT_MS / SECOND_MS;
    throw new GcError(
      'cancel-unheard',
      `the agent of "${session}" was told to cancel and has not ended its turn in ${seconds} s`,
      { next: `wait for it, or end the session: gc session kill ${session}` },
    );
  }

  /** The connection has ended. */
  fail(why: string): void {
    if (this.#open) this.#end(this.#open, `error: ${why}`);
  }

  #end(turn: Turn, stop: string): void {
    if (this.#open !== turn) return;
    this.#open = undefined;
    this.#lastStop = stop;
    this.#parts.questions.cancelAll('turn-ended');
    this.#parts.record.turnEnded(stop);
    this.#parts.onChanged();
  }

  async #handOver(taken: Promise<boolean>): Promise<boolean> {
    const { session, watchers } = this.#parts;
    let done: boolean | undefined;
    taken.then((result) => {
      done = result;
      watchers.changed();
    });
    await watchers.until(() => done !== undefined, PROMPT_TAKEN_MS);
    if (done !== undefined) return done;
    const seconds = PROMPT_TAKEN_MS / SECOND_MS;
    throw new GcError(
      'input-stalled',
      `the agent of "${session}" has not taken the whole prompt in ${seconds} s`,
      {
        next: 'it may still take it: look at its state, or end the session',
      },
    );
  }
}
