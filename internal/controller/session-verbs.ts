import type { NewEvent } from '../events/event.ts';
import { GcError } from '../platform/errors.ts';
import { cleared, crashPatch } from '../session/crash-policy.ts';
import { displayName } from '../session/display.ts';
import { drainOver } from '../session/drain-marks.ts';
import { STOP_BY_KEY } from '../session/journal/facts.ts';
import { plainTitle } from '../session/names.ts';
import type { SessionRecord } from '../session/record.ts';
import type { ApplyOptions } from '../session/session-store.ts';
import { holdForUser } from '../session/start-transitions.ts';
import { clearWakeBlockers, type MetadataPatch, reactivate, requestWake } from '../session/transitions.ts';
import { accountOfSession, takeLimits, trialState } from './account-limits.ts';
import { START_ANYWAY_KEY } from './admission.ts';
import type { CityEngine } from './city-engine.ts';
import type { ResolvedDesired, StopReason } from './model.ts';
import { cityChangeOf } from './record-changes.ts';
import { refuseWithoutRoom } from './room-waits.ts';
import { STOP_INTENT_KEY, sightOf, stopIntent } from './session-facts.ts';
import {
  decidedAnew,
  type Existing,
  isUp,
  refuseSuspended,
  refuseUnseen,
  refuseUnseenTarget,
  requireAction,
  requireExisting,
  resolveTarget,
  type Target,
  tokenOf,
} from './verb-context.ts';

/** What it slept for is not waited for any longer. Source: Gas City's wake. */
const ENDS_WAITS = { endsWaits: 'its session was woken by a person' } as const;
/** A session that neither stops nor starts within this has told why elsewhere. */
const SETTLE_TIMEOUT_MS = 60_000;
const SETTLE_POLL_MS = 50;

export interface VerbsOptions {
  readonly engine: CityEngine;
  /** Who asks, for the events. */
  readonly actor: string;
  /** A controller of this process acts on records; without one this does. */
  readonly controlled: boolean;
  readonly poke: () => void;
}

export interface Woken {
  readonly record: SessionRecord;
  readonly woke: 'requested' | 'already-awake';
}

/** What people do to one session: the wish is written first, then carried out, by the controller or here. */
export class SessionVerbs {
  readonly #options: VerbsOptions;

  constructor(options: VerbsOptions) {
    this.#options = options;
  }

  async target(token: string, closedToo = false): Promise<Target> {
    const { engine } = this.#options;
    return resolveTarget(engine, engine.parts.store, token, await engine.look(), closedToo);
  }

