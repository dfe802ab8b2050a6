import type { NewEvent } from '../events/event.ts';
import { parseRfc3339 } from '../platform/clock.ts';
import { GcError } from '../platform/errors.ts';
import { cleared, crashPatch } from '../session/crash-policy.ts';
import { displayName } from '../session/display.ts';
import { restartMark } from '../session/drain-marks.ts';
import { STOP_BY_KEY } from '../session/journal/facts.ts';
import { matchingSessions, type PatternMatch } from '../session/name-pattern.ts';
import type { SessionRecord } from '../session/record.ts';
import { type MetadataPatch, pinned, reactivate, resetAtRest } from '../session/transitions.ts';
import { VERB_TABLE } from '../session/verb-table.ts';
import { scaleAgent } from './agent-scale.ts';
import type { CityApi, SessionView } from './city-api.ts';
import { configuredNames } from './desired-state.ts';
import type { DrainVerbs } from './drain-verbs.ts';
import { rigHere } from './rig-here.ts';
import { STOP_INTENT_KEY, stopIntent } from './session-facts.ts';
import type { SessionVerbs, VerbsOptions } from './session-verbs.ts';
import { submitMessage } from './submit.ts';
import type {
  PruneReply,
  PruneRequest,
  ScaleReply,
  ScaleRequest,
  SubmitReply,
  SubmitRequest,
  UpkeepApi,
} from './upkeep-api.ts';
import { decidedAnew, type Existing, isUp, requireAction, requireExisting } from './verb-context.ts';

export interface UpkeepParts {
  readonly verbs: SessionVerbs;
  readonly drains: DrainVerbs;
  readonly api: Pick<CityApi, 'nudge' | 'questions' | 'reload'>;
  readonly view: (record: SessionRecord) => Promise<SessionView>;
}

/** Pins, resets and prunes: each is written into records, and the controller acts by what they say. */
export class Upkeep implements UpkeepApi {
  readonly #options: VerbsOptions;
  readonly #parts: UpkeepParts;

  constructor(options: VerbsOptions, parts: UpkeepParts) {
    this.#options = options;
    this.#parts = parts;
  }

  async pin(target: string): Promise<SessionView> {
    const { verbs, view } = this.#parts;
    const record = await decidedAnew(async () => {
      const found = await verbs.target(target);
      const back = requireAction(found, 'pin') === 'reactivate-and-start' ? reactivate(true) : {};
      const { record: before } = await verbs.materialized(found, 'pin');
      return this.#apply(before, { ...back, ...pinned(true) }, 'pinned awake');
    });
    return view(record);
  }

  async unpin(target: string): Promise<SessionView> {
    const { verbs, view } = this.#parts;
    const record = await decidedAnew(async () => {
      const found = await verbs.target(target);
      requireAction(found, 'unpin');
      return this.#apply(requireExisting(found, 'unpin').record, pinned(false), 'unpinned');
    });
    return view(record);
  }

  async reset(target: string): Promise<SessionView> {
    if (!this.#options.controlled) {
      throw new GcError('no-controller', 'a managed controller must be running', { next: 'gc start' });
    }
    const { record, ends } = await decidedAnew(() => this.#reset(target));
    // A start or drain under way is no longer waited for: the record says what is to be done.
    if (ends) this.#options.engine.executor.cancel(record.sessionName);
    this.#options.poke();
    return this.#parts.view(record);
  }

  async #reset(target: string): Promise<{ readonly record: SessionRecord; readonly ends: boolean }> {
    const found = await this.#parts.verbs.target(target);
    const action = requireAction(found, 'reset');
    const existing = requireExisting(found, 'reset');
    const { record } = existing;
    const ends = isUp(existing);
    const end = ends
      ? restartNow(record, this.#options.actor)
      : resetAtRest(record.state, record.sleepReason);
    const back = action === 'reactivate-and-start' ? reactivate(true) : {};
    const patch = { ...back, ...end, ...crashPatch(cleared()) };
    return { record: await this.#apply(record, patch, 'reset: its next life begins anew'), ends };
  }

  /** Of the sessions of the config nothing is closed: their record is what keeps them down. */
  async prune({ before_ms: beforeMs }: PruneRequest): Promise<PruneReply> {
    if (!Number.isFinite(beforeMs) || beforeMs <= 0) {
      throw new GcError('invalid-request', '"before_ms" must be a number above 0');
    }
    const { engine } = this.#options;
    const configured = new Set(configuredNames(engine.city).map(({ identity }) => identity));
    const now = engine.parts.clock.now();
    const old = (await engine.parts.store.list('open')).filter(
      (record) =>
        record.state === 'suspended' &&
        !configured.has(record.namedIdentity) &&
        now - (parseRfc3339(record.metadata['suspended_at']) ?? record.createdAt) > beforeMs,
    );
    const pruned: PatternMatch[] = [];
    for (const record of old) {
      const closed = await decidedAnew(() => this.#prune(record.id));
      if (closed) pruned.push({ target: record.id, name: displayName(record) });
    }
    if (pruned.length > 0) this.#options.poke();
    return { pruned };
  }

  /** Only what is known to be down: something that lives would be left without a record. */
  async #prune(id: string): Promise<boolean> {
    const { engine } = this.#options;
    const found = await this.#parts.verbs.target(id, true);
    if (found.kind !== 'session' || !isDown(found) || found.record.state !== 'suspended') return false;
    const rule = VERB_TABLE[found.state].prune;
    if (rule.kind !== 'do' || rule.action !== 'close-record') return false;
    const events = [this.#event('session.updated', found.record, 'closed: suspended for long')];
    await engine.parts.store.close(id, 'pruned', { events });
    return true;
  }

  submit(target: string, request: SubmitRequest): Promise<SubmitReply> {
    const { engine, controlled } = this.#options;
    const { verbs, drains, api } = this.#parts;
    const actor = () => this.#options.actor;
    return submitMessage({ engine, verbs, drains, api, actor, controlled }, target, request);
  }

  async matching(pattern: string): Promise<readonly PatternMatch[]> {
    const { engine } = this.#options;
    return matchingSessions({
      pattern,
      records: await engine.parts.store.list('open'),
      configured: configuredNames(engine.city),
      rig: rigHere(engine.city),
    });
  }

  async scale(agent: string, request: ScaleRequest): Promise<ScaleReply> {
    const { engine } = this.#options;
    return scaleAgent({ engine, reload: () => this.#parts.api.reload() }, agent, request);
  }

  async #apply(record: SessionRecord, patch: MetadataPatch, message: string): Promise<SessionRecord> {
    const { engine, poke, actor } = this.#options;
    const changed = await engine.parts.store.apply(record.id, patch, {
      expectedRevision: record.revision,
      events: [this.#event('session.updated', record, message)],
      decisions: [{ what: 'asked', why: `${actor}: ${message}`, inputs: {} }],
    });
    poke();
    return changed;
  }

  #event(type: string, record: SessionRecord, message: string): NewEvent {
    return { type, actor: this.#options.actor, subject: displayName(record), message };
  }
}

const isDown = ({ sight, record }: Existing): boolean =>
  (sight.kind === 'absent' || sight.kind === 'exited') && record.lastWokeAt === undefined;

/** One that is being ended for another reason is left to it; what comes then begins anew all the same. */
function restartNow(record: SessionRecord, actor: string): MetadataPatch {
  const mark = restartMark(record, true);
  return stopIntent(record)
    ? mark
    : { ...mark, [STOP_INTENT_KEY]: 'restart requested', [STOP_BY_KEY]: actor };
}
