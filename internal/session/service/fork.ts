import { lifecycle } from '../../protocol/events.ts';
import { Lifecycle_Kind } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  type ForkRequest,
  type ForkResponse,
  ForkResponseSchema,
  type Session,
} from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import { newSessionUid } from '../../protocol/session-id.ts';
import type { ForkChild, SessionRow } from '../log/session-log.ts';
import { isCitySession } from './city-sessions.ts';
import { type HostContext, knownRow, refuseDeleted, required } from './host-context.ts';
import { admit } from './placement.ts';
import { sessionOf } from './session-view.ts';
import { ServiceError } from './sessions-host.ts';

const MAX_CHILDREN = 128;

/**
 * Sessions that share the beginning of another, which is left as it is.
 * Source: agentsessions.v1 Fork; that `at_seq` must exist, and that nothing is left of a fan-out which failed, is ours.
 */
export async function fork(
  context: HostContext,
  request: ForkRequest,
  signal: AbortSignal,
): Promise<ForkResponse> {
  if (request.identity !== undefined) {
    throw new ServiceError('INVALID_ARGUMENT', 'identity cannot be given to a fork', {
      next: 'leave it out',
    });
  }
  const { session: parent } = request;
  required('session', parent);
  const row = await knownRow(context, parent);
  refuseDeleted(row);
  const placement = isCitySession(row) ? undefined : context.roster.route(row.harness, '');
  const atSeq = await forkPoint(context, request);
  const children = childrenOf(context, request);
  if (placement !== undefined) await admit(placement, context.clock, signal);
  const rows = await forkWhole(context, {
    parent,
    atSeq,
    marker: lifecycle(Lifecycle_Kind.LIFECYCLE_FORK, { detail: `${parent}@${atSeq}` }),
    ...(placement === undefined ? { harness: context.roster.defaultName } : {}),
    children,
  });
  const sessions: Session[] = [];
  for (const each of rows) sessions.push(await sessionOf(context, each));
  return create(ForkResponseSchema, { children: sessions });
}

async function forkPoint({ store }: HostContext, { session, atSeq }: ForkRequest): Promise<number> {
  const { seq: head } = await store.head(session);
  if (atSeq <= 0n) return head;
  if (atSeq > BigInt(head)) {
    throw new ServiceError('INVALID_ARGUMENT', `at_seq is ${atSeq}; the session ends at record ${head}`);
  }
  return Number(atSeq);
}

function childrenOf({ ids }: HostContext, request: ForkRequest): readonly ForkChild[] {
  const { childNames, labels } = request;
  const count = request.count <= 0 ? 1 : request.count;
  if (count > MAX_CHILDREN) {
    throw new ServiceError('INVALID_ARGUMENT', `count is ${count}; at most ${MAX_CHILDREN} children at once`);
  }
  if (childNames.length > 0 && childNames.length !== count) {
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `child_names has ${childNames.length} names for ${count} children`,
    );
  }
  return Array.from({ length: count }, (_, index) => ({
    uid: newSessionUid(ids),
    name: childNames[index] ?? '',
    labels: { ...labels },
  }));
}

/** All children or none that anybody gets to see. */
async function forkWhole(
  { store }: HostContext,
  options: Parameters<HostContext['store']['fork']>[0],
): Promise<readonly SessionRow[]> {
  try {
    return await store.fork(options);
  } catch (error) {
    for (const { uid } of options.children) {
      if ((await store.get(uid)) !== undefined) await store.markDeleted(uid);
    }
    throw error;
  }
}