  /** Ends the runtime; what follows is policy. */
  kill(token: string): Promise<SessionRecord> {
    return decidedAnew(() => this.#kill(token));
  }

  suspend(token: string): Promise<SessionRecord> {
    return decidedAnew(() => this.#suspend(token));
  }

  /**
   * Takes away holds, strikes and quarantine, and starts it at once.
   * @param force whatever the limits of the machine say
   * @throws GcError `no-room`, `agent-suspended`
   */
  wake(token: string, force = false): Promise<Woken> {
    return decidedAnew(() => this.#wake(token, force));
  }

  close(token: string): Promise<SessionRecord> {
    return decidedAnew(() => this.#close(token));
  }

  /** Up and ready, started first where that is allowed. @throws GcError why it is not */
  ready(token: string, verb: 'nudge' | 'submit' | 'peek'): Promise<SessionRecord> {
    return decidedAnew(() => this.#ready(token, verb));
  }

  /** Nothing is started or ended here on a look that told nothing; a controller waits for one that does. */
  beforeEffect(target: Target): void {
    if (!this.#options.controlled) refuseUnseenTarget(target);
  }

  async #kill(token: string): Promise<SessionRecord> {
    const target = await this.#existing(token, 'kill');
    return this.#stop(target, 'killed by a person');
  }

  async #suspend(token: string): Promise<SessionRecord> {
    const found = await this.target(token);
    if (requireAction(found, 'suspend') === 'nothing') return this.#recordOf(found);
    this.beforeEffect(found);
    const target = await this.materialized(found, 'suspend');
    if (isUp(target)) return this.#stop(target, 'suspended by a person');
    const patch = { ...holdForUser(this.#now()), pending_create_claim: '', ...crashPatch(cleared()) };
    return this.#apply(target.record, patch, 'session.suspended', 'by a person');
  }

  async #wake(token: string, force: boolean): Promise<Woken> {
    const found = await this.target(token);
    const action = requireAction(found, 'wake');
    refuseSuspended(this.#options.engine.city, found);
    this.beforeEffect(found);
    const target = await this.materialized(found, 'wake');
    const ending = stopIntent(target.record);
    if (ending && isUp(target)) {
      // What is being ended cannot be kept; what comes after its end is a life that was asked for.
      await this.carryOutStop(target.record, ending);
      return this.#wake(token, force);
    }
    if (isUp(target)) {
      const drains = action === 'cancel-drain' ? { state: 'active', state_reason: '' } : {};
      const patch = {
        ...clearWakeBlockers(target.record.state, target.record.sleepReason),
        ...crashPatch(cleared()),
        ...drains,
        ...drainOver(),
      };
      await this.#tryAccount(target.record);
      if (saysAlready(target.record, patch)) return { record: target.record, woke: 'already-awake' };
      const record = await this.#apply(target.record, patch, 'session.released', 'by a person', ENDS_WAITS);
      return { record, woke: 'requested' };
    }
    const { engine } = this.#options;
    const { sessionName } = target.record;
    const name = displayName(target.record);
    if (!force) refuseWithoutRoom(engine, sessionName, name, `gc session wake ${name} --force`);
    const back = action === 'reactivate-and-start' ? reactivate(true) : {};
    const patch = {
      ...back,
      ...(force ? { [START_ANYWAY_KEY]: 'yes' } : {}),
      ...requestWake('woken by a person'),
      last_woke_at: '',
      ...crashPatch(cleared()),
    };
    const record = await this.#apply(target.record, patch, 'session.released', 'by a person', ENDS_WAITS);
    await this.#tryAccount(record);
    return { record: await this.#startHere(record), woke: 'requested' };
  }

  /** Its account's limit does not hold for it: whether it is still there, this try shows. */
  async #tryAccount(record: SessionRecord): Promise<void> {
    const { engine } = this.#options;
    const { memory, parts } = engine;
    if (memory.accountLimits.size === 0) return;
    const desired = (await engine.desired(await parts.store.list('open'))).get(record.sessionName);
    const limit = memory.accountLimits.get(accountOfSession(record, desired, parts.env));
    const state = trialState(limit, record.sessionName, this.#now());
    if (!limit) return;
    await parts.db.commit({ state });
    takeLimits(memory.accountLimits, state);
  }

  async #close(token: string): Promise<SessionRecord> {
    const target = await this.target(token, true);
    if (requireAction(target, 'close') === 'nothing' || target.kind === 'reserved')
      return this.#recordOf(target);
    this.beforeEffect(target);
    if (isUp(target)) return this.#stop(target, 'closed by a person');
    const { store } = this.#options.engine.parts;
    const closed = await store.close(target.record.id, 'closed', {
      events: [this.#event('session.stopped', target.record, 'closed by a person')],
    });
    this.#options.poke();
    return closed;
  }

  /** @throws GcError `empty-title` */
  async rename(token: string, asked: string): Promise<SessionRecord> {
    const title = plainTitle(asked);
    if (title === '') {
      const next = `gc session rename ${token} "what it is for"`;
      throw new GcError('empty-title', 'the title is empty: nothing was changed', { next });
    }
    const target = await this.#existing(token, 'rename');
    const { store } = this.#options.engine.parts;
    return store.apply(
      target.record.id,
      {},
      { title, events: [this.#event('session.updated', target.record, `renamed to ${title}`)] },
    );
  }

  async #ready(token: string, verb: 'nudge' | 'submit' | 'peek'): Promise<SessionRecord> {
    const found = await this.target(token);
    const action = requireAction(found, verb);
    if (action === 'use-runtime' || action === 'cancel-drain') return this.#recordOf(found);
    if (action === 'await-start') return this.#awaitUp(this.#recordOf(found));
    this.beforeEffect(found);
    const target = await this.materialized(found, verb);
    const record = await this.#apply(
      target.record,
      {
        ...(action === 'reactivate-and-start' ? reactivate(true) : {}),
        ...requestWake('needed by a person'),
        last_woke_at: '',
      },
      'session.updated',
      'start asked for',
    );
    return this.#awaitUp(await this.#startHere(record));
  }

  /** Starts a record that asks for it, when no controller does. @throws GcError why it did not come up */
  async #startHere(record: SessionRecord): Promise<SessionRecord> {
    const { engine, controlled, poke } = this.#options;
    poke();
    if (controlled) return record;
    const desired = await this.#resolved(record);
    const outcome = await engine.executor.run({
      kind: 'start',
      sessionName: record.sessionName,
      record,
      desired,
      why: 'asked for by a person',
    });
    if (outcome?.kind === 'started' || outcome?.kind === 'asks') return outcome.record;
    throw startError(
      record,
      outcome?.kind === 'failed' ? outcome.death.how : 'it could not be started',
      outcome?.error,
    );
  }

  start(record: SessionRecord): Promise<SessionRecord> {
    return this.#startHere(record);
  }

  async #resolved(record: SessionRecord): Promise<ResolvedDesired> {
    const { engine } = this.#options;
    const desired = (await engine.desired(await engine.parts.store.list('open'))).get(record.sessionName);
    if (desired?.resolution === 'resolved') return desired;
    if (!desired)
      throw new GcError(
        'session-missing-config',
        `session ${displayName(record)} has no agent in the city file`,
      );
    const { code, message, next } = desired.problem;
    throw new GcError(code, message, next === undefined ? {} : { next });
  }

  async #stop(target: Existing, reason: StopReason): Promise<SessionRecord> {
    const { record } = target;
    const { store } = this.#options.engine.parts;
    const patch = { [STOP_INTENT_KEY]: reason, [STOP_BY_KEY]: this.#options.actor };
    return this.carryOutStop(
      await store.apply(record.id, patch, { expectedRevision: record.revision }),
      reason,
    );
  }

  /** Of a record that says that its end is meant. Resolves when it has ended. @throws GcError `runtime-unknown` */
  async carryOutStop(record: SessionRecord, reason: StopReason): Promise<SessionRecord> {
    const { engine, controlled, poke } = this.#options;
    if (!controlled) {
      const { sessionName } = record;
      // Between the look that led here and what was written, a controller may have come up and begun another life.
      const sight = sightOf({ survey: await engine.look(), effects: new Map() }, sessionName);
      refuseUnseen(sight, `session ${displayName(record)}`);
      const instanceToken = tokenOf(record, sight);
      await engine.executor.run({ kind: 'stop', sessionName, record, reason, instanceToken });
      return engine.parts.store.get(record.id);
    }
    engine.executor.cancel(record.sessionName);
    poke();
    return this.#until(
      record,
      (now) => now.closed || !now.metadata[STOP_INTENT_KEY],
      `is still being stopped (${reason})`,
    );
  }

  async #awaitUp(record: SessionRecord): Promise<SessionRecord> {
    return this.#until(
      record,
      (now) => {
        if (now.closed || (now.lastWokeAt === undefined && !now.pendingCreateClaim && !isSettledUp(now))) {
          throw startError(now, 'it did not come up', undefined);
        }
        return isSettledUp(now);
      },
      'is not up yet',
    );
  }

  async #until(
    record: SessionRecord,
    done: (now: SessionRecord) => boolean,
    complaint: string,
  ): Promise<SessionRecord> {
    const { store, clock } = this.#options.engine.parts;
    const deadline = clock.monotonic() + SETTLE_TIMEOUT_MS;
    for (;;) {
      const now = await store.get(record.id);
      if (done(now)) return now;
      if (clock.monotonic() > deadline) {
        throw new GcError('session-not-settled', `session ${displayName(record)} ${complaint}`, {
          next: `gc explain ${displayName(record)}`,
        });
      }
      await clock.sleep(SETTLE_POLL_MS);
    }
  }

  async #existing(token: string, verb: 'kill' | 'rename'): Promise<Existing> {
    const target = await this.target(token, verb === 'rename');
    requireAction(target, verb);
    return requireExisting(target, verb);
  }

