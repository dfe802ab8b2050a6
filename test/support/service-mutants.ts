import { textMessage } from '../../internal/protocol/events.ts';
import { LogRecordSchema } from '../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import {
  ExecRequestSchema,
  type ExecUpdate,
  GetSessionRequestSchema,
  ListSessionsRequestSchema,
  type Session,
  SessionSchema,
  SuspendRequestSchema,
} from '../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../../internal/protocol/protobuf.ts';
import { ServiceError, type SessionsHost } from '../../internal/session/service/sessions-host.ts';

/** A service that is right but for one thing. */
export interface ServiceMutant {
  readonly name: string;
  /** How the name of a case begins that sees it. */
  readonly caughtBy: string;
  readonly change: (host: SessionsHost) => Partial<SessionsHost>;
}

export const SERVICE_MUTANTS: readonly ServiceMutant[] = [
  {
    name: 'appends whatever the caller expected',
    caughtBy: 'a stale expectation loses',
    change: (host) => ({
      exec(request, signal) {
        const { expectedLastSeq: _, ...rest } = request;
        return host.exec(create(ExecRequestSchema, rest), signal);
      },
    }),
  },
  {
    name: 'sends no session before the turn',
    caughtBy: 'an echo turn is five records',
    change: (host) => ({
      async *exec(request, signal) {
        for await (const update of host.exec(request, signal))
          if (update.update.case !== 'session') yield update;
      },
    }),
  },
  {
    name: 'sends the session again after an ordinary turn',
    caughtBy: 'an echo turn is five records',
    change: (host) => ({
      async *exec(request, signal) {
        let first: ExecUpdate | undefined;
        for await (const update of host.exec(request, signal)) {
          first ??= update;
          yield update;
        }
        if (first) yield first;
      },
    }),
  },
  {
    name: 'leaves its mark in the parent of a fork',
    caughtBy: 'a fork shares the prefix',
    change: (host) => ({
      async fork(request, signal) {
        const reply = await host.fork(request, signal);
        await host.suspend(create(SuspendRequestSchema, { session: request.session }), signal);
        return reply;
      },
    }),
  },
  {
    name: 'forgets the labels of a fork',
    caughtBy: 'a fork shares the prefix',
    change: (host) => ({ fork: (request, signal) => host.fork({ ...request, labels: {} }, signal) }),
  },
  {
    name: 'drops a record of a replay',
    caughtBy: 'Replay gives the same bytes',
    change: (host) => ({
      async *replay(request, signal) {
        for await (const record of host.replay(request, signal)) if (record.seq !== 4n) yield record;
      },
    }),
  },
  {
    name: 'changes what was said',
    caughtBy: 'three turns follow each other',
    change: (host) => ({
      async *replay(request, signal) {
        for await (const record of host.replay(request, signal)) {
          const { event } = record;
          const isInput = event?.body.case === 'message' && event.body.value.role === 'user';
          const body = { case: 'message' as const, value: textMessage('user', 'something else') };
          yield isInput ? create(LogRecordSchema, { ...record, event: { ...event, body } }) : record;
        }
      },
    }),
  },
  {
    name: 'lists a session twice',
    caughtBy: 'lists are newest first',
    change: (host) => {
      let before: Session | undefined;
      return {
        async listSessions(request, signal) {
          const page = await host.listSessions(request, signal);
          const again = request.pageToken === '' || before === undefined ? [] : [before];
          before = page.sessions.at(-1);
          return { ...page, sessions: [...again, ...page.sessions.slice(0, 2)] };
        },
      };
    },
  },
  {
    name: 'takes a damaged page token for the first page',
    caughtBy: 'page tokens that are no tokens',
    change: (host) => ({
      listSessions: (request, signal) =>
        host.listSessions(request, signal).catch((error: unknown) => {
          if (!(error instanceof ServiceError)) throw error;
          return host.listSessions(create(ListSessionsRequestSchema, { project: request.project }), signal);
        }),
    }),
  },
  {
    name: 'makes an empty session of an unknown one',
    caughtBy: 'unknown and missing sessions',
    change: (host) => ({
      getSession: (request, signal) =>
        host
          .getSession(request, signal)
          .catch(() => create(SessionSchema, { metadata: { uid: request.uid } })),
    }),
  },
  {
    name: 'says that a session is deleted and keeps it',
    caughtBy: 'a deleted session is gone',
    change: (host) => ({
      deleteSession: ({ uid }, signal) => host.getSession(create(GetSessionRequestSchema, { uid }), signal),
    }),
  },
  {
    name: 'resumes without a record of it',
    caughtBy: 'Suspend and Resume are recorded',
    change: (host) => ({
      resume: ({ session: uid }, signal) => host.getSession(create(GetSessionRequestSchema, { uid }), signal),
    }),
  },
  {
    name: 'decides again when the same answer comes again',
    caughtBy: 'a denial is a receipt',
    change: (host) => {
      const answered = new Set<string>();
      return {
        async approve(request, signal) {
          const key = `${request.session} ${request.requestSeq}`;
          const reply = await host.approve(request, signal);
          if (answered.has(key) && reply.decision) reply.decision.seq += 1n;
          answered.add(key);
          return reply;
        },
      };
    },
  },
];
