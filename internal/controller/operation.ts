import type { StartProgress } from '../runtime/provider.ts';
import type { OperationInFlight, OperationKind } from './model.ts';

/** A worker that is busy with one session, from before its intent is written until its outcome is. */
export class Operation implements OperationInFlight {
  readonly id: string;
  readonly kind: OperationKind;
  readonly sessionName: string;
  /** Lived milliseconds. */
  readonly since: number;
  /** Its place in the order of looks and effects, by when it began. */
  readonly order: number;
  creating: boolean;
  /** What a start waits for, for people. */
  progress: StartProgress | undefined;
  readonly #abort = new AbortController();

  constructor(
    id: string,
    kind: OperationKind,
    sessionName: string,
    began: { readonly since: number; readonly order: number },
  ) {
    this.id = id;
    this.kind = kind;
    this.sessionName = sessionName;
    this.since = began.since;
    this.order = began.order;
    this.creating = kind === 'start';
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  abort(kind: AbortReason['kind']): void {
    if (!this.signal.aborted) this.#abort.abort(new AbortReason(kind));
  }

  /** Why it was aborted, `undefined` when it was not. */
  get aborted(): AbortReason | undefined {
    const reason: unknown = this.signal.reason;
    return reason instanceof AbortReason ? reason : undefined;
  }
}

export class AbortReason extends Error {
  readonly kind: 'deadline' | 'cancelled' | 'shutdown';

  constructor(kind: AbortReason['kind']) {
    super(`operation aborted: ${kind}`);
    this.kind = kind;
  }
}
