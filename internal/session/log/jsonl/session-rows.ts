import type { SessionRow, StoredComputeState } from '../session-log.ts';
import { type LogState, lastSeq } from './log-state.ts';
import type { SessionMeta } from './session-file.ts';

export function rowOf(meta: SessionMeta, state: LogState, computeState: StoredComputeState): SessionRow {
  const { fence, updatedAt, ...kept } = meta;
  const at = state.times.last?.at ?? 0n;
  return {
    ...kept,
    computeState,
    updatedAt: at > updatedAt ? at : updatedAt,
    lastSeq: lastSeq(state),
    fence: Math.max(fence, state.fence),
  };
}

type Placed = Pick<SessionRow, 'createdAt' | 'uid'>;

/** Newest first, then by uid. Source: agentsessions.v1, listing. */
export function newestFirst(a: Placed, b: Placed): number {
  if (a.createdAt !== b.createdAt) return a.createdAt > b.createdAt ? -1 : 1;
  return a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0;
}
