import { GcError } from '../platform/errors.ts';
import { fastText } from './fast-text.ts';
import { type Event, EventSchema } from './generated/agentsessions/v1/common_pb.ts';
import { eventJson } from './hash-chain.ts';
import { normalizeEvent } from './normalize-event.ts';
import { fromBinary, toBinary } from './protobuf.ts';

/** An event as a log stores and hashes it. */
export interface EncodedEvent {
  /** Normalized. */
  readonly event: Event;
  /** Its canonical JSON, what `chainHash` takes. */
  readonly json: string;
  readonly bytes: Uint8Array;
}

/**
 * Normalizes and encodes an event, once, before anything is written: an event whose stored bytes would read back as
 * something else is refused here.
 * @throws GcError `not-canonical`
 */
export function encodeEvent(event: Event): EncodedEvent {
  const text = fastText(event);
  // Such an event is normal already, and reads back as it is.
  return text ? { event, ...text } : encodeAnyEvent(event);
}

/** The general way, for every kind of event. @throws GcError `not-canonical` */
export function encodeAnyEvent(event: Event): EncodedEvent {
  const normal = normalizeEvent(event);
  const json = eventJson(normal);
  try {
    const bytes = toBinary(EventSchema, normal, { writeUnknownFields: false });
    const read = fromBinary(EventSchema, bytes);
    if (eventJson(read) === json) return { event: read, json, bytes };
  } catch (error) {
    throw new GcError('not-canonical', 'the event cannot be stored as it is', { cause: error });
  }
  throw new GcError('not-canonical', 'the event reads back as another one');
}
