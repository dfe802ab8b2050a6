import type { CityDatabase } from '../beads/sqlite/city-database.ts';
import { RevisionConflictError } from '../beads/store.ts';
import type { WorkBeads } from '../beads/work.ts';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import type { Clock } from '../platform/clock.ts';
import { messageOf } from '../platform/errors.ts';
import type { Ids } from '../platform/ids.ts';
import type { Environment } from '../platform/paths.ts';
import type { Provider, StartProgress } from '../runtime/provider.ts';
import { displayName } from '../session/display.ts';
import type { SessionStore } from '../session/session-store.ts';
import { runDrain, runIdleProbe } from './drain-operation.ts';
import type { EndingContext } from './endings.ts';
import type { LivedTime } from './lived-time.ts';
import { type AbortReason, Operation } from './operation.ts';
import type { Action } from './plan.ts';
import { liveHashes } from './record-changes.ts';
import type { RuntimeMemory } from './runtime-memory.ts';
import { runContinuation, runStart, type StartOutcome } from './start-operation.ts';
import { runStop } from './stop-operation.ts';

/** What operations work with. */
export interface ExecutorContext {
  readonly db: CityDatabase;
  readonly work: WorkBeads;
  readonly store: SessionStore;
  readonly provider: Provider;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly time: LivedTime;
  readonly memory: RuntimeMemory;
  /** Of the city; an agent's own goes over it. */
  readonly cityEnv: Environment;
  /** The crash policy in force, with the time. */
  ending(): EndingContext;
  progressed(operation: Operation, progress: StartProgress): void;
  /** The server or host of all sessions went while this operation ran. */
  lostDuring(operation: Operation): boolean;
}

export interface ExecutorOptions extends Omit<ExecutorContext, 'progressed'> {
  /** Something ended or moved on: a good moment for the next pass. */
  readonly poke: () => void;
  /** Told of failures that are nobody's doing: the store, the runtime. */
  readonly trouble: (error: unknown) => void;
}

/** Runs at most one operation per session, in the background. */
export class Executor {
  readonly #options: ExecutorOptions;
  readonly #context: ExecutorContext;
  readonly #operations = new Map<string, Operation>();
  readonly #running = new Set<Promise<unknown>>();

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.#context = {
      ...options,
      progressed: (operation, progress) => this.#progressed(operation, progress),
    };
  }

  /** By session name. */
  get operations(): ReadonlyMap<string, Operation> {
    return this.#operations;
  }

  get context(): ExecutorContext {
    return this.#context;
  }

  /** Begins an operation; nothing when the session has one. */
  dispatch(action: Action): void {
    if (this.#operations.has(action.sessionName)) return;
    const running = this.run(action).catch(() => undefined); // told through `trouble` already
    this.#running.add(running);
    running.finally(() => this.#running.delete(running)).catch(() => undefined);
  }

  /** The same, to be waited for. @throws what the operation threw; a failed start is an outcome, not an error. */
  async run(action: Action): Promise<StartOutcome | undefined> {
    const { ids, time, memory, poke, trouble } = this.#options;
    const name = action.sessionName;
    const operation = new Operation(ids.hex(8), action.kind, name, {
      since: time.lived(),
      order: memory.nextOrder(),
    });
    this.#operations.set(name, operation);
    if (action.kind === 'start') memory.begun(name);
    try {
      const outcome = await this.#perform(operation, action);
      if (outcome?.kind === 'undecided') await this.#undecided(operation, action, outcome.error);
      else memory.succeeded(name);
      return outcome;
    } catch (error) {
      memory.failed(name, time.lived(), isExpected(error) ? '' : messageOf(error));
      if (!isExpected(error)) {
        trouble(error);
        await this.#recordFailure(action, error);
      }
      throw error;
    } finally {
      memory.touched(name);
      this.#operations.delete(name);
      poke();
    }
  }

  /** Ends a start or a wait early; what became of the session is seen by the next pass. */
  cancel(name: string, kind: AbortReason['kind'] = 'cancelled'): void {
    this.#operations.get(name)?.abort(kind);
  }

  /** Aborts everything that can be, and resolves when every operation has ended. */
  async drainAll(kind: AbortReason['kind']): Promise<void> {
    for (const operation of this.#operations.values()) operation.abort(kind);
    while (this.#running.size > 0) await Promise.allSettled([...this.#running]);
  }

  /** Nothing that counts, but whoever looks at the session wants to know what keeps it. */
  async #undecided(operation: Operation, action: Action, error: unknown): Promise<void> {
    const { memory, time } = this.#options;
    const isCalledOff = operation.aborted !== undefined || isExpected(error);
    memory.failed(action.sessionName, time.lived(), isCalledOff ? '' : messageOf(error));
    if (!isCalledOff) await this.#recordFailure(action, error);
  }

  /** What was decided and did not come about is told where the decision is. A repeated failure is written once. */
  async #recordFailure(action: Action, error: unknown): Promise<void> {
    if (!action.record) return;
    const decision = {
      sessionId: action.record.id,
      what: `${action.kind} failed`,
      why: messageOf(error),
      inputs: {},
    };
    // Without a store there is nothing to tell it to; the trouble is shown already.
    await this.#context.db.commit({ decisions: [decision] }).catch(() => undefined);
  }

  async #perform(operation: Operation, action: Action): Promise<StartOutcome | undefined> {
    switch (action.kind) {
      case 'start':
        return runStart(this.#context, operation, action);
      case 'continue-start':
        return runContinuation(this.#context, operation, action);
      case 'stop':
        await runStop(this.#context, action);
        return undefined;
      case 'drain':
        await runDrain(this.#context, operation, action);
        return undefined;
      case 'probe-idle':
        await runIdleProbe(this.#context, operation, action);
        return undefined;
      case 'apply-live':
        await this.#applyLive(action);
        return undefined;
    }
  }

  async #applyLive(action: Extract<Action, { kind: 'apply-live' }>): Promise<void> {
    const { provider, store } = this.#context;
    const { record, desired, sessionName } = action;
    const warnings = await provider.runLive(sessionName, desired.config);
    await store.apply(record.id, liveHashes(desired.liveHash), {
      events: [
        {
          type: 'session.updated',
          actor: CONTROLLER_ACTOR,
          subject: displayName(record),
          message: 'session_live re-applied',
        },
      ],
      ...(warnings.length > 0
        ? {
            decisions: [
              { what: 're-apply live', why: `with ${warnings.length} warnings`, inputs: {}, lines: warnings },
            ],
          }
        : {}),
    });
  }

  #progressed(operation: Operation, progress: StartProgress): void {
    operation.progress = progress;
    if (!operation.creating || !isCreated(progress)) return;
    operation.creating = false;
    this.#options.poke();
  }
}

/** The process is there: its start takes no slot any more. */
function isCreated(progress: StartProgress): boolean {
  if (progress.kind !== 'step') return true;
  return progress.step !== 'staging' && progress.step !== 'pre_start' && progress.step !== 'creating';
}

/** Somebody else changed the record first: the next pass decides anew. */
function isExpected(error: unknown): boolean {
  return error instanceof RevisionConflictError || messageOf(error).startsWith('operation aborted');
}
