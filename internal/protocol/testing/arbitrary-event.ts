import fc from 'fast-check';
import type { EventBody } from '../events.ts';
import {
  type Event,
  EventSchema,
  type Message,
  MessageSchema,
  type Part,
  PartSchema,
  type ToolCall,
  ToolCallSchema,
  type ToolResult,
  ToolResultSchema,
} from '../generated/agentsessions/v1/common_pb.ts';
import { create, type JsonObject } from '../protobuf.ts';

/** Texts as they come: any Unicode, what JSON has to escape, long ones; never half a character. */
const text = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', '"\\\n\u2028', '\u0000', '😀', 'x'.repeat(200)),
);
const count = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.constant(0n));
const int = fc.oneof(fc.integer(), fc.constant(0));
const bytes = fc.uint8Array({ maxLength: 20 });
const struct = fc.option(
  fc.dictionary(text, fc.jsonValue({ maxDepth: 2 })).map((value) => value as JsonObject),
  { nil: undefined },
);
const texts = fc.dictionary(text, text, { maxKeys: 4 });

const toolCall: fc.Arbitrary<ToolCall> = fc
  .record({
    id: text,
    tool: text,
    args: struct,
    mediation: fc.integer({ min: 0, max: 3 }),
    idempotencyKey: text,
  })
  .map(({ args, ...rest }) => create(ToolCallSchema, { ...rest, ...(args ? { args } : {}) }));

const toolResult = (parts: fc.Arbitrary<Part[]>): fc.Arbitrary<ToolResult> =>
  fc
    .record({
      id: text,
      output: struct,
      outputUri: text,
      isError: fc.boolean(),
      error: text,
      outputDigest: text,
      content: parts,
      code: fc.integer({ min: 0, max: 2 }),
      approvalRequestSeq: count,
      approvalDecisionSeq: count,
    })
    .map(({ output, ...rest }) => create(ToolResultSchema, { ...rest, ...(output ? { output } : {}) }));

const { part } = fc.letrec<{ part: Part }>((tie) => {
  const parts = fc.array(tie('part'), { maxLength: 2 });
  return {
    part: fc.oneof(
      { depthSize: 'small' },
      text.map((value) => create(PartSchema, { part: { case: 'text', value: { text: value } } })),
      struct.map((data) => create(PartSchema, { part: { case: 'data', value: data ? { data } : {} } })),
      fc
        .record({ mime: text, name: text, digest: text, uri: text, bytes, kind: fc.constantFrom(0, 1, 2) })
        .map(({ uri, bytes: raw, kind, ...rest }) => {
          const source =
            kind === 0
              ? { case: undefined }
              : kind === 1
                ? { case: 'uri' as const, value: uri }
                : { case: 'bytes' as const, value: raw };
          return create(PartSchema, { part: { case: 'file', value: { ...rest, source } } });
        }),
      fc
        .record({
          provider: text,
          modelId: text,
          itemId: text,
          ordinal: int,
          validityScope: text,
          opaqueDigest: text,
          opaque: bytes,
          summary: parts,
        })
        .map(({ opaque, ...rest }) =>
          create(PartSchema, {
            part: { case: 'reasoning', value: { ...rest, opaque: { case: 'opaqueBytes', value: opaque } } },
          }),
        ),
      toolCall.map((value) => create(PartSchema, { part: { case: 'toolCall', value } })),
      toolResult(parts).map((value) => create(PartSchema, { part: { case: 'toolResult', value } })),
    ),
  };
});

const message: fc.Arbitrary<Message> = fc
  .record({ role: text, parts: fc.array(part, { maxLength: 3 }) })
  .map((value) => create(MessageSchema, value));
const textsOnly: fc.Arbitrary<Message> = fc
  .record({ role: text, parts: fc.array(text, { maxLength: 3 }) })
  .map(({ role, parts }) =>
    create(MessageSchema, {
      role,
      parts: parts.map((value) => ({ part: { case: 'text' as const, value: { text: value } } })),
    }),
  );

const body: fc.Arbitrary<EventBody | { readonly case: undefined }> = fc.oneof(
  fc.oneof(message, textsOnly).map((value) => ({ case: 'message' as const, value })),
  fc
    .record({ model: text, params: texts, inputHash: text, id: text })
    .map((value) => ({ case: 'model' as const, value })),
  toolCall.map((value) => ({ case: 'tool' as const, value })),
  toolResult(fc.array(part, { maxLength: 2 })).map((value) => ({ case: 'result' as const, value })),
  fc.record({ toolCallId: text, reason: text }).map((value) => ({ case: 'approval' as const, value })),
  fc
    .record({ toolCallId: text, approved: fc.boolean(), reason: text, requestSeq: count })
    .map((value) => ({ case: 'approvalResult' as const, value })),
  fc
    .record({ model: text, inputTokens: count, outputTokens: count, reasoningTokens: count })
    .map((value) => ({ case: 'usage' as const, value })),
  fc
    .record({
      kind: fc.integer({ min: 0, max: 5 }),
      detail: text,
      snapshotLocal: text,
      snapshotExternalUri: text,
      snapshotMemory: fc.boolean(),
      snapshotSealed: fc.boolean(),
    })
    .map((value) => ({ case: 'lifecycle' as const, value })),
  fc.record({ state: text }).map((value) => ({ case: 'end' as const, value })),
  fc.record({ code: int, description: text }).map((value) => ({ case: 'error' as const, value })),
  fc
    .record({ config: bytes, resumeFromSeq: count, harness: text, harnessVersion: text, inputCount: count })
    .map((value) => ({ case: 'executionStart' as const, value })),
  fc.constant({ case: undefined }),
);

/** Any event that a log could be given, well formed, with or without time and actor. */
export const arbitraryEvent: fc.Arbitrary<Event> = fc
  .record({
    executionId: text,
    schemaVersion: fc.oneof(fc.constant(0), int),
    kind: fc.integer({ min: 0, max: 12 }),
    body,
    ts: fc.option(
      fc.record({
        seconds: fc.bigInt({ min: 0n, max: 4_000_000_000n }),
        nanos: fc.constantFrom(0, 5_000_000, 123_456_789),
      }),
      { nil: undefined },
    ),
    actor: fc.option(fc.record({ principal: text, issuer: text, subject: text }), { nil: undefined }),
  })
  .map(({ ts, actor, ...rest }) =>
    create(EventSchema, { ...rest, ...(ts ? { ts } : {}), ...(actor ? { actor } : {}) }),
  );
