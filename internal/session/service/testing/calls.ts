import type { LogRecord } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  ApproveRequestSchema,
  type ApproveResponse,
  CancelRequestSchema,
  CreateSessionRequestSchema,
  DeleteSessionRequestSchema,
  ExecRequestSchema,
  type ExecUpdate,
  ForkRequestSchema,
  type ForkResponse,
  GetSessionRequestSchema,
  ListSessionsRequestSchema,
  type ListSessionsResponse,
  ReplayRequestSchema,
  ResumeRequestSchema,
  type Session,
  type SessionSchema,
  SuspendRequestSchema,
} from '../../../protocol/generated/agentsessions/v1/session_pb.ts';
import type { MessageInitShape } from '../../../protocol/protobuf.ts';
import { create } from '../../../protocol/protobuf.ts';
import { ServiceError, type SessionsHost } from '../sessions-host.ts';

/** The signal of a caller who stays. */
export const here = new AbortController().signal;

export interface Drained<T> {
  readonly frames: readonly T[];
  /** What the stream ended with; `undefined` = OK. */
  readonly error: ServiceError | undefined;
}

/** Reads a stream to its end. */
export async function drain<T>(stream: AsyncIterable<T>): Promise<Drained<T>> {
  const frames: T[] = [];
  try {
    for await (const frame of stream) frames.push(frame);
    return { frames, error: undefined };
  } catch (error) {
    if (error instanceof ServiceError) return { frames, error };
    throw error;
  }
}

/** The host's calls, as somebody makes them who stays. */
export interface Calls {
  create(session?: MessageInitShape<typeof SessionSchema>): Promise<Session>;
  get(uid: string): Promise<Session>;
  list(fields?: MessageInitShape<typeof ListSessionsRequestSchema>): Promise<ListSessionsResponse>;
  delete(uid: string): Promise<Session>;
  exec(
    fields?: MessageInitShape<typeof ExecRequestSchema>,
    signal?: AbortSignal,
  ): Promise<Drained<ExecUpdate>>;
  replay(fields: MessageInitShape<typeof ReplayRequestSchema>): Promise<Drained<LogRecord>>;
  approve(fields: MessageInitShape<typeof ApproveRequestSchema>): Promise<ApproveResponse>;
  cancel(fields: MessageInitShape<typeof CancelRequestSchema>): Promise<Session>;
  suspend(session: string): Promise<Session>;
  resume(session: string, signal?: AbortSignal): Promise<Session>;
  fork(fields: MessageInitShape<typeof ForkRequestSchema>): Promise<ForkResponse>;
}

export function callsOf(host: SessionsHost): Calls {
  return {
    create: (session) =>
      host.createSession(create(CreateSessionRequestSchema, session === undefined ? {} : { session }), here),
    get: (uid) => host.getSession(create(GetSessionRequestSchema, { uid }), here),
    list: (fields = {}) => host.listSessions(create(ListSessionsRequestSchema, fields), here),
    delete: (uid) => host.deleteSession(create(DeleteSessionRequestSchema, { uid }), here),
    exec: (fields = {}, signal = here) => drain(host.exec(create(ExecRequestSchema, fields), signal)),
    replay: (fields) => drain(host.replay(create(ReplayRequestSchema, fields), here)),
    approve: (fields) => host.approve(create(ApproveRequestSchema, fields), here),
    cancel: (fields) => host.cancel(create(CancelRequestSchema, fields), here),
    suspend: (session) => host.suspend(create(SuspendRequestSchema, { session }), here),
    resume: (session, signal = here) => host.resume(create(ResumeRequestSchema, { session }), signal),
    fork: (fields) => host.fork(create(ForkRequestSchema, fields), here),
  };
}
