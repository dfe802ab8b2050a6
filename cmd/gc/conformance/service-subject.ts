import {
  CallFailed,
  type PeerScript,
  type RegistryCaller,
  type ScriptedPeer,
  type SessionsCaller,
} from '../../../conformance/sessions-service/case.ts';
import { servePeer } from '../../../internal/api/grpc/serve-peer.ts';
import type { Clock } from '../../../internal/platform/clock.ts';
import { GcError, messageOf } from '../../../internal/platform/errors.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { addressText } from '../../../internal/platform/network-address.ts';
import {
  EventSchema,
  type LogRecord,
} from '../../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import { HarnessDescriptorSchema } from '../../../internal/protocol/generated/agentsessions/v1/harness_pb.ts';
import {
  GetHarnessRequestSchema,
  ListHarnessesRequestSchema,
  RegisterHarnessRequestSchema,
  RetireHarnessRequestSchema,
} from '../../../internal/protocol/generated/agentsessions/v1/harness_registry_pb.ts';
import {
  ApproveRequestSchema,
  CancelRequestSchema,
  CreateSessionRequestSchema,
  DeleteSessionRequestSchema,
  ExecRequestSchema,
  type ExecUpdate,
  ForkRequestSchema,
  GetSessionRequestSchema,
  ListSessionsRequestSchema,
  ReplayRequestSchema,
  ResumeRequestSchema,
  SuspendRequestSchema,
} from '../../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import {
  create,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
} from '../../../internal/protocol/protobuf.ts';
import {
  type HarnessRegistryHost,
  ServiceError,
  type SessionsHost,
} from '../../../internal/session/service/sessions-host.ts';
import { QUIET_LOG } from '../sessions/quiet-log.ts';

/** A harness of the suite that is told to end has this long. Milliseconds. */
const PEER_STOP_MS = 200;

/** The calls of the suite over a service, near or far. `now` is asked for each call: a service may be started again. */
export function sessionsCaller(now: () => SessionsHost, signal: AbortSignal): SessionsCaller {
  const ask = asker(now, signal);
  return {
    create: ask(CreateSessionRequestSchema, (host, request, on) => host.createSession(request, on)),
    list: ask(ListSessionsRequestSchema, (host, request, on) => host.listSessions(request, on)),
    approve: ask(ApproveRequestSchema, (host, request, on) => host.approve(request, on)),
    cancel: ask(CancelRequestSchema, (host, request, on) => host.cancel(request, on)),
    fork: ask(ForkRequestSchema, (host, request, on) => host.fork(request, on)),
    replay: ask(ReplayRequestSchema, async (host, request, on) => {
      const records: LogRecord[] = [];
      for await (const record of host.replay(request, on)) records.push(record);
      return records;
    }),
    get: (uid) => ask(GetSessionRequestSchema, (host, request, on) => host.getSession(request, on))({ uid }),
    delete: (uid) =>
      ask(DeleteSessionRequestSchema, (host, request, on) => host.deleteSession(request, on))({ uid }),
    suspend: (session) =>
      ask(SuspendRequestSchema, (host, request, on) => host.suspend(request, on))({ session }),
    resume: (session) =>
      ask(ResumeRequestSchema, (host, request, on) => host.resume(request, on))({ session }),
    async exec(request, options = {}) {
      const { signal: leaving, seen } = options;
      const updates: ExecUpdate[] = [];
      const either = leaving === undefined ? signal : AbortSignal.any([signal, leaving]);
      try {
        for await (const update of now().exec(create(ExecRequestSchema, request), either)) {
          updates.push(update);
          seen?.(update);
        }
        return { updates, failure: undefined };
      } catch (error) {
        return { updates, failure: callFailed(error, either) };
      }
    },
  };
}

export function registryCaller(now: () => HarnessRegistryHost, signal: AbortSignal): RegistryCaller {
  const ask = asker(now, signal);
  return {
    register: ask(RegisterHarnessRequestSchema, (host, request, on) => host.registerHarness(request, on)),
    get: ask(GetHarnessRequestSchema, (host, request, on) => host.getHarness(request, on)),
    list: ask(ListHarnessesRequestSchema, (host, request, on) => host.listHarnesses(request, on)),
    retire: ask(RetireHarnessRequestSchema, (host, request, on) => host.retireHarness(request, on)),
  };
}

function asker<Host>(now: () => Host, signal: AbortSignal) {
  return <Desc extends DescMessage, Reply>(
    schema: Desc,
    call: (host: Host, request: MessageShape<Desc>, signal: AbortSignal) => Promise<Reply>,
  ) =>
    async (request: MessageInitShape<Desc>): Promise<Reply> => {
      try {
        return await call(now(), create(schema, request), signal);
      } catch (error) {
        throw callFailed(error, signal);
      }
    };
}

function callFailed(error: unknown, signal: AbortSignal): CallFailed {
  return new CallFailed(statusOf(error, signal), messageOf(error));
}

function statusOf(error: unknown, signal: AbortSignal): string {
  if (error instanceof ServiceError) return error.status;
  if (error instanceof GcError && error.code === 'sessions-unauthenticated') return 'UNAUTHENTICATED';
  return signal.aborted ? 'CANCELLED' : 'UNKNOWN';
}

/** A harness of the suite on a free port of loopback. */
export async function scriptedPeer(clock: Clock): Promise<ScriptedPeer> {
  let descriptor = create(HarnessDescriptorSchema);
  let script: PeerScript = async () => undefined;
  let turns = 0;
  const server = await servePeer({
    clock,
    ids: systemIds,
    log: QUIET_LOG,
    limits: { stopMs: PEER_STOP_MS },
    listen: { kind: 'tcp', host: '127.0.0.1', port: 0 },
    peer: {
      describe: () => descriptor,
      async connect({ receive, send, signal }) {
        turns += 1;
        await script({ receive, send: (event) => send(create(EventSchema, event)), signal });
      },
    },
  });
  return {
    address: addressText(server.address),
    describe(told) {
      descriptor = create(HarnessDescriptorSchema, told);
    },
    play(next) {
      script = next;
    },
    turns: () => turns,
    close: () => server.close(),
  };
}
