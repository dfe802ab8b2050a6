import fc from 'fast-check';
import {
  type Event,
  EventKind,
  EventSchema,
  type Message,
  MessageSchema,
  PartSchema,
} from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create, type JsonObject, type MessageInitShape } from '../../../protocol/protobuf.ts';
import { arbitraryEvent } from '../../../protocol/testing/arbitrary-event.ts';

/** One append of a random log. */
export interface RandomAppend {
  readonly events: readonly Event[];
  readonly newIncarnation: boolean;
}

/** Numbers whose one spelling in ECMAScript is easily missed. */
const NUMBERS = [
  0,
  -0,
  1e21,
  1e-7,
  -1e21,
  123456789012345680000,
  1e20,
  0.000001,
  5e-324,
  1.7976931348623157e308,
  0.1,
  1 / 3,
  2 ** 53,
];
const STRANGE_TEXTS = [
  '',
  '\u2028\u2029',
  '😀 \u{10ffff}',
  '"\\/\b\f\n\r\t',
  '\u0000\u001f\u007f',
  'ﬀ',
  '\ufeff',
];

const number = fc.oneof(fc.constantFrom(...NUMBERS), fc.double({ noNaN: true, noDefaultInfinity: true }));
const text = fc.oneof(fc.constantFrom(...STRANGE_TEXTS), fc.string({ unit: 'binary' }));
const key = fc.oneof(text, fc.constantFrom('10', '9', 'constructor', '__proto__', '\u{1f600}', '\ufb33'));

const struct = fc.letrec<{ value: JsonObject[string]; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    number,
    text,
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc
    .array(fc.tuple(key, tie('value')), { maxLength: 4 })
    .map((entries): JsonObject => Object.fromEntries(entries)),
})).object;

const call = struct.map((args) =>
  create(EventSchema, {
    kind: EventKind.EVENT_TOOL_CALL,
    body: { case: 'tool', value: { id: 'c', tool: 't', args } },
  }),
);

/** Parts that are there and say nothing, and those that only a reasoning or a file has. */
const parts = fc.uint8Array({ maxLength: 9 }).chain((bytes) =>
  fc.subarray<MessageInitShape<typeof PartSchema>>(
    [
      { part: { case: 'text', value: {} } },
      { part: { case: 'data', value: { data: {} } } },
      { part: { case: undefined } },
      { part: { case: 'file', value: { mime: 'a/b', source: { case: 'bytes', value: bytes } } } },
      { part: { case: 'file', value: { source: { case: 'uri', value: 'file:x' }, digest: 'sha256:0' } } },
      {
        part: {
          case: 'reasoning',
          value: {
            ordinal: -1,
            opaque: { case: 'opaqueBytes', value: bytes },
            summary: [{ part: { case: 'text', value: { text: '\u2028' } } }],
          },
        },
      },
      { part: { case: 'reasoning', value: { opaque: { case: 'opaqueUri', value: 'x' } } } },
      { part: { case: 'toolCall', value: {} } },
      { part: { case: 'toolResult', value: { output: {} } } },
    ],
    { minLength: 1 },
  ),
);

const message: fc.Arbitrary<Message> = parts.map((each) =>
  create(MessageSchema, { parts: each.map((part) => create(PartSchema, part)) }),
);
const output = message.map((value) =>
  create(EventSchema, { kind: EventKind.EVENT_OUTPUT, body: { case: 'message', value } }),
);

/** Bodies of which only the presence says something, and numbers at their ends. */
const edges: fc.Arbitrary<Event> = fc.constantFrom(
  create(EventSchema, {}),
  create(EventSchema, { body: { case: 'message', value: {} } }),
  create(EventSchema, { body: { case: 'end', value: { error: {} } } }),
  create(EventSchema, {
    body: { case: 'end', value: { state: 'FAILED', error: { code: -1, description: 'x' } } },
  }),
  create(EventSchema, { body: { case: 'executionStart', value: { inputCount: 0n } } }),
  create(EventSchema, {
    body: { case: 'executionStart', value: { inputCount: -(2n ** 63n), resumeFromSeq: 2n ** 63n - 1n } },
  }),
  create(EventSchema, {
    body: { case: 'approvalResult', value: { approved: true, requestSeq: 9_007_199_254_740_993n } },
  }),
  create(EventSchema, { schemaVersion: -(2 ** 31), ts: {} }),
  create(EventSchema, { schemaVersion: 2 ** 31 - 1, ts: { seconds: -1n, nanos: 999_999_999 } }),
  create(EventSchema, { ts: { seconds: -62_135_596_800n, nanos: 1_000 } }),
  create(EventSchema, { ts: { seconds: 253_402_300_799n, nanos: 120_000_000 } }),
  create(EventSchema, { ts: { seconds: 951_782_399n, nanos: 0 }, actor: { issuer: 'i' } }),
);

const event = fc.oneof({ arbitrary: arbitraryEvent, weight: 4 }, call, output, edges);

/** Every kind of event, one after the other or in batches, over some incarnations. */
export const randomLog: fc.Arbitrary<readonly RandomAppend[]> = fc.array(
  fc.record({
    events: fc.array(event, { minLength: 1, maxLength: 3 }),
    newIncarnation: fc.boolean(),
  }),
  { minLength: 1, maxLength: 6 },
);
