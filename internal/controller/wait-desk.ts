import { GcError } from '../platform/errors.ts';
import { displayName } from '../session/display.ts';
import { typeableText } from '../session/inbox.ts';
import type { SessionRecord } from '../session/record.ts';
import type { WaitDraft } from '../session/wait-codec.ts';
import { WaitStore } from '../session/wait-store.ts';
import { isOver, stepOf, type WaitState } from '../session/waits.ts';
import type { CityEngine } from './city-engine.ts';
import type { SessionVerbs } from './session-verbs.ts';
import { requireAction, requireExisting } from './verb-context.ts';
import type { WaitApi, WaitFilter, WaitReply, WaitRequest, WaitView } from './wait-api.ts';
import { beadFacts, isMissing, readBeadFacts } from './wait-keeper.ts';
import { timeOf, waitsOn, waitView } from './wait-views.ts';

/** Beads and sessions of one wait. */
const MAX_CONDITIONS = 200;
const MAX_NOTE_CHARACTERS = 16_000;

export interface WaitDeskOptions {
  readonly engine: CityEngine;
  readonly verbs: SessionVerbs;
  /** A controller of this process looks at waits. */
  readonly controlled: boolean;
  readonly actor: () => string;
  readonly poke: () => void;
}

/** What people and agents ask about waits. Everything is checked before anything is written. */
export class WaitDesk implements WaitApi {
  readonly #options: WaitDeskOptions;
  readonly #store: WaitStore;

  constructor(options: WaitDeskOptions) {
    this.#options = options;
    this.#store = new WaitStore(options.engine.parts.db);
  }

  async register(target: string, request: WaitRequest): Promise<WaitReply> {
    const { engine, controlled, actor, poke } = this.#options;
    if (request.sleep && !controlled) throw noController();
    const record = await this.#waiter(target);
    const draft = await this.#draft(record, request);
    const text = waitsOn(draft, await engine.parts.store.list('open'));
    const ready = await this.#isMet(draft);
    const known: WaitDraft = ready ? { ...draft, state: 'ready', sleeps: false } : draft;
    const wait = await this.#store.register(known, text, actor());
    poke();
    return { wait: await this.#view(wait.id), sleeps: wait.sleeps };
  }

  async list({ state, session }: WaitFilter = {}): Promise<readonly WaitView[]> {
    const { engine } = this.#options;
    const states = statesOf(state);
    const sessionId = session === undefined ? undefined : await this.#sessionId(session);
    const waits = await this.#store.all(sessionId);
    const records = await engine.parts.store.list('open');
    return waits
      .filter((wait) => (states ? states.has(wait.state) : !isOver(wait.state)))
      .map((wait) => waitView(wait, records));
  }

  inspect(id: string): Promise<WaitView> {
    return this.#view(id);
  }

  async cancel(id: string): Promise<WaitView> {
    const { actor, poke } = this.#options;
    await this.#store.cancel(id, `by ${actor()}`, actor());
    poke();
    return this.#view(id);
  }

  async ready(id: string): Promise<WaitReply> {
    const { actor, poke } = this.#options;
    const wait = await this.#store.ready(id, `said ${actor()}`, actor());
    poke();
    const view = await this.#view(wait.id);
    return { wait: view, sleeps: false, ...(wait.id === id ? {} : { retried: id }) };
  }

  async #view(id: string): Promise<WaitView> {
    const wait = await this.#store.get(id);
    return waitView(wait, await this.#options.engine.parts.store.list('open'));
  }

  async #waiter(target: string): Promise<SessionRecord> {
    const found = await this.#options.verbs.target(target);
    requireAction(found, 'wait');
    return requireExisting(found, 'wait').record;
  }

