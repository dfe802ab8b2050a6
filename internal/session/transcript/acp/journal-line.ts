import { GcError } from '../../../platform/errors.ts';
import { type Fields, fieldsOf } from '../../../platform/fields.ts';
import {
  type AnsweredBy,
  JOURNAL_VERSION,
  type JournalFact,
  type JournalLine,
} from '../../../runtime/acp/agent/journal-fact.ts';
import type { QuestionOption } from '../observed.ts';

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** What a line tells; `other`: a fact that a later writer of this form may add. */
export type KnownFact = JournalFact | { readonly kind: 'other' };
export type KnownLine = Omit<JournalLine, 'fact'> & { readonly fact: KnownFact };

/** `undefined`: it is no line of a journal. @throws GcError `journal-version` of another form */
export function toJournalLine(value: unknown, file: string): KnownLine | undefined {
  const { v, seq, at, conversation, cwd, turn, fact } = fieldsOf(value);
  if (!isCount(v)) return undefined;
  if (v !== JOURNAL_VERSION) throw otherVersion(file, v);
  if (!isCount(seq) || !isCount(at) || typeof conversation !== 'string' || conversation === '')
    return undefined;
  return {
    v,
    seq,
    at,
    conversation,
    cwd: textOf(cwd),
    turn: isCount(turn) ? turn : 0,
    fact: toFact(fieldsOf(fact)),
  };
}

function otherVersion(file: string, version: number): GcError {
  return new GcError(
    'journal-version',
    `${file}: the conversation is written in form ${version}, and this gc reads form ${JOURNAL_VERSION}`,
    { next: 'run the gc that started the session, or stop the city and start it again with this one' },
  );
}

function toFact(fact: Fields): KnownFact {
  switch (fact['kind']) {
    case 'opened': {
      const how = fact['how'];
      return {
        kind: 'opened',
        how: how === 'loaded' || how === 'resumed' ? how : 'new',
        agent: textOf(fact['agent']),
      };
    }
    case 'prompt':
    case 'message':
    case 'thought': {
      const continues = fact['continues'] === true && { continues: true as const };
      return {
        kind: fact['kind'],
        message: textOf(fact['message']),
        text: textOf(fact['text']),
        ...continues,
      };
    }
    case 'tool-started':
      return {
        kind: 'tool-started',
        ...callOf(fact),
        ...(typeof fact['tool'] === 'string' && { tool: fact['tool'] }),
        ...(typeof fact['input'] === 'string' && { input: fact['input'] }),
      };
    case 'tool-finished': {
      const output = typeof fact['output'] === 'string' && { output: fact['output'] };
      return { kind: 'tool-finished', ...callOf(fact), failed: fact['failed'] === true, ...output };
    }
    case 'asked':
    case 'answered':
      return toInteraction(fact);
    case 'turn-ended':
      return { kind: 'turn-ended', stop: textOf(fact['stop']) };
    case 'closed':
      return { kind: 'closed', why: textOf(fact['why']) };
    default:
      return { kind: 'other' };
  }
}

function callOf(fact: Fields): { readonly call: string; readonly title: string } {
  const call = textOf(fact['call']);
  return { call, title: textOf(fact['title']) || call };
}

function toInteraction(fact: Fields): KnownFact {
  const question = textOf(fact['question']);
  if (question === '') return { kind: 'other' };
  if (fact['kind'] === 'answered') {
    const option = typeof fact['option'] === 'string' && { option: fact['option'] };
    return { kind: 'answered', question, by: answeredBy(fact['by']), ...option };
  }
  const options = Array.isArray(fact['options']) ? fact['options'].map(toOption) : [];
  return { kind: 'asked', question, ...callOf(fact), detail: textOf(fact['detail']), options };
}

function toOption(value: unknown): QuestionOption {
  const { id, name, kind } = fieldsOf(value);
  return { id: textOf(id), name: textOf(name) || textOf(id), kind: textOf(kind) };
}

const VOIDED: readonly AnsweredBy[] = ['client', 'cancel', 'turn-ended', 'agent-gone', 'removed'];
const answeredBy = (value: unknown): AnsweredBy => VOIDED.find((by) => by === value) ?? 'client';