  /** A configured name gets its record when something is asked of it. */
  async materialized(
    target: Target,
    verb: 'suspend' | 'wake' | 'nudge' | 'submit' | 'peek' | 'pin',
  ): Promise<Existing> {
    requireAction(target, verb);
    if (target.kind === 'session') return target;
    const { engine } = this.#options;
    const { store, db } = engine.parts;
    const records = await store.list('open');
    const desired = (await engine.desired(records)).get(target.sessionName);
    if (!desired)
      throw new GcError('session-missing-config', `session ${target.identity} has no agent in the city file`);
    const { beads } = await db.commit(
      cityChangeOf([{ kind: 'materialize', desired }], [], engine.changeContext(records)),
    );
    const record = await store.get(beads[0]?.id ?? '');
    return { kind: 'session', record, sight: { kind: 'absent' }, state: 'asleep' };
  }

  #recordOf(target: Target): SessionRecord {
    if (target.kind === 'session') return target.record;
    throw new GcError('session-not-active', `session ${target.identity} has never been started`);
  }

  async #apply(
    record: SessionRecord,
    patch: MetadataPatch,
    event: string,
    message: string,
    more: Pick<ApplyOptions, 'endsWaits'> = {},
  ): Promise<SessionRecord> {
    const { store } = this.#options.engine.parts;
    const changed = await store.apply(record.id, patch, {
      ...more,
      expectedRevision: record.revision,
      events: [this.#event(event, record, message)],
    });
    this.#options.poke();
    return changed;
  }

  #event(type: string, record: SessionRecord, message: string): NewEvent {
    return { type, actor: this.#options.actor, subject: displayName(record), message };
  }

  #now(): number {
    return this.#options.engine.parts.clock.now();
  }
}

/** Nothing would change: a counter that was never written is 0. */
function saysAlready({ metadata }: SessionRecord, patch: MetadataPatch): boolean {
  return Object.entries(patch).every(([key, value]) => (metadata[key] || '0') === (value || '0'));
}

function isSettledUp(record: SessionRecord): boolean {
  return record.lastWokeAt !== undefined && (record.state === 'active' || record.state === 'awake');
}

function startError(record: SessionRecord, how: string, cause: unknown): GcError {
  const label = displayName(record);
  return new GcError('start-failed', `session ${label}: ${how}`, {
    ...(cause === undefined ? {} : { cause }),
    next: `gc explain ${label}`,
  });
}
