import { cityFact, cityFactOf } from '../../../protocol/events.ts';
import type { Event } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { JsonObject } from '../../../protocol/protobuf.ts';

/** Which conversation of an agent program a session has. In the log it is the city fact `native`. */
export interface NativeFact {
  /** The session whose conversation it is: in a fork's log, those of its parent stand too. */
  readonly session: string;
  readonly program: string;
  readonly conversation: string;
  /** `starting`: the program is about to go on from `message`. `ended`: it did, and `message` is its last. */
  readonly state: 'starting' | 'ended';
  /** The program's id of the last message that is known, '' for none. */
  readonly message: string;
  /** What the conversation cost so far, where the program counts conversations and not turns. */
  readonly tokens?: Tokens;
}

export interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly reasoning: number;
}

export function nativeFact(fact: NativeFact): Event {
  const { session, program, conversation, state, message, tokens } = fact;
  const native: JsonObject = { session, program, conversation, state, message };
  return cityFact({ native: tokens === undefined ? native : { ...native, tokens: { ...tokens } } });
}

export function nativeFactOf(event: Event): NativeFact | undefined {
  const native = cityFactOf(event)?.['native'];
  if (typeof native !== 'object' || native === null || Array.isArray(native)) return undefined;
  const { session, program, conversation, state, message, tokens } = native;
  if (typeof session !== 'string' || typeof program !== 'string') return undefined;
  if (typeof conversation !== 'string' || conversation === '' || typeof message !== 'string')
    return undefined;
  if (state !== 'starting' && state !== 'ended') return undefined;
  const counted = tokensOf(tokens);
  return { session, program, conversation, state, message, ...(counted ? { tokens: counted } : {}) };
}

function tokensOf(value: unknown): Tokens | undefined {
  if (typeof value !== 'object' || value === null || !('input' in value)) return undefined;
  const { input, output, reasoning } = value as Record<string, unknown>;
  if (typeof input !== 'number' || typeof output !== 'number' || typeof reasoning !== 'number')
    return undefined;
  return { input, output, reasoning };
}
