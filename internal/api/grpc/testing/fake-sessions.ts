import { textMessage } from '../../../protocol/events.ts';
import { EventKind, LogRecordSchema } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  ApproveResponseSchema,
  type CreateSessionRequest,
  type ExecUpdate,
  ExecUpdateSchema,
  ForkResponseSchema,
  ListSessionsResponseSchema,
  type Session,
  SessionSchema,
} from '../../../protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../../../protocol/protobuf.ts';
import { type CallSignal, ServiceError, type SessionsHost } from '../../../session/service/sessions-host.ts';

/** A service that remembers what it was asked and does what a test tells it. */
export class FakeSessions implements SessionsHost {
  readonly seen: unknown[] = [];
  /** Signals of calls, in their order. */
  readonly signals: CallSignal[] = [];
  /** Streams whose work has ended, however. */
  ended = 0;
  /** Items that replay has handed out. */
  produced = 0;
  replayBytes = 100_000;
  onGet: (uid: string, signal: CallSignal) => Promise<Session> = async (uid) => session(uid);
  onExec: (signal: CallSignal) => AsyncIterable<ExecUpdate> = async function* () {
    yield create(ExecUpdateSchema, { update: { case: 'session', value: session('sess-1') } });
    yield create(ExecUpdateSchema, { update: { case: 'record', value: record(1, 'echo:hi') } });
  };

  async createSession(request: CreateSessionRequest, signal: CallSignal): Promise<Session> {
    this.#note(request, signal);
    return session(request.session?.metadata?.name || 'sess-new');
  }

  async getSession(request: { uid: string }, signal: CallSignal): Promise<Session> {
    this.#note(request, signal);
    return this.onGet(request.uid, signal);
  }

  async listSessions(request: unknown, signal: CallSignal) {
    this.#note(request, signal);
    return create(ListSessionsResponseSchema, { sessions: [session('sess-1'), session('sess-2')] });
  }

  deleteSession = (request: unknown, signal: CallSignal) => this.#refuse(request, signal);
  cancel = (request: unknown, signal: CallSignal) => this.#refuse(request, signal);
  suspend = (request: unknown, signal: CallSignal) => this.#refuse(request, signal);
  resume = (request: unknown, signal: CallSignal) => this.#refuse(request, signal);

  async approve(request: unknown, signal: CallSignal) {
    this.#note(request, signal);
    return create(ApproveResponseSchema, { session: session('sess-1') });
  }

  async fork(request: unknown, signal: CallSignal) {
    this.#note(request, signal);
    return create(ForkResponseSchema, { children: [session('sess-child')] });
  }

  async *exec(request: unknown, signal: CallSignal): AsyncIterable<ExecUpdate> {
    this.#note(request, signal);
    try {
      yield* this.onExec(signal);
    } finally {
      this.ended += 1;
    }
  }

  async *replay(request: { toSeq: bigint }, signal: CallSignal) {
    this.#note(request, signal);
    const text = 'x'.repeat(this.replayBytes);
    try {
      for (let seq = 1; seq <= Number(request.toSeq); seq += 1) {
        this.produced += 1;
        yield record(seq, text);
      }
    } finally {
      this.ended += 1;
    }
  }

  #note(request: unknown, signal: CallSignal): void {
    this.seen.push(request);
    this.signals.push(signal);
  }

  async #refuse(request: unknown, signal: CallSignal): Promise<Session> {
    this.#note(request, signal);
    throw new ServiceError('UNIMPLEMENTED', 'not in this double');
  }
}

export function session(uid: string): Session {
  return create(SessionSchema, {
    metadata: { uid, project: 'test' },
    harness: 'echo',
    lastSeq: 9007199254740993n,
  });
}

export function record(seq: number, text: string) {
  return create(LogRecordSchema, {
    seq: BigInt(seq),
    event: {
      executionId: 'exec-1',
      kind: EventKind.EVENT_OUTPUT,
      body: { case: 'message', value: textMessage('assistant', text) },
    },
  });
}
