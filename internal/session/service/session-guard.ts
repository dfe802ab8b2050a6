import { ServiceError } from './sessions-host.ts';

/** A turn that this process runs. */
export interface RunningTurn {
  /** Known once its first record is committed. */
  executionId: string | undefined;
  /** Ends the turn; `reason` is what its caller is answered. */
  end(reason: ServiceError): void;
  /** What it was ended with, if somebody did. */
  readonly endedBy: () => ServiceError | undefined;
  /** Resolves when the session is free again, with what the turn failed with, if it failed. */
  readonly over: Promise<unknown>;
}

/** A turn that was ended on request, after that was recorded. */
export class TurnCanceled extends ServiceError {
  readonly reason: string;

  constructor(reason: string) {
    super('CANCELLED', reason === '' ? 'the turn was canceled' : `the turn was canceled: ${reason}`);
    this.reason = reason;
  }
}

/**
 * One operation at a time per session, for the whole operation. Whoever comes meanwhile is refused at once and never waits.
 * Other processes are kept apart by the log's compare-and-swap and its fence.
 * Source: agentsessions.v1 session guard.
 */
export class SessionGuard {
  readonly #held = new Map<string, RunningTurn | undefined>();

  /** @throws ServiceError ABORTED when the session is busy */
  async hold<T>(uid: string, work: () => Promise<T>): Promise<T> {
    this.#take(uid, undefined);
    try {
      return await work();
    } finally {
      this.#held.delete(uid);
    }
  }

  /**
   * The same for a turn: others can see it and end it.
   * @param work gets a signal that also aborts when somebody ends the turn
   */
  async holdForTurn<T>(
    uid: string,
    signal: AbortSignal,
    work: (turn: RunningTurn, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const controller = new AbortController();
    let settle: (failure: unknown) => void = () => undefined;
    const over = new Promise<unknown>((resolve) => {
      settle = resolve;
    });
    let ended: ServiceError | undefined;
    const turn: RunningTurn = {
      executionId: undefined,
      end: (reason) => {
        ended ??= reason;
        controller.abort(ended);
      },
      endedBy: () => ended,
      over,
    };
    this.#take(uid, turn);
    let failure: unknown;
    try {
      return await work(turn, AbortSignal.any([signal, controller.signal]));
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      this.#held.delete(uid);
      settle(failure);
    }
  }

  turnOf(uid: string): RunningTurn | undefined {
    return this.#held.get(uid);
  }

  #take(uid: string, turn: RunningTurn | undefined): void {
    if (this.#held.has(uid)) {
      throw new ServiceError('ABORTED', `session ${uid} is busy with another operation`, {
        next: 'wait for it to end and call again',
      });
    }
    this.#held.set(uid, turn);
  }
}
