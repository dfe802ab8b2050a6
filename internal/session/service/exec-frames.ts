import {
  DeltaSchema,
  type ExecUpdate,
  ExecUpdateSchema,
  type Session,
} from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { create } from '../../protocol/protobuf.ts';
import type { SessionLog } from '../log/session-log.ts';
import type { TurnObserver } from '../turn/turn.ts';
import { logRecord } from './session-view.ts';

/** Updates that wait for a slow client; beyond it records are read from the log again and deltas are dropped. */
const WAITING_LIMIT = 1024;
const CATCH_UP_PAGE = 500;

export function sessionFrame(session: Session): ExecUpdate {
  return create(ExecUpdateSchema, { update: { case: 'session', value: session } });
}

/** What a turn does, in the order of its commits, for one client. A slow client delays nothing and costs little. */
export class ExecFrames implements TurnObserver {
  readonly #log: SessionLog;
  readonly #uid: string;
  #waiting: (ExecUpdate | ChainedRecord)[] = [];
  /** The last record that the client was given. */
  #given: number;
  #committed: number;
  #isBehind = false;
  #isOver = false;
  #sent = false;
  #wake: () => void = () => undefined;

  /** @param head where the log stood before */
  constructor(log: SessionLog, uid: string, head: number) {
    this.#log = log;
    this.#uid = uid;
    this.#given = head;
    this.#committed = head;
  }

  record(record: ChainedRecord): void {
    this.#sent = true;
    this.#committed = record.seq;
    if (this.#waiting.length >= WAITING_LIMIT) this.#isBehind = true;
    if (!this.#isBehind) this.#waiting.push(record);
    this.#wake();
  }

  delta(executionId: string, chunk: string, done: boolean): void {
    if (this.#isBehind || this.#waiting.length >= WAITING_LIMIT || (chunk === '' && !done)) return;
    const value = create(DeltaSchema, { executionId, chunk, done });
    this.#waiting.push(create(ExecUpdateSchema, { update: { case: 'delta', value } }));
    this.#wake();
  }

  /** No more will come. When nobody told of a record though the log grew, what it grew by is given from it. */
  over(head: number): void {
    this.#isOver = true;
    if (!this.#sent && head > this.#committed) {
      this.#committed = head;
      this.#isBehind = true;
    }
    this.#wake();
  }

  async *updates(): AsyncGenerator<ExecUpdate> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) yield this.#frame(next);
      else if (this.#isBehind) yield* this.#caughtUp();
      else if (this.#isOver) return;
      else
        await new Promise<void>((wake) => {
          this.#wake = wake;
        });
    }
  }

  #frame(next: ExecUpdate | ChainedRecord): ExecUpdate {
    if ('$typeName' in next) return next;
    this.#given = next.seq;
    return create(ExecUpdateSchema, { update: { case: 'record', value: logRecord(next) } });
  }

  async *#caughtUp(): AsyncGenerator<ExecUpdate> {
    while (this.#given < this.#committed) {
      const range = { from: this.#given + 1, to: this.#committed, limit: CATCH_UP_PAGE };
      const page = await this.#log.read(this.#uid, range);
      if (page.length === 0) break;
      for (const record of page) yield this.#frame(record);
    }
    this.#isBehind = false;
  }
}
