import {
  type Event,
  EventSchema,
  ModelCallSchema,
  type Part,
} from './generated/agentsessions/v1/common_pb.ts';
import { create } from './protobuf.ts';

/**
 * The event as a log keeps it: what passes between harness and host only is gone, and what says nothing is absent. Hashes
 * are over this form, so every event goes through here once, before it is appended.
 * Source: agentsessions.v1, "what is hashed is the event after the domain round trip".
 */
export function normalizeEvent(event: Event): Event {
  const { actor, ts } = event;
  const says = actor !== undefined && (actor.principal !== '' || actor.issuer !== '' || actor.subject !== '');
  return create(EventSchema, {
    executionId: event.executionId,
    schemaVersion: event.schemaVersion,
    kind: event.kind,
    body: normalBody(event.body),
    ...(ts === undefined ? {} : { ts }),
    ...(actor !== undefined && says ? { actor } : {}),
  });
}

function normalBody(body: Event['body']): Event['body'] {
  switch (body.case) {
    case 'model': {
      const { model, params, inputHash, id } = body.value;
      return { case: 'model', value: create(ModelCallSchema, { model, params, inputHash, id }) };
    }
    case 'message':
      return { case: 'message', value: { ...body.value, parts: body.value.parts.map(normalPart) } };
    case 'result':
      return { case: 'result', value: { ...body.value, content: body.value.content.map(normalPart) } };
    default:
      return body;
  }
}

/** A source that is there but empty counts as none. */
function normalPart(part: Part): Part {
  switch (part.part.case) {
    case 'file': {
      const file = part.part.value;
      if (file.source.case === undefined || file.source.value.length > 0) return part;
      return { ...part, part: { case: 'file', value: { ...file, source: { case: undefined } } } };
    }
    case 'reasoning': {
      const reasoning = part.part.value;
      const summary = reasoning.summary.map(normalPart);
      const { opaque } = reasoning;
      const empty = opaque.case !== undefined && opaque.value.length === 0;
      const kept = empty ? { case: undefined } : opaque;
      return { ...part, part: { case: 'reasoning', value: { ...reasoning, summary, opaque: kept } } };
    }
    default:
      return part;
  }
}