  async #draft(record: SessionRecord, request: WaitRequest): Promise<WaitDraft> {
    const { clock } = this.#options.engine.parts;
    const now = clock.now();
    const note = typeableText(request.note).trim();
    if (note === '') {
      throw new GcError('wait-needs-note', 'a wait needs a note: what the session is told when it is over');
    }
    if (note.length > MAX_NOTE_CHARACTERS)
      throw invalid(`the note has more than ${MAX_NOTE_CHARACTERS} characters`);
    const until = untilOf(request, now);
    const beads = idsOf(request.on_beads);
    const sessions = await this.#sessionIds(idsOf(request.on_sessions));
    if (beads.length + sessions.length === 0 && until === undefined) {
      throw new GcError('wait-needs-condition', 'a wait needs something to wait for', {
        next: 'name beads, a session or a time: gc session wait --help',
      });
    }
    if (beads.length + sessions.length > MAX_CONDITIONS) {
      throw invalid(`it names more than ${MAX_CONDITIONS} beads and sessions`);
    }
    if (beads.includes(record.id) || sessions.includes(record.id)) {
      throw new GcError('wait-on-itself', `session ${displayName(record)} cannot wait for itself`);
    }
    if (request.expires_in_ms === 0) throw invalid('it would expire at once');
    await this.#requireBeads(beads);
    return {
      sessionId: record.id,
      sessionName: record.sessionName,
      state: 'pending',
      note,
      beads,
      sessions,
      until,
      untilMoves: request.for_ms !== undefined,
      mode: request.mode,
      sleeps: request.sleep,
      epoch: '',
      attempt: 1,
      createdBy: request.created_by,
      createdAt: now,
      expiresAt: request.expires_in_ms === undefined ? undefined : after(now, request.expires_in_ms),
      retriedFrom: '',
    };
  }

  async #sessionIds(tokens: readonly string[]): Promise<readonly string[]> {
    const ids = new Set<string>();
    for (const token of tokens) ids.add(await this.#sessionId(token));
    return [...ids];
  }

  async #sessionId(token: string): Promise<string> {
    const found = await this.#options.verbs.target(token, true);
    if (found.kind === 'session') return found.record.id;
    throw new GcError('session-not-active', `session ${found.identity} has never been started`, {
      next: `gc session wake ${found.identity}`,
    });
  }

  async #requireBeads(ids: readonly string[]): Promise<void> {
    const { engine } = this.#options;
    const facts = await readBeadFacts(engine, ids);
    if ([...facts.values()].includes('unknown') && isMissing(engine.parts.work)) {
      const { file } = engine.parts.work;
      throw new GcError('store-unreachable', `${file} is not there; nothing was registered`, {
        next: 'put it back, or begin a new one: gc bd create',
      });
    }
    const missing = ids.filter((id) => ['missing', 'unknown'].includes(facts.get(id) ?? 'missing'));
    if (missing.length === 0) return;
    const what = missing.length === 1 ? 'bead not found' : 'beads not found';
    throw new GcError('bead-not-found', `${what}: ${missing.join(', ')}; nothing was registered`, {
      next: 'gc bd list',
    });
  }

  /** By what is known without a look at screens; the rest is seen by the controller's next pass. */
  async #isMet(draft: WaitDraft): Promise<boolean> {
    const { engine } = this.#options;
    const { clock, store } = engine.parts;
    const facts = await beadFacts(engine, draft.beads);
    const open = new Set((await store.list('open')).map(({ id }) => id));
    const probe = { ...draft, id: '', revision: 0, nudgeId: '', lastError: '' };
    const step = stepOf(probe, {
      now: clock.now(),
      bead: (id) => facts.get(id) ?? 'unknown',
      rest: (id) => (open.has(id) ? 'unknown' : 'resting'),
      session: () => ({ epoch: 0, isUp: false }),
      nudge: () => ({ kind: 'under way' }),
    });
    return step.kind === 'ready';
  }
}

const STATES: readonly WaitState[] = ['pending', 'ready', 'closed', 'canceled', 'expired', 'failed'];

/** `undefined`: those that are not over. @throws GcError `invalid-wait-state` */
function statesOf(text: string | undefined): ReadonlySet<WaitState> | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const words = idsOf(text.split(','));
  if (words.includes('all')) return new Set(STATES);
  const states = words.map((word) => {
    const found = STATES.find((state) => state === word);
    if (found) return found;
    throw new GcError(
      'invalid-wait-state',
      `unknown state ${JSON.stringify(word)} (want ${STATES.join(', ')} or all)`,
    );
  });
  return new Set(states);
}

function idsOf(words: readonly string[]): readonly string[] {
  return [...new Set(words.map((word) => word.trim()).filter((word) => word !== ''))];
}

/** A span is short of the end of all times by far. */
const MAX_SPAN_MS = 10 * 365 * 86_400_000;

function untilOf({ until, for_ms: span }: WaitRequest, now: number): number | undefined {
  if (until !== undefined && span !== undefined)
    throw invalid('it names a time and a span; one of them is enough');
  if (span !== undefined) return after(now, span);
  if (until === undefined) return undefined;
  const at = timeOf(until);
  if (at !== undefined) return at;
  throw invalid(`${JSON.stringify(until.slice(0, 80))} is no time such as 2026-01-31T14:00:00Z`);
}

function after(now: number, span: number): number {
  if (span <= MAX_SPAN_MS) return now + span;
  throw invalid('its span is longer than ten years');
}

function invalid(what: string): GcError {
  return new GcError('invalid-wait', `this wait cannot be: ${what}`, { next: 'gc session wait --help' });
}

function noController(): GcError {
  return new GcError(
    'no-controller',
    'nobody would wake the session again: a managed controller must be running',
    {
      next: 'gc start',
    },
  );
}
