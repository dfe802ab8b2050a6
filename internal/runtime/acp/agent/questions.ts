import type { Clock } from '../../../platform/clock.ts';
import { GcError } from '../../../platform/errors.ts';
import { fieldsOf } from '../../../platform/fields.ts';
import type { WireAcpQuestion } from '../../host/protocol.ts';
import type { RequestPermissionRequest } from './connection.ts';
import type { AnsweredBy } from './journal-fact.ts';
import { cut, oneLine, plainText } from './plain-text.ts';
import { INTERNAL_ERROR, INVALID_PARAMS } from './rpc-codes.ts';
import { readTool } from './updates.ts';

export const MAX_OPEN_QUESTIONS = 32;
export const MAX_OPTIONS = 32;
const DETAIL_CHARS = 8_192;
const NAME_CHARS = 300;
const OPTION_ID_CHARS = 256;
/** Answered questions that a late answer is told about. */
const REMEMBERED = 256;
const COMMAND_FIELDS = ['command', 'cmd', 'file_path', 'path', 'url'];

export interface QuestionEvents {
  onAsked(question: WireAcpQuestion, call: string): void;
  onAnswered(question: WireAcpQuestion, by: AnsweredBy, option: string | undefined): void;
}

interface Open {
  readonly question: WireAcpQuestion;
  readonly settle: (option: string | undefined) => void;
}

/** Why a question is refused at once. */
export interface Refused {
  readonly code: number;
  readonly message: string;
}

/** The questions of one agent's life. Each is answered once; its id is never used again, not by a later life either. */
export class QuestionBook {
  readonly #clock: Clock;
  readonly #events: QuestionEvents;
  /** Lives of one session begin at different times. */
  readonly #life: string;
  readonly #open = new Map<string, Open>();
  readonly #answered = new Map<string, AnsweredBy>();
  #asked = 0;

  constructor(clock: Clock, events: QuestionEvents) {
    this.#clock = clock;
    this.#events = events;
    this.#life = clock.now().toString(36);
  }

  list(): readonly WireAcpQuestion[] {
    return [...this.#open.values()].map(({ question }) => question);
  }

  /** Resolves with the answer: the id of an option, `undefined` when it was cancelled. */
  ask(request: RequestPermissionRequest): Refused | Promise<string | undefined> {
    const options = request.options.map(({ optionId, name, kind }) => ({
      id: optionId,
      name: oneLine(name, NAME_CHARS),
      kind,
    }));
    if (options.length === 0 || options.length > MAX_OPTIONS) {
      return { code: INVALID_PARAMS, message: `a question has 1 to ${MAX_OPTIONS} options` };
    }
    if (options.some(({ id }) => id === '' || id.length > OPTION_ID_CHARS)) {
      return { code: INVALID_PARAMS, message: `an optionId has 1 to ${OPTION_ID_CHARS} characters` };
    }
    if (this.#open.size >= MAX_OPEN_QUESTIONS) {
      return { code: INTERNAL_ERROR, message: `${MAX_OPEN_QUESTIONS} questions are open already` };
    }
    this.#asked += 1;
    const id = `${this.#life}-${this.#asked}`;
    const { title, detail } = describe(request.toolCall);
    const question = { id, kind: 'permission', title, detail, options, askedAt: this.#clock.now() };
    const answer = new Promise<string | undefined>((settle) => this.#open.set(id, { question, settle }));
    this.#events.onAsked(question, request.toolCall.toolCallId);
    return answer;
  }

  /** @throws GcError `already-answered`, `no-such-question`, `no-such-option` */
  answer(id: string, option: string | undefined): void {
    const open = this.#open.get(id);
    if (!open) throw this.#unknown(id);
    const { options, title } = open.question;
    if (option !== undefined && !options.some((offered) => offered.id === option)) {
      const offered = options.map((one) => `${one.id} (${one.name})`).join(', ');
      throw new GcError('no-such-option', `"${option}" is no answer to "${title}"`, {
        next: `answer with one of: ${offered}`,
      });
    }
    this.#settle(open, 'client', option);
  }

  cancelAll(by: AnsweredBy): void {
    for (const open of [...this.#open.values()]) this.#settle(open, by, undefined);
  }

  #settle({ question, settle }: Open, by: AnsweredBy, option: string | undefined): void {
    this.#open.delete(question.id);
    this.#answered.set(question.id, by);
    const [oldest] = this.#answered.keys();
    if (this.#answered.size > REMEMBERED && oldest !== undefined) this.#answered.delete(oldest);
    this.#events.onAnswered(question, by, option);
    settle(option);
  }

  #unknown(id: string): GcError {
    const by = this.#answered.get(id);
    if (by === undefined) return new GcError('no-such-question', `no question "${id}" is open`);
    return new GcError('already-answered', `the question "${id}" is settled already: ${SETTLED[by]}`);
  }
}

const SETTLED: Readonly<Record<AnsweredBy, string>> = {
  client: 'somebody answered it',
  cancel: 'its turn was cancelled',
  'turn-ended': 'the agent ended its turn',
  'agent-gone': 'the agent is gone',
  removed: 'the session was removed',
};

/** What is asked for, in one line, and everything that helps to decide. */
function describe(toolCall: unknown): { title: string; detail: string } {
  const call = readTool(toolCall);
  const input = fieldsOf(fieldsOf(toolCall)['rawInput']);
  const named = COMMAND_FIELDS.map((field) => input[field]).find((value) => typeof value === 'string');
  const title =
    call?.title ?? (typeof named === 'string' ? oneLine(named, NAME_CHARS) : (call?.id ?? 'permission'));
  const shown = typeof named === 'string' && !title.includes(named) ? named : '';
  const places = fieldsOf(toolCall)['locations'];
  const paths = (Array.isArray(places) ? places : [])
    .map((place) => fieldsOf(place)['path'])
    .filter((path) => typeof path === 'string' && !title.includes(path));
  const rest = named === undefined ? (call?.input ?? '') : '';
  const parts = [shown, ...paths, call?.output ?? '', rest].filter((part) => part !== '');
  return { title, detail: cut(plainText([...new Set(parts)].join('\n')), DETAIL_CHARS) };
}
