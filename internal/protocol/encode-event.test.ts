import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, protoJson } from './canonical-json.ts';
import { encodeAnyEvent, encodeEvent } from './encode-event.ts';
import { output, textMessage, toolCall } from './events.ts';
import { fastCanonical } from './fast-canonical.ts';
import { fastText } from './fast-text.ts';
import { type Event, EventSchema, ToolCallSchema } from './generated/agentsessions/v1/common_pb.ts';
import { normalizeEvent } from './normalize-event.ts';
import { create } from './protobuf.ts';
import { arbitraryEvent } from './testing/arbitrary-event.ts';

const RUNS = { numRuns: 400 };

describe('encoding an event for a log', () => {
  it('gives the same JSON in one pass as in two', () => {
    fc.assert(
      fc.property(arbitraryEvent, (event) => {
        const normal = normalizeEvent(event);
        expect(fastCanonical(EventSchema, normal)).toBe(canonicalJson(protoJson(EventSchema, normal)));
      }),
      RUNS,
    );
  });

  it('gives the same for a message of one text in one go, which is normal already', () => {
    const texts = ['x', 'häß😀', '"\\\n', '\u0000', 'y'.repeat(40_000), 'é'.repeat(70_000)];
    for (const text of texts) expect(fastText(output('e1', textMessage('user', text)))).toBeDefined();
    const same = (event: Event) => {
      const fast = fastText(event);
      if (!fast) return;
      const { json, bytes } = encodeAnyEvent(event);
      expect(fast.json).toBe(json);
      expect(Buffer.from(fast.bytes).equals(bytes)).toBe(true);
    };
    for (const text of texts) same(output('e1', textMessage('user', text)));
    fc.assert(fc.property(arbitraryEvent, same), RUNS);
  });

  it('refuses what JSON does not have, and what would read back as something else', () => {
    const number = (value: number) => toolCall('e', create(ToolCallSchema, { args: { value } }));
    const refused = expect.objectContaining({ code: 'not-canonical' });
    expect(() => encodeEvent(number(Number.NaN))).toThrow(refused);
    expect(() => encodeEvent(number(Number.POSITIVE_INFINITY))).toThrow(refused);
    expect(() => encodeEvent(output('e', textMessage('user', 'half \ud800 of it')))).toThrow(refused);
    expect(() => encodeEvent(output('\udc00', textMessage('user', '')))).toThrow(refused);
    expect(() => encodeEvent(create(EventSchema, { schemaVersion: 2 ** 40 }))).toThrow(refused);
  });
});
