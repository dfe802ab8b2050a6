import type { ObservedEntry, PlacedEntry } from './observed.ts';
import type { TranscriptTail } from './transcript-reader.ts';
import { withoutSequences } from './values.ts';

/** Whose turn it is, as far as the end of a transcript tells. */
export type TurnState = 'idle' | 'in-turn' | 'unknown';

/** What the end of a conversation tells, for whoever looks at a session. */
export interface ConversationGlance {
  readonly turn: TurnState;
  /** What the agent said last, on one line; `''`: nothing that is near. */
  readonly lastMessage: string;
  /** Milliseconds since the epoch; 0: not told. */
  readonly lastMessageAt: number;
  /** `''`: not told. */
  readonly model: string;
  /** What the last request to the model took. */
  readonly contextTokens: number | undefined;
  /** How many tokens the model takes at most. */
  readonly contextWindow: number | undefined;
  /** The program gave up on the last turn. */
  readonly failure: { readonly text: string; readonly at: number } | undefined;
}

const LINE_CHARS = 200;

/** Pure. */
export function glanceOf(tail: TranscriptTail): ConversationGlance {
  let glance: ConversationGlance = {
    turn: 'unknown',
    lastMessage: '',
    lastMessageAt: 0,
    model: '',
    contextTokens: undefined,
    contextWindow: undefined,
    failure: undefined,
  };
  let window: number | undefined;
  for (const placed of tail.entries) {
    glance = after(glance, placed, tail.answersEnd === true);
    if (placed.entry.kind === 'window') window = placed.entry.tokens;
  }
  return { ...glance, contextWindow: window ?? windowOf(glance.model) };
}

function after(
  glance: ConversationGlance,
  { entry, at }: PlacedEntry,
  answersEnd: boolean,
): ConversationGlance {
  const turn = turnAfter(entry, answersEnd) ?? glance.turn;
  switch (entry.kind) {
    case 'prompt':
      return { ...glance, turn, failure: undefined };
    case 'answer': {
      const said = oneLine(entry.text);
      if (said === '') return { ...glance, turn };
      return { ...glance, turn, failure: undefined, lastMessage: said, lastMessageAt: at };
    }
    case 'failure':
      return { ...glance, turn, failure: { text: entry.text, at } };
    case 'usage':
      return {
        ...glance,
        model: entry.model || glance.model,
        contextTokens: entry.input > 0 ? entry.input : glance.contextTokens,
      };
    case 'model':
      return { ...glance, model: entry.model || glance.model };
    default:
      return { ...glance, turn };
  }
}

/** Source: how Gas City reads the end of a transcript. */
function turnAfter(entry: ObservedEntry, answersEnd: boolean): TurnState | undefined {
  switch (entry.kind) {
    case 'prompt':
    case 'tool-call':
    case 'tool-result':
    case 'asked':
    case 'answered':
      return 'in-turn';
    case 'answer':
      return entry.ends || answersEnd ? 'idle' : 'in-turn';
    case 'failure':
    case 'turn-end':
      return 'idle';
    case 'usage':
    case 'window':
    case 'model':
    case 'compacted':
    case 'missed':
      return undefined;
  }
}

/** What an agent wrote must not move the reader's cursor, nor take more than its line. */
export function oneLine(text: string): string {
  const plain = withoutSequences(text.slice(0, LINE_CHARS * 20))
    .replace(/\p{Cf}/gu, '')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  const chars = [...plain];
  return chars.length <= LINE_CHARS ? plain : `${chars.slice(0, LINE_CHARS - 1).join('')}…`;
}

const WINDOWS: readonly (readonly [RegExp, number])[] = [
  [/opus|sonnet|haiku/, 200_000],
  [/gemini/, 1_000_000],
  [/gpt-5|codex/, 258_000],
  [/gpt-4/, 128_000],
];

/** Source: Gas City's table of context windows. */
function windowOf(model: string): number | undefined {
  return WINDOWS.find(([name]) => name.test(model.toLowerCase()))?.[1];
}

/** How full the context is, whole percent, 100 at most; `undefined`: not told. */
export function contextPercent({
  contextTokens,
  contextWindow,
}: Pick<ConversationGlance, 'contextTokens' | 'contextWindow'>): number | undefined {
  if (contextTokens === undefined || contextWindow === undefined) return undefined;
  return Math.min(100, Math.round((contextTokens / contextWindow) * 100));
}
