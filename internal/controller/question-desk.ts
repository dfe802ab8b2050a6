import type { InteractionRow } from '../beads/sqlite/interaction-table.ts';
import { rfc3339 } from '../platform/clock.ts';
import { codeOf, messageOf } from '../platform/errors.ts';
import { limited } from '../platform/limited.ts';
import { displayName } from '../session/display.ts';
import { chosen, interactionId, interactionNumber } from '../session/interactions.ts';
import type { SessionRecord } from '../session/record.ts';
import type { CityEngine } from './city-engine.ts';
import { refuseSessions } from './question-actor.ts';
import type { AnswerReply, AnswerRequest, OpenQuestion, OpenQuestions } from './question-api.ts';
import type { Delivery, QuestionBook } from './question-book.ts';
import { changed, foreign, noPending, notFound, overError, undeliveredError } from './question-errors.ts';
import type { PermissionRule } from './rule-api.ts';
import { ruleOfRow } from './rule-book.ts';
import { type RuleDraft, ruleDraft } from './rule-drafts.ts';
import { sightOf } from './session-facts.ts';
import type { SessionVerbs } from './session-verbs.ts';
import { addUserRule } from './user-rules.ts';
import { requireAction, requireExisting } from './verb-context.ts';

/** Each look is a screen that is captured, or a request to a host. */
const PARALLEL_LOOKS = 8;

export interface QuestionDeskOptions {
  readonly engine: CityEngine;
  readonly verbs: SessionVerbs;
  readonly book: QuestionBook;
  /** A controller of this process answers by rules. */
  readonly controlled: boolean;
  /** Who asks, where the request does not say. */
  readonly actor: () => string;
  /** A message for the agent, for when it is idle. */
  readonly say: (target: string, text: string) => Promise<unknown>;
  readonly rulesChanged: () => void;
  readonly poke: () => void;
}

/** What agents ask people, at their terminals and over their protocols alike, and the answers. Each is given once. */
export class QuestionDesk {
  readonly #options: QuestionDeskOptions;

  constructor(options: QuestionDeskOptions) {
    this.#options = options;
  }

