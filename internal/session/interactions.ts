import type {
  InteractionKind,
  InteractionOption,
  InteractionPatch,
  InteractionRow,
  InteractionSource,
  OptionEffect,
  Verdict,
} from '../beads/sqlite/interaction-table.ts';
import { GcError } from '../platform/errors.ts';
import type { PendingInteraction } from '../runtime/provider.ts';
import type { SessionRecord } from './record.ts';

/** What an agent asks, as it is seen at one moment. */
export type Asked = Pick<
  InteractionRow,
  'source' | 'kind' | 'fingerprint' | 'tool' | 'input' | 'isWhole' | 'prompt' | 'options' | 'metadata'
>;

/** One life of a session: what it asks belongs to it. */
export type Life = Pick<
  InteractionRow,
  'sessionId' | 'session' | 'sessionName' | 'generation' | 'instance' | 'epoch'
>;

/** After so long without an outcome the process that was pressing the keys is taken to be gone. */
export const IN_HAND_MS = 10_000;

/** `q7`, as people write it. */
export const interactionId = ({ num }: Pick<InteractionRow, 'num'>): string => `q${num}`;

/** `undefined`: no id of a question. */
export function interactionNumber(id: string): number | undefined {
  const digits = /^q([1-9]\d{0,14})$/.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

const ALLOWS = /^(yes|allow|apply|approve|proceed|accept|ok(ay)?)\b/i;
const DENIES = /^(no|deny|reject|cancel|decline|abort|don't|do not)\b/i;
const LASTS =
  /\b(always|don't ask|do not ask|auto-accept|allow all|from now on|(this|the|all|every) (session|project|conversation|directory|folder|future))\b/i;

/** What choosing an option does, by its words; `kind` is the protocol's own word for it (`allow_once` ...), where there is one. */
export function optionOf(label: string, kind = ''): InteractionOption {
  const told = /^(allow|reject)_(once|always)$/.exec(kind);
  if (told) {
    return { label, effect: told[1] === 'allow' ? 'allow' : 'deny', isLasting: told[2] === 'always' };
  }
  const effect: OptionEffect = ALLOWS.test(label) ? 'allow' : DENIES.test(label) ? 'deny' : 'other';
  return { label, effect, isLasting: effect !== 'other' && LASTS.test(label) };
}

/** Reads what a provider found. Pure. */
export function askedOf(pending: PendingInteraction, isStarting: boolean): Asked {
  const { request_id: fingerprint, prompt = '', options = [], metadata = {} } = pending;
  const source: InteractionSource = metadata['source'] === 'acp' ? 'protocol' : 'screen';
  const isPermission = pending.kind === 'approval' || pending.kind === 'permission';
  const kind: InteractionKind = isPermission ? 'permission' : isStarting ? 'dialog' : 'question';
  const kinds = (metadata['option_kinds'] ?? '').split(',');
  const read = (label: string, index: number): InteractionOption =>
    isPermission ? optionOf(label, kinds[index]) : { label, effect: 'other', isLasting: false };
  const tool = isPermission ? (metadata['tool_name'] ?? '') : '';
  const input = metadata['tool_input'] ?? afterTool(prompt, tool);
  return {
    source,
    kind,
    fingerprint,
    tool,
    input: tool === '' ? '' : input,
    isWhole: metadata['tool_input_cut'] !== 'true' && !input.endsWith('…'),
    prompt,
    options: options.map(read),
    metadata,
  };
}

function afterTool(prompt: string, tool: string): string {
  return tool !== '' && prompt.startsWith(`${tool}: `) ? prompt.slice(tool.length + 2) : '';
}

export function lifeOf(record: SessionRecord, session: string): Life {
  return {
    sessionId: record.id,
    session,
    sessionName: record.sessionName,
    generation: record.generation,
    instance: record.instanceToken,
    epoch: record.continuationEpoch,
  };
}

export const isOfLife = (row: InteractionRow, life: Pick<Life, 'instance'>): boolean =>
  row.instance === life.instance;

/** An answer as it goes to the provider, and what it means. */
export interface Choice {
  readonly action: string;
  /** For people. */
  readonly label: string;
  readonly verdict: Exclude<Verdict, ''>;
}

type Question = Pick<InteractionRow, 'kind' | 'options' | 'source'>;

/**
 * The answer that a word means: a number, an option as it is written or its beginning, `approve`, `approve_always`,
 * `deny`, `yes`, `no`, `cancel`. A question without options takes any text. `approve` never allows more than this once.
 * @throws GcError `unknown-action` with the choices
 */
export function chosen(question: Question, said: string): Choice {
  const word = said.trim();
  const { options } = question;
  if (word === '') throw unknownAction(said, options);
  if (options.length === 0) return { action: said, label: said, verdict: 'answered' };
  if (/^\d{1,3}$/.test(word)) {
    const place = Number(word) - 1;
    if (!options[place]) throw unknownAction(said, options);
    return at(options, place);
  }
  const place = placeOf(options, word) ?? placeOfWord(options, word);
  if (place !== undefined) return at(options, place);
  const isDenial = question.kind === 'permission' && /^(deny|no)$/i.test(word);
  if (question.source === 'protocol' && (isDenial || word.toLowerCase() === 'cancel')) {
    return {
      action: 'cancel',
      label: isDenial ? 'no' : 'taken back',
      verdict: isDenial ? 'deny' : 'canceled',
    };
  }
  throw unknownAction(said, options);
}

function placeOf(options: readonly InteractionOption[], word: string): number | undefined {
  const lower = word.toLowerCase();
  const labels = options.map(({ label }) => label.toLowerCase());
  const same = options.findIndex(({ label }) => label === word);
  if (same >= 0) return same;
  const alike = labels.indexOf(lower);
  if (alike >= 0) return alike;
  const begin = labels.flatMap((label, index) => (label.startsWith(lower) ? [index] : []));
  return begin.length === 1 ? begin[0] : undefined;
}

function placeOfWord(options: readonly InteractionOption[], word: string): number | undefined {
  const first = (effect: OptionEffect, isLasting: boolean): number | undefined => {
    const place = options.findIndex((option) => option.effect === effect && option.isLasting === isLasting);
    return place < 0 ? undefined : place;
  };
  switch (word.toLowerCase()) {
    case 'approve':
    case 'allow':
    case 'yes':
      return first('allow', false);
    case 'approve_always':
    case 'approve_accept_edits':
    case 'always':
      return first('allow', true);
    case 'deny':
    case 'no':
      return first('deny', false) ?? first('deny', true);
    default:
      return undefined;
  }
}

function at(options: readonly InteractionOption[], place: number): Choice {
  const option = options[place];
  if (!option) throw new GcError('internal', `no option ${place}`);
  const verdict: Choice['verdict'] = option.effect === 'other' ? 'answered' : option.effect;
  return { action: String(place + 1), label: option.label, verdict };
}

/** The answer of a rule or of time; `undefined`: the question has none that does this and no more. */
export function choiceFor(question: Question, effect: 'allow' | 'deny' | 'cancel'): Choice | undefined {
  try {
    if (effect === 'allow') return onceAllowed(chosen(question, 'approve'), question);
    return chosen(question, effect);
  } catch {
    return undefined; // it offers nothing of that kind: a person decides
  }
}

function onceAllowed(choice: Choice, { options }: Question): Choice | undefined {
  const option = options[Number(choice.action) - 1];
  return option?.effect === 'allow' && !option.isLasting ? choice : undefined;
}

/** Of a wrong answer, in the message about it. */
const TOLD_CHARS = 80;

function unknownAction(said: string, options: readonly InteractionOption[]): GcError {
  if (options.length === 0) {
    return new GcError('unknown-action', 'the answer is empty', { next: 'answer with a text' });
  }
  const choices = options.map(({ label }, index) => `${index + 1} ${label}`).join(', ');
  const told = said.length > TOLD_CHARS ? `${said.slice(0, TOLD_CHARS)}…` : said;
  return new GcError('unknown-action', `"${told}" is no answer to it`, { next: `answer one of: ${choices}` });
}

/** Who decided, where, and why: a person, a rule by its id, or the city itself. */
export interface Decider {
  readonly kind: 'user' | 'rule' | 'city';
  readonly id: string;
  /** `cli`, `http`, `rule`, `timer`. */
  readonly channel: string;
}

export interface Resolution extends Choice {
  readonly by: Decider;
  readonly cause: Exclude<InteractionRow['cause'], ''>;
  readonly scope: string;
  readonly text: string;
}

export function resolvedPatch(resolution: Resolution, now: number): InteractionPatch {
  const { action, label, verdict, by, cause, scope, text } = resolution;
  return {
    state: 'resolved',
    resolvedMs: now,
    action,
    choice: label,
    verdict,
    cause,
    scope,
    text,
    byKind: by.kind,
    byId: by.id,
    byChannel: by.channel,
  };
}

/** What is to become of a row that stands open, now that its session was looked at. */
export type Standing =
  | { readonly kind: 'keep' }
  /** It was decided and the agent does not have it: it is given now. */
  | { readonly kind: 'deliver' }
  | { readonly kind: 'end'; readonly patch: InteractionPatch };

/**
 * Decides over an open row by what its session asks now. Keys are never pressed a second time: where they may have been
 * pressed already, and the question still stands, it is asked anew. A protocol's ids are never used again, so there an
 * answer that may have arrived can be given again. Pure.
 */
export function standingOf(
  row: InteractionRow,
  life: Pick<Life, 'instance'>,
  asked: Pick<Asked, 'fingerprint'> | undefined,
  now: number,
): Standing {
  const stands = isOfLife(row, life) && asked?.fingerprint === row.fingerprint;
  if (row.state === 'pending') {
    return stands ? { kind: 'keep' } : { kind: 'end', patch: withdrawn(row, life, now) };
  }
  if (row.sentMs === undefined) {
    if (stands) return { kind: 'deliver' };
    const error = 'the question was gone before the answer could be given';
    return { kind: 'end', patch: { state: 'superseded', endedMs: now, error } };
  }
  if (!stands) return { kind: 'end', patch: { state: 'applied', endedMs: now } };
  if (row.source === 'protocol') return { kind: 'deliver' };
  if (now - row.sentMs < IN_HAND_MS) return { kind: 'keep' };
  const error = 'whether the keys arrived is not known, and the question still stands';
  return { kind: 'end', patch: { state: 'failed', endedMs: now, error } };
}

function withdrawn(row: InteractionRow, life: Pick<Life, 'instance'>, now: number): InteractionPatch {
  const isSameLife = isOfLife(row, life);
  return {
    state: 'withdrawn',
    endedMs: now,
    verdict: 'canceled',
    cause: isSameLife ? 'superseded' : 'closed',
    error: isSameLife
      ? 'it was answered at the terminal, or is not asked any more'
      : 'the life of the session that asked it is over',
  };
}
