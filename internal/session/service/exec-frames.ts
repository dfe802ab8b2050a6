import { EventSchema } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  DeltaSchema,
  type ExecUpdate,
  ExecUpdateSchema,
  type Session,
} from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { create, toBinary } from '../../protocol/protobuf.ts';
import { PAGE_BYTES, type SessionLog } from '../log/session-log.ts';
import type { TurnObserver } from '../turn/turn.ts';
import { logRecord } from './session-view.ts';

/** What waits for a slow client; beyond it records are read from the log again and deltas are dropped. */
const WAITING_UPDATES = 1024;
const WAITING_BYTES = 8 * 1024 * 1024;
const CATCH_UP_PAGE = 500;

interface Waiting {
  readonly update: ExecUpdate | ChainedRecord;
  readonly bytes: number;
}

export function sessionFrame(session: Session): ExecUpdate {
  return create(ExecUpdateSchema, { update: { case: 'session', value: session } });
}

/** What a turn does, in the order of its commits, for one client. A slow client delays nothing and costs little. */
export class ExecFrames implements TurnObserver {
  readonly #log: SessionLog;
  readonly #uid: string;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
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
    if (this.#isFull) this.#isBehind = true;
    if (!this.#isBehind) this.#add(record, toBinary(EventSchema, record.event).length);
    this.#wake();
  }

  delta(executionId: string, chunk: string, done: boolean): void {
    if (this.#isBehind || this.#isFull || (chunk === '' && !done)) return;
    const value = create(DeltaSchema, { executionId, chunk, done });
    this.#add(create(ExecUpdateSchema, { update: { case: 'delta', value } }), chunk.length);
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
      if (next !== undefined) {
        this.#waitingBytes -= next.bytes;
        yield this.#frame(next.update);
      } else if (this.#isBehind) yield* this.#caughtUp();
      else if (this.#isOver) return;
      else
        await new Promise<void>((wake) => {
          this.#wake = wake;
        });
    }
  }

  get #isFull(): boolean {
    return this.#waiting.length >= WAITING_UPDATES || this.#waitingBytes >= WAITING_BYTES;
  }

  #add(update: Waiting['update'], bytes: number): void {
    this.#waiting.push({ update, bytes });
    this.#waitingBytes += bytes;
  }

  #frame(next: ExecUpdate | ChainedRecord): ExecUpdate {
    if ('$typeName' in next) return next;
    this.#given = next.seq;
    return create(ExecUpdateSchema, { update: { case: 'record', value: logRecord(next) } });
  }

  async *#caughtUp(): AsyncGenerator<ExecUpdate> {
    while (this.#given < this.#committed) {
      const range = {
        from: this.#given + 1,
        to: this.#committed,
        limit: CATCH_UP_PAGE,
        maxBytes: PAGE_BYTES,
      };
      const page = await this.#log.read(this.#uid, range);
      if (page.length === 0) break;
      for (const record of page) yield this.#frame(record);
    }
    this.#isBehind = false;
  }
}