  /** Of all living sessions, or of one. @throws GcError of the target */
  async open(target?: string): Promise<OpenQuestions> {
    const records = target === undefined ? await this.#living() : [await this.#asked(target)];
    const looks = await limited(PARALLEL_LOOKS, records, (record) => this.#look(record));
    return {
      items: looks
        .flatMap((look) => (look.kind === 'asks' ? [look.row] : []))
        .toSorted((a, b) => a.num - b.num)
        .map(questionOf),
      unknown: looks.flatMap((look) =>
        look.kind === 'unknown' ? [{ session: look.session, reason: look.reason }] : [],
      ),
    };
  }

  /** @throws GcError, see `CityApi.answer` */
  async answer(target: string, request: AnswerRequest): Promise<AnswerReply> {
    const { engine, actor } = this.#options;
    refuseSessions(actor(), await engine.parts.store.list('open'), 'answering');
    const { record, row } = await this.#meant(target, request.request_id);
    if (row.state !== 'pending') throw overError(row, engine.parts.clock.now());
    const { text = '', scope = 'once', channel = 'http' } = request;
    const choice = chosen(row, request.action);
    const draft = scope === 'once' ? undefined : ruleDraft({ scope, choice, row, record, by: actor() });
    const by = { kind: 'user', id: actor(), channel } as const;
    const resolution = { ...choice, by, cause: 'user', scope, text } as const;
    const resolving = await this.#options.book.answer(
      record,
      row,
      resolution,
      draft?.kind === 'city' ? draft.row : undefined,
    );
    if (resolving.kind === 'lost') throw overError(resolving.row, engine.parts.clock.now());
    const city = resolving.rule && ruleOfRow(resolving.rule);
    const user = draft?.kind === 'user' ? await this.#keep(draft) : {};
    if (draft) this.#options.rulesChanged();
    this.#options.poke();
    return await this.#reply(resolving.delivery, resolving.row, text, {
      ...user,
      ...(city ? { rule: city } : {}),
    });
  }

  async #reply(
    delivery: Delivery | undefined,
    decided: InteractionRow,
    text: string,
    made: { readonly rule?: PermissionRule; readonly notice?: string },
  ): Promise<AnswerReply> {
    const row = delivery?.row ?? decided;
    if (row.state === 'superseded' || row.state === 'failed') throw undeliveredError(row);
    const notices = [made.notice ?? ''];
    if (delivery?.delayed)
      notices.push(`the agent does not have it yet, it is tried again: ${delivery.delayed}`);
    if (text !== '') {
      await this.#options.say(row.sessionId, text).catch((error: unknown) => {
        notices.push(`the text could not be sent: ${messageOf(error)}`);
      });
    }
    const notice = notices.filter((each) => each !== '').join('; ');
    const { rule } = made;
    return {
      session: row.session,
      request_id: row.fingerprint,
      choice: row.choice,
      id: interactionId(row),
      ...(rule ? { rule } : {}),
      ...(notice === '' ? {} : { notice }),
    };
  }

  /** A rule that could not be written down takes nothing back: the answer stands. */
  async #keep(
    draft: Extract<RuleDraft, { kind: 'user' }>,
  ): Promise<{ rule?: PermissionRule; notice?: string }> {
    const { env, clock, ids } = this.#options.engine.parts;
    try {
      const at = rfc3339(clock.now());
      return { rule: await addUserRule({ env, clock, ids }, { ...draft.rule, at }) };
    } catch (error) {
      return { notice: `only this once: ${messageOf(error)}` };
    }
  }

  /** The question that a word means, as it is after a new look at its session. */
  async #meant(target: string, requestId = ''): Promise<{ record: SessionRecord; row: InteractionRow }> {
    const named = await this.#byId(target);
    if (named) return this.#afterLook(named);
    const found = await this.#session(target);
    if (found.kind === 'question') return this.#afterLook(found.row);
    const { record } = found;
    const session = displayName(record);
    const number = interactionNumber(requestId);
    const open = await this.#options.book.look(record, false);
    const { store } = this.#options.book;
    if (requestId === '') {
      if (!open) throw noPending(session);
      return { record, row: open };
    }
    const row =
      (await store.latest(record.id, requestId)) ??
      (number === undefined ? undefined : await store.find(number));
    if (!row && number !== undefined) throw notFound(requestId);
    if (!row) throw changed(session);
    if (row.sessionId !== record.id) throw foreign(row, session);
    return { record, row };
  }

  /** Also the provider's own id of a question that stands open. @throws GcError of the session that was meant */
  async #session(target: string): Promise<SessionOrQuestion> {
    try {
      return { kind: 'session', record: await this.#asked(target) };
    } catch (error) {
      if (codeOf(error) !== 'session-not-found') throw error;
      const row = (await this.#options.book.store.standing()).find((each) => each.fingerprint === target);
      if (!row) throw error;
      return { kind: 'question', row };
    }
  }

  /** A session that is called like a question is still reached by its id. */
  async #byId(target: string): Promise<InteractionRow | undefined> {
    const number = interactionNumber(target);
    if (number === undefined) return undefined;
    const row = await this.#options.book.store.find(number);
    if (row?.state === 'pending') return row;
    const isSession = await this.#options.verbs.target(target).then(
      () => true,
      (error: unknown) => {
        if (codeOf(error) === 'session-not-found') return false;
        throw error;
      },
    );
    if (isSession) return undefined;
    if (!row) throw notFound(target);
    return row;
  }

  async #afterLook(row: InteractionRow): Promise<{ record: SessionRecord; row: InteractionRow }> {
    const { engine, book } = this.#options;
    const record = await engine.parts.store.get(row.sessionId);
    if (row.state !== 'pending' || record.closed) throw overError(row, engine.parts.clock.now());
    await book.look(record, false);
    return { record, row: (await book.store.find(row.num)) ?? row };
  }

  async #asked(target: string): Promise<SessionRecord> {
    const found = await this.#options.verbs.target(target);
    requireAction(found, 'respond');
    return requireExisting(found, 'respond').record;
  }

  async #living(): Promise<readonly SessionRecord[]> {
    const { engine } = this.#options;
    const survey = await engine.look();
    const records = await engine.parts.store.list('open');
    return records.filter(
      (record) => sightOf({ survey, effects: new Map() }, record.sessionName).kind === 'running',
    );
  }

  async #look(record: SessionRecord): Promise<Look> {
    const session = displayName(record);
    try {
      const row = await this.#options.book.look(record, this.#options.controlled);
      return row ? { kind: 'asks', row } : { kind: 'quiet' };
    } catch (error) {
      return { kind: 'unknown', session, reason: messageOf(error) };
    }
  }
}

type SessionOrQuestion =
  | { readonly kind: 'session'; readonly record: SessionRecord }
  | { readonly kind: 'question'; readonly row: InteractionRow };

type Look =
  | { readonly kind: 'asks'; readonly row: InteractionRow }
  | { readonly kind: 'quiet' }
  | { readonly kind: 'unknown'; readonly session: string; readonly reason: string };

/** For requests of others: Gas City calls a permission an approval. */
const WIRE_KIND = { permission: 'approval', question: 'question', dialog: 'question' } as const;

export function questionOf(row: InteractionRow): OpenQuestion {
  return {
    id: interactionId(row),
    session: row.session,
    session_id: row.sessionId,
    session_name: row.sessionName,
    request_id: row.fingerprint,
    kind: WIRE_KIND[row.kind],
    prompt: row.prompt,
    options: row.options.map(({ label }) => label),
    metadata: row.metadata,
    source: row.source,
    tool: row.tool,
    input: row.input,
    asked_at: rfc3339(row.askedMs),
    ...(row.expiresMs === undefined ? {} : { expires_at: rfc3339(row.expiresMs) }),
  };
}
