import type { Agent, City, SourcePosition } from '../city.ts';
import type { ValuePath } from '../document/source-document.ts';
import type { AgentEntry } from './draft.ts';
import { placeOf } from './entry.ts';

/** An agent with the place it was written at. */
export interface BuiltAgent {
  readonly agent: Agent;
  readonly entry: AgentEntry;
}

export type CheckedCity = Pick<
  City,
  'root' | 'workspace' | 'providers' | 'agentDefaults' | 'rigs' | 'layers'
>;

/** Where one of an agent's values stands, or the agent itself. */
export function place({ entry }: BuiltAgent, ...keys: ValuePath): SourcePosition {
  return placeOf(entry, keys, keys.length > 0 ? 'value' : 'key');
}
