import type { Clock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import type { ApprovalRef, Message } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import type { BlobStore } from '../log/blobs/blob-store.ts';
import type { SessionLog } from '../log/session-log.ts';
import type { Harness, ModelProvider, ToolExecutor } from './harness.ts';
import type { LogView } from './log-view.ts';

/** Sees what a turn commits, in the order of its commits, and what is said between. Must not throw. */
export interface TurnObserver {
  record(record: ChainedRecord): void;
  delta(executionId: string, chunk: string, done: boolean): void;
}

/** What a turn of one session is run with. */
export interface TurnContext {
  readonly uid: string;
  readonly log: SessionLog;
  readonly harness: Harness;
  /** The name that the registry resolved; it goes into the log. */
  readonly harnessName: string;
  readonly model: ModelProvider;
  readonly tools?: ToolExecutor;
  /**
   * Takes large results and files that a harness reports which acts by itself; the log names them then. What a harness
   * gets back from the host stays in the log whole.
   */
  readonly blobs?: Pick<BlobStore, 'put'>;
  readonly observer: TurnObserver;
  /** What the log says up to a record, from somebody who keeps it up to date; absent: it is read again. */
  readonly viewUpTo?: (seq: number) => Promise<LogView>;
  /** The incarnation that writes. */
  readonly fence: number;
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface Invocation {
  readonly inputs: readonly Message[];
  readonly config: Uint8Array;
  readonly resumeFromSeq: bigint;
  /** Where the log must stand. */
  readonly expected: number;
}

export type TurnOutcome =
  | { readonly kind: 'completed' }
  /** A gated call waits for a person; nothing but SUSPEND may follow. */
  | { readonly kind: 'parked'; readonly ref: ApprovalRef }
  /** There was nothing to resume. */
  | { readonly kind: 'nothing' };

/** Why a turn was not run or did not end. */
export type TurnFailure =
  | 'approval-blocked'
  | 'approval-unavailable'
  | 'invalid-log'
  | 'incomplete-invocation'
  | 'inherited-intent'
  | 'missing-executor'
  | 'invalid-call'
  | 'forged-receipt'
  | 'harness-mismatch'
  | 'diverged'
  | 'harness-failed'
  | 'canceled';

export class TurnError extends GcError {
  readonly failure: TurnFailure;

  constructor(failure: TurnFailure, message: string, options: { cause?: unknown; next?: string } = {}) {
    super(`turn-${failure}`, message, options);
    this.failure = failure;
  }
}

/**
 * A gated call waits for a person: the sink takes nothing more. A harness lets it pass; one that answers a peer tells the peer
 * first, and rejects with something else only when the peer did not take it.
 */
export class ParkedError extends GcError {
  readonly ref: ApprovalRef;

  constructor(ref: ApprovalRef) {
    super('turn-parked', `call ${ref.toolCallId} of ${ref.executionId} waits for a person`, {
      next: 'approve or deny it, then resume the session',
    });
    this.ref = ref;
  }
}
