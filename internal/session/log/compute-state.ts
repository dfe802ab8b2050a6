import {
  type Event,
  EventKind,
  Lifecycle_Kind,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { StoredComputeState } from './session-log.ts';

/**
 * The compute state that an event leads to; `undefined` leaves it as it is.
 * Source: agentsessions.v1, projection inside the append transaction.
 */
export function impliedState({ kind, body }: Event): StoredComputeState | undefined {
  if (kind === EventKind.EVENT_APPROVAL_REQUEST || kind === EventKind.EVENT_APPROVAL_RESULT) return undefined;
  if (kind !== EventKind.EVENT_LIFECYCLE) return 'LIVE';
  if (body.case !== 'lifecycle') return undefined;
  switch (body.value.kind) {
    case Lifecycle_Kind.LIFECYCLE_SUSPEND:
    case Lifecycle_Kind.LIFECYCLE_FORK:
      return 'COLD';
    case Lifecycle_Kind.LIFECYCLE_RESUME:
      return 'LIVE';
    default:
      return undefined;
  }
}
