import type { Clock } from '../../../platform/clock.ts';
import { GcError } from '../../../platform/errors.ts';
import { fieldsOf } from '../../../platform/fields.ts';
import { visibleText } from '../../../platform/visible-text.ts';
import type { WireAcpQuestion } from '../../host/protocol.ts';
import type { RequestPermissionRequest } from './connection.ts';
import type { AnsweredBy } from './journal-fact.ts';
import { cut, oneLine } from './plain-text.ts';
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
    const told = describe(request.toolCall);
    const question = { id, kind: 'permission', ...told, options, askedAt: this.#clock.now() };
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
function describe(toolCall: unknown): Pick<WireAcpQuestion, 'title' | 'detail' | 'tool' | 'input'> {
  const call = readTool(toolCall);
  const raw = fieldsOf(fieldsOf(toolCall)['rawInput']);
  const named = COMMAND_FIELDS.map((field) => raw[field]).find((value) => (value ?? undefined) !== undefined);
  // Its words may stand beside it.
  const isInPieces = Array.isArray(raw['args']) && raw['args'].length > 0;
  const title =
    call?.title ?? (typeof named === 'string' ? oneLine(named, NAME_CHARS) : (call?.id ?? 'permission'));
  const shown = typeof named === 'string' && !title.includes(named) ? named : '';
  const places = fieldsOf(toolCall)['locations'];
  const paths = (Array.isArray(places) ? places : [])
    .map((place) => fieldsOf(place)['path'])
    .filter((path) => typeof path === 'string' && !title.includes(path));
  const rest = typeof named !== 'string' || isInPieces ? (call?.input ?? '') : '';
  const parts = [hiddenIn(toolCall), shown, ...paths, call?.output ?? '', rest].filter((part) => part !== '');
  const input = typeof named === 'string' ? (isInPieces ? undefined : named) : wholeTitle(toolCall, title);
  return {
    title,
    detail: cut(visibleText([...new Set(parts)].join('\n')), DETAIL_CHARS),
    ...(call?.tool === undefined ? {} : { tool: call.tool }),
    ...(input === undefined || input.length > DETAIL_CHARS ? {} : { input }),
  };
}

/** A title is shown without what a terminal acts on: where that may be a part of a command, it is shown once more, whole. */
function hiddenIn(toolCall: unknown): string {
  const { title } = fieldsOf(toolCall);
  return typeof title === 'string' && visibleText(title) !== title ? title : '';
}

/** Some programs put the command into the title alone; what had to be changed to be shown there is not known to the letter. */
function wholeTitle(toolCall: unknown, shown: string): string | undefined {
  return fieldsOf(toolCall)['title'] === shown ? shown : undefined;
}
