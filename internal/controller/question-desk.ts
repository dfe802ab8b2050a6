import type { NewDecision } from '../beads/sqlite/decision-table.ts';
import { GcError, messageOf } from '../platform/errors.ts';
import { KeyedMutex } from '../platform/keyed-mutex.ts';
import { limited } from '../platform/limited.ts';
import { InteractionUnsupportedError } from '../runtime/errors.ts';
import { canInteract, type InteractionProvider, type PendingInteraction } from '../runtime/provider.ts';
import { displayName } from '../session/display.ts';
import type { SessionRecord } from '../session/record.ts';
import type { AnswerReply, AnswerRequest, OpenQuestion, OpenQuestions } from './city-api.ts';
import type { CityEngine } from './city-engine.ts';
import { askedLine } from './question-text.ts';
import { sightOf } from './session-facts.ts';
import type { SessionVerbs } from './session-verbs.ts';
import { requireAction, requireExisting } from './verb-context.ts';

/** Each look is a screen that is captured, or a request to a host. */
const PARALLEL_LOOKS = 8;
const CHOICE_CHARS = 200;

export interface QuestionDeskOptions {
  readonly engine: CityEngine;
  readonly verbs: SessionVerbs;
  /** Who asks, where the request does not say. */
  readonly actor: () => string;
  readonly poke: () => void;
}

/** What agents ask people, at their terminals and over their protocols alike, and the answers. Each is given once. */
export class QuestionDesk {
  readonly #options: QuestionDeskOptions;
  readonly #answering = new KeyedMutex();

  constructor(options: QuestionDeskOptions) {
    this.#options = options;
  }

  /** Of all living sessions, or of one. @throws GcError of the target */
  async open(target?: string): Promise<OpenQuestions> {
    const records = target === undefined ? await this.#living() : [await this.#asked(target)];
    const looks = await limited(PARALLEL_LOOKS, records, (record) => this.#look(record));
    return {
      items: looks.flatMap((look) => (look.kind === 'asks' ? [look.question] : [])),
      unknown: looks.flatMap((look) =>
        look.kind === 'unknown' ? [{ session: look.session, reason: look.reason }] : [],
      ),
    };
  }

  /**
   * @throws GcError `session-no-pending`, `already-answered` when the question that was meant is answered,
   * `unknown-action` with the choices, `interaction-unsupported`
   */
  async answer(target: string, request: AnswerRequest): Promise<AnswerReply> {
    const record = await this.#asked(target);
    const provider = this.#provider();
    const { sessionName } = record;
    return this.#answering.run(sessionName, async () => {
      const pending = await provider.pending(sessionName);
      const meant = request.request_id;
      if (!pending || (meant !== undefined && meant !== '' && pending.request_id !== meant))
        throw notAsked(record, meant, pending);
      const choice = choiceOf(pending, request.action);
      await provider.respond(sessionName, {
        request_id: pending.request_id,
        action: choice,
        ...(request.text === undefined ? {} : { text: request.text }),
      });
      const said = labelOf(pending, choice);
      await this.#tell(record, pending, said);
      return { session: displayName(record), request_id: pending.request_id, choice: said };
    });
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
      const pending = await this.#provider().pending(record.sessionName);
      return pending
        ? { kind: 'asks', session, question: questionOf(record, pending) }
        : { kind: 'quiet', session };
    } catch (error) {
      if (error instanceof InteractionUnsupportedError) return { kind: 'quiet', session };
      return { kind: 'unknown', session, reason: messageOf(error) };
    }
  }

  #provider(): InteractionProvider {
    const { provider } = this.#options.engine.parts;
    if (!canInteract(provider)) throw new InteractionUnsupportedError();
    return provider;
  }

  /** The log says who answered what. */
  async #tell(record: SessionRecord, pending: PendingInteraction, choice: string): Promise<void> {
    const { engine, actor, poke } = this.#options;
    const asked = askedLine(pending).slice(0, CHOICE_CHARS);
    const said = choice.slice(0, CHOICE_CHARS);
    const decision: NewDecision = {
      sessionId: record.id,
      what: 'answered',
      why: `${actor()} answered "${asked}": ${said}`,
      inputs: { request_id: pending.request_id },
    };
    const event = {
      type: 'session.updated',
      actor: actor(),
      subject: displayName(record),
      message: `answered "${asked}": ${said}`,
    };
    await engine.parts.db.commit({ events: [event], decisions: [decision] });
    poke();
  }
}

type Look =
  | { readonly kind: 'asks'; readonly session: string; readonly question: OpenQuestion }
  | { readonly kind: 'quiet'; readonly session: string }
  | { readonly kind: 'unknown'; readonly session: string; readonly reason: string };

function questionOf(record: SessionRecord, pending: PendingInteraction): OpenQuestion {
  const { request_id, kind, prompt = '', options = [], metadata = {} } = pending;
  return {
    session: displayName(record),
    session_id: record.id,
    session_name: record.sessionName,
    request_id,
    kind,
    prompt,
    options,
    metadata,
  };
}

function notAsked(
  record: SessionRecord,
  meant: string | undefined,
  pending: PendingInteraction | undefined,
): GcError {
  const label = displayName(record);
  if (!meant) {
    return new GcError('session-no-pending', `session ${label} has no pending interaction`, {
      next: 'gc session pending',
    });
  }
  const now = pending ? `; it asks now: ${askedLine(pending).slice(0, CHOICE_CHARS)}` : '';
  return new GcError(
    'already-answered',
    `session ${label} does not ask that any more: it was answered already, or taken back${now}`,
    { next: 'gc session pending' },
  );
}

/** A number, an option as it is written or its beginning, or a word of the protocol (`approve`, `deny` ...). */
function choiceOf(pending: PendingInteraction, said: string): string {
  const options = pending.options ?? [];
  const word = said.trim();
  if (word === '') throw unknownAction(said, options);
  if (/^\d{1,3}$/.test(word)) {
    if (options.length > 0 && !options[Number(word) - 1]) throw unknownAction(said, options);
    return word;
  }
  const lower = word.toLowerCase();
  const same = options.find((option) => option === word) ?? options.find((o) => o.toLowerCase() === lower);
  if (same !== undefined) return same;
  const [only, another] = options.filter((option) => option.toLowerCase().startsWith(lower));
  return only !== undefined && another === undefined ? only : word;
}

/** For people: what the number stands for. */
function labelOf({ options = [] }: PendingInteraction, choice: string): string {
  return (/^\d+$/.test(choice) ? options[Number(choice) - 1] : undefined) ?? choice;
}

function unknownAction(said: string, options: readonly string[]): GcError {
  const choices = options.map((option, index) => `${index + 1} ${option}`).join(', ');
  return new GcError('unknown-action', `"${said}" is no answer to it`, { next: `answer one of: ${choices}` });
}
