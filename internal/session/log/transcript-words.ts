import type { JsonObject, JsonValue } from '../../protocol/protobuf.ts';

/** Arguments that say by themselves what a call is about, in the order in which one is taken. */
const TELLING = ['command', 'cmd', 'file_path', 'path', 'url', 'pattern', 'query', 'description', 'prompt'];

/** What of a fact people want to read, in this order; the rest is in the record. */
const SAYS = ['title', 'name', 'text', 'question', 'reason', 'last_lines'];
/** Who does things by themselves is not worth saying. */
const SELF = 'gc';

/** A fact of a city as a reader sees it. */
export interface FactWords {
  readonly word: string;
  readonly text: string;
  /** RFC 3339, `''` when it does not say. */
  readonly at: string;
}

/** What a call is about, as one text. */
export function argsText(args: JsonObject | undefined): string {
  if (!args) return '';
  const telling = TELLING.map((key) => args[key]).find(isText);
  if (telling !== undefined) return telling;
  return Object.keys(args).length === 0 ? '' : JSON.stringify(args);
}

/** One entry for a fact that names its kind, else one for each of its keys. */
export function factsOf(fact: JsonObject): readonly FactWords[] {
  const { kind, at } = fact;
  if (isText(kind)) return [{ word: kind, text: knownText(fact), at: isText(at) ? at : '' }];
  return Object.entries(fact).map(([word, value]) => ({ ...keyedFact(word, value), at: '' }));
}

function keyedFact(word: string, value: JsonValue): Omit<FactWords, 'at'> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { word, text: scalar(value) };
  const say = (key: string): string => scalar(value[key]);
  switch (word) {
    case 'continued':
      return { word, text: `${say('source')} up to record ${say('seq')} (turns: ${say('turns')})` };
    case 'compacted':
      return { word, text: 'a summary stands for the conversation before' };
    case 'native':
      return { word: say('program'), text: `conversation ${say('conversation')} ${say('state')}` };
    default:
      return { word, text: knownText(value) || allText(value) };
  }
}

function knownText(fact: JsonObject): string {
  const says = SAYS.map((key) => fact[key]).filter(isText);
  const why = fact['new_conversation'];
  const anew = isText(why) ? [`a new conversation: ${why}`] : [];
  const id = says.length === 0 && isText(fact['id']) ? [`message ${fact['id']}`] : [];
  const until = isText(fact['until']) ? [`until ${fact['until']}`] : [];
  const next = isText(fact['next_try_at']) ? [`next try ${fact['next_try_at']}`] : [];
  const by = isText(fact['actor']) && fact['actor'] !== SELF ? [`by ${fact['actor']}`] : [];
  const proof = fact['evidence'] === 'none' ? ['unconfirmed'] : [];
  const parts = [...says, ...anew, ...id, ...exitText(fact['exit']), ...until, ...next, ...by, ...proof];
  return [...new Set(parts)].join(', ');
}

function exitText(exit: JsonValue | undefined): readonly string[] {
  if (typeof exit !== 'object' || exit === null || Array.isArray(exit)) return [];
  if (exit['signal'] !== undefined) return [`signal ${scalar(exit['signal'])}`];
  return exit['code'] === undefined ? [] : [`exit ${scalar(exit['code'])}`];
}

const allText = (fields: JsonObject): string =>
  Object.entries(fields)
    .map(([key, value]) => `${key.replaceAll('_', ' ')} ${scalar(value)}`.trimEnd())
    .join(', ');

const isText = (value: JsonValue | undefined): value is string => typeof value === 'string' && value !== '';

function scalar(value: JsonValue | undefined): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
