import type { Ids } from '../../../platform/ids.ts';
import { type Event, EventKind } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { Conversations, Place, RunMode, Tail } from './dialect.ts';
import { type NativeFact, nativeFactOf, type Tokens } from './native-fact.ts';
import { carriedConversation, continuationPrompt } from './prompts.ts';
import { allCalls, compare, placeOf, recordedIn, type TailEffect } from './recorded.ts';

/** What a turn has to do. */
export type TurnPlan =
  /** It was over when it was cut; `missing` is what the log lacks of it. */
  | { readonly kind: 'over'; readonly missing: readonly TailEffect[]; readonly fact: NativeFact | undefined }
  | {
      readonly kind: 'run';
      readonly missing: readonly TailEffect[];
      readonly mode: RunMode;
      /** The conversation's last message before this run, '' for none. */
      readonly base: string;
      readonly prompt: string;
      readonly tokens: Tokens | undefined;
    };

export interface PlanInput {
  readonly session: string;
  readonly program: string;
  readonly history: readonly Event[];
  readonly recorded: readonly Event[];
  readonly prompt: string;
  readonly place: Place;
  readonly conversations: Conversations;
  readonly ids: Ids;
}

type Run = Omit<Extract<TurnPlan, { kind: 'run' }>, 'kind' | 'missing'>;

/**
 * Decides how a turn is begun, or gone on with when it was cut: what had happened is never done again. A turn whose
 * program had not begun to act is run from scratch.
 * @throws CommandError `command-conversation-lost`
 */
export async function planTurn(input: PlanInput): Promise<TurnPlan> {
  const facts = input.recorded.flatMap((event) => factOf(event, input.program));
  const first = facts[0];
  if (first === undefined) return { kind: 'run', missing: [], ...(await begin(input, input.prompt)) };
  if (facts.at(-1)?.state === 'ended') return { kind: 'over', missing: [], fact: undefined };
  // The last one: an earlier one stands for a conversation that never came to be.
  const current = facts.at(-1) ?? first;
  if (current.session !== input.session)
    return { kind: 'run', missing: [], ...(await inherit(input, current)) };
  const base = facts.find((fact) => fact.conversation === current.conversation)?.message ?? '';
  const tail = await input.conversations.tail(input.place, current.conversation, base);
  const recorded = recordedIn(input.recorded);
  const told = tail?.happened ?? [];
  const happened = input.conversations.align?.(told, recorded) ?? told;
  const { missing } = compare(happened, recorded);
  if (tail?.complete) {
    return { kind: 'over', missing, fact: { ...current, state: 'ended', message: tail.last } };
  }
  const acted =
    tail?.found === false || happened.length > 0 || recorded.calls.size > 0 || recorded.texts.length > 0;
  if (!acted) return { kind: 'run', missing, ...(await begin(input, input.prompt)) };
  const knowsPrompt = happened.some((effect) => effect.kind === 'prompt');
  const prompt = continuationPrompt(
    allCalls(happened, recorded).values(),
    knowsPrompt ? undefined : input.prompt,
  );
  if (tail === undefined) return { kind: 'run', missing, ...(await begin(input, prompt)) };
  const mode: RunMode = { kind: 'resume', conversation: current.conversation };
  return { kind: 'run', missing, mode, base, prompt, tokens: current.tokens };
}

/** A turn that was cut in another session and is gone on with in this fork: what the log has of it is done, nothing else is known. */
async function inherit(input: PlanInput, fact: NativeFact): Promise<Run> {
  const { place, conversations, recorded, ids } = input;
  const prompt = continuationPrompt(recordedIn(recorded).calls.values(), input.prompt);
  const tail = await conversations.tail(place, fact.conversation, fact.message);
  const message = (tail && placeIn(tail, recorded, conversations)) ?? fact.message;
  if (message === '') return beginNew(input, prompt);
  const mode = await conversations.branch(place, fact.conversation, message, ids);
  return { mode, base: message, prompt, tokens: fact.tokens };
}

/** From the conversation that the history names, or a new one. */
async function begin(input: PlanInput, prompt: string): Promise<Run> {
  const { place, conversations, ids } = input;
  const found = await latestFact(input);
  if (found === undefined) return beginNew(input, prompt);
  const { fact, tail, since } = found;
  // Turns that others ran since are not in the conversation.
  const text = fact.state === 'ended' && hasEffects(since) ? carriedConversation(since) + prompt : prompt;
  if (fact.session === input.session) {
    const mode: RunMode = { kind: 'resume', conversation: fact.conversation };
    return { mode, base: tail?.last ?? fact.message, prompt: text, tokens: fact.tokens };
  }
  const message = (tail && placeIn(tail, since, conversations)) ?? fact.message;
  if (message === '') return beginNew(input, prompt);
  const mode = await conversations.branch(place, fact.conversation, message, ids);
  return { mode, base: message, prompt: text, tokens: fact.tokens };
}

/** A conversation that begins; what was said before, by whomever, is carried on as text. */
export function beginNew({ conversations, history, ids }: PlanInput, prompt: string): Run {
  const conversation = conversations.choose(ids);
  const mode: RunMode = { kind: 'new', ...(conversation === undefined ? {} : { conversation }) };
  return { mode, base: '', prompt: carriedConversation(history) + prompt, tokens: undefined };
}

function placeIn(tail: Tail, since: readonly Event[], conversations: Conversations): string | undefined {
  const recorded = recordedIn(since);
  return placeOf(conversations.align?.(tail.happened, recorded) ?? tail.happened, recorded);
}

interface Found {
  readonly fact: NativeFact;
  /** What the conversation holds after the fact's message; read only when the fact does not end a turn. */
  readonly tail: Tail | undefined;
  readonly since: readonly Event[];
}

/** The newest fact about a conversation that exists: one that was only about to begin may never have come to be. */
async function latestFact(input: PlanInput): Promise<Found | undefined> {
  for (let index = input.history.length - 1; index >= 0; index -= 1) {
    const event = input.history[index];
    const fact = event && factOf(event, input.program)[0];
    if (fact === undefined) continue;
    const since = input.history.slice(index + 1);
    if (fact.state === 'ended') return { fact, tail: undefined, since };
    const tail = await input.conversations.tail(input.place, fact.conversation, fact.message);
    if (tail) return { fact, tail, since };
  }
  return undefined;
}

function hasEffects(events: readonly Event[]): boolean {
  return events.some(({ kind, body }) => kind === EventKind.EVENT_OUTPUT || body.case === 'tool');
}

function factOf(event: Event, program: string): readonly NativeFact[] {
  const fact = nativeFactOf(event);
  return fact?.program === program ? [fact] : [];
}
