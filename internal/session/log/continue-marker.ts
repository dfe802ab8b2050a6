import { cityFact, cityFactOf } from '../../protocol/events.ts';
import type { Event } from '../../protocol/generated/agentsessions/v1/common_pb.ts';

/** What a log starts with that carries on an older conversation: where that one is, and how much of it counts. */
export interface ContinuedFrom {
  readonly source: string;
  /** The last record of the source that belongs to this conversation. */
  readonly seq: number;
  /** Turns that were carried along, those of older sources included. */
  readonly turns: number;
}

export const continuedFact = ({ source, seq, turns }: ContinuedFrom): Event =>
  cityFact({ continued: { source, seq, turns } });

/** `undefined` for every other event, and for a marker that says nothing usable. */
export function continuedOf(event: Event): ContinuedFrom | undefined {
  const marker = cityFactOf(event)?.['continued'];
  if (typeof marker !== 'object' || marker === null || Array.isArray(marker)) return undefined;
  const { source, seq, turns } = marker;
  if (typeof source !== 'string' || source === '' || !isCount(seq)) return undefined;
  return { source, seq, turns: isCount(turns) ? turns : 0 };
}

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
