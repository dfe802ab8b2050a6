import type { Event, IdentityRef, LogRecord } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  EventKind,
  IdentityRefSchema,
  LogRecordSchema,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  ComputeState,
  ExecState,
  type Session,
  SessionSchema,
} from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { create, fromJson } from '../../protocol/protobuf.ts';
import type { SessionLog, SessionRow, StoredComputeState } from '../log/session-log.ts';
import type { LogView } from '../turn/log-view.ts';
import { originOf } from './city-sessions.ts';
import { type HostContext, knownRow } from './host-context.ts';
import { timestampOfNanos } from './timestamps.ts';

/** How many records are looked at, from the end, before a session counts as one that waits for nobody. */
const TAIL_PAGE = 16;

const COMPUTE: Readonly<Record<StoredComputeState, ComputeState>> = {
  '': ComputeState.COMPUTE_NONE,
  NONE: ComputeState.COMPUTE_NONE,
  LIVE: ComputeState.COMPUTE_LIVE,
  WARM: ComputeState.COMPUTE_WARM,
  COLD: ComputeState.COMPUTE_COLD,
  TERMINATED: ComputeState.COMPUTE_TERMINATED,
};

/**
 * A session as it is shown. Everything that is derived from the log is derived from it up to the row's last record.
 * @throws TurnError `invalid-log` when what the log says of approvals contradicts itself
 */
export async function sessionOf({ facts }: HostContext, row: SessionRow): Promise<Session> {
  return sessionFrom(row, row.lastSeq === 0 ? undefined : await facts.upTo(row.uid, row.lastSeq));
}

/** As it stands now. */
export async function currentSession(context: HostContext, uid: string): Promise<Session> {
  return sessionOf(context, await knownRow(context, uid));
}

/** For a list: one damaged session does not hide the others, and only those whose end asks for it are read whole. */
export async function listedSession(context: HostContext, row: SessionRow): Promise<Session> {
  try {
    if (row.lastSeq > 0 && (await endsInRequest(context.store, row))) return await sessionOf(context, row);
    return sessionFrom(row, undefined);
  } catch {
    const session = sessionFrom(row, undefined);
    session.execState = ExecState.EXEC_STATE_UNSPECIFIED;
    return session;
  }
}

export function logRecord({ seq, prevHash, contentHash, fence, event }: ChainedRecord): LogRecord {
  return create(LogRecordSchema, { seq: BigInt(seq), prevHash, contentHash, fence: BigInt(fence), event });
}

function sessionFrom(row: SessionRow, view: LogView | undefined): Session {
  const awaited = view?.pendingApproval;
  const origin = originOf(row);
  const identity = identityOf(row);
  return create(SessionSchema, {
    metadata: {
      project: row.project,
      name: row.name,
      uid: row.uid,
      createTime: timestampOfNanos(row.createdAt),
      updateTime: timestampOfNanos(row.updatedAt),
    },
    harness: row.harness,
    model: row.model,
    lastSeq: BigInt(row.lastSeq),
    parentUid: row.parentUid,
    forkSeq: BigInt(row.forkSeq),
    labels: { ...row.labels },
    annotations: { ...row.annotations },
    computeState: COMPUTE[row.computeState],
    execState:
      row.lastSeq === 0
        ? ExecState.EXEC_PENDING
        : awaited
          ? ExecState.EXEC_AWAITING
          : ExecState.EXEC_COMPLETED,
    ...(origin === undefined ? {} : { origin }),
    ...(identity === undefined ? {} : { identity }),
    ...(awaited === undefined
      ? {}
      : {
          pendingApproval: {
            executionId: awaited.executionId,
            toolCallId: awaited.call.id,
            requestSeq: BigInt(awaited.requestSeq),
          },
        }),
  });
}

function identityOf({ identity }: SessionRow): IdentityRef | undefined {
  if (identity === '') return undefined;
  try {
    return fromJson(IdentityRefSchema, JSON.parse(identity), { ignoreUnknownFields: true });
  } catch {
    return undefined;
  }
}

/** After an open request there is nothing but what says that the session went cold or that something failed. */
async function endsInRequest(log: SessionLog, { uid, lastSeq }: SessionRow): Promise<boolean> {
  for (let to = lastSeq; to > 0; to -= TAIL_PAGE) {
    const page = await log.read(uid, { from: Math.max(1, to - TAIL_PAGE + 1), to, limit: TAIL_PAGE });
    const last = page.findLast(({ event }) => !mayFollowRequest(event));
    if (last !== undefined) return last.event.kind === EventKind.EVENT_APPROVAL_REQUEST;
  }
  return false;
}

function mayFollowRequest({ kind }: Event): boolean {
  return kind === EventKind.EVENT_LIFECYCLE || kind === EventKind.EVENT_ERROR;
}
