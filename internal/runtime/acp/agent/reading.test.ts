import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { provesConversationLost, sayError } from './failures.ts';
import { MessageLines } from './message-lines.ts';
import { cut, oneLine, plainText } from './plain-text.ts';
import { TailRing } from './tail-ring.ts';
import { readUpdate } from './updates.ts';
import { readMessage } from './wire-message.ts';

const chunked = (text: string, sizes: readonly number[]): Buffer[] => {
  const chunks: Buffer[] = [];
  let rest = Buffer.from(text);
  for (let i = 0; rest.length > 0; i += 1) {
    const size = Math.max(1, sizes[i % sizes.length] ?? 1);
    chunks.push(rest.subarray(0, size));
    rest = rest.subarray(size);
  }
  return chunks;
};
const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });

describe('lines of an agent', () => {
  it('are the same however they are cut, and long ones are told once', () => {
    const line = fc.string({ unit: fc.constantFrom('a', 'é', '{', ' '), maxLength: 12 });
    fc.assert(
      fc.property(fc.array(line, { minLength: 1 }), sizes, (lines, pieces) => {
        const reader = new MessageLines(10);
        const got = chunked(`${lines.join('\n')}\n`, pieces).flatMap((chunk) => [...reader.push(chunk)]);
        const wanted = lines.map((text) =>
          Buffer.byteLength(text) <= 10
            ? { kind: 'line', text }
            : expect.objectContaining({ kind: 'too-long' }),
        );
        expect(got).toEqual(wanted);
      }),
    );
  });

  it.each([
    ['', 'blank'],
    ['hello', 'stray'],
    ['[]', 'stray'],
    ['null', 'stray'],
    ['{"id":1,"result":1}', 'stray'],
    ['{"jsonrpc":"2.0"}', 'stray'],
    ['{"jsonrpc":"2.0","id":1,"result":null}', 'response'],
    ['{"jsonrpc":"2.0","id":null,"error":{}}', 'other'],
    ['{"jsonrpc":"2.0","id":"a","method":"x"}', 'request'],
    ['{"jsonrpc":"2.0","method":"session/update","params":{}}', 'update'],
    ['{"jsonrpc":"2.0","method":"x"}', 'other'],
  ])('%s is %s', (line, kind) => {
    expect(readMessage(line).kind).toBe(kind);
  });

  it('of any form never throw, and neither do updates', () => {
    fc.assert(fc.property(fc.string(), (line) => void readMessage(line)));
    const kinds = fc.constantFrom(
      'tool_call',
      'plan',
      'agent_message_chunk',
      'notice',
      'current_mode_update',
    );
    const update = fc.record({
      sessionUpdate: kinds,
      content: fc.anything(),
      entries: fc.anything(),
      toolCallId: fc.anything(),
      title: fc.anything(),
      rawInput: fc.jsonValue(),
    });
    fc.assert(fc.property(fc.oneof(update, fc.anything()), (value) => void readUpdate(value)));
  });
});

describe('a ring', () => {
  it('holds the end of what went in', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('a', 'b', 'é') }), sizes, (text, pieces) => {
        const ring = new TailRing(8);
        for (const chunk of chunked(text, pieces)) ring.push(chunk);
        expect(text.endsWith(ring.text())).toBe(true);
        expect(Buffer.byteLength(ring.text())).toBeGreaterThan(Math.min(Buffer.byteLength(text), 8) - 2);
        expect(ring.truncated).toBe(Buffer.byteLength(text) > 8);
      }),
    );
  });
});

describe('text of an agent', () => {
  it('has no control sequences left', () => {
    expect(
      plainText('a\u001b[31mred\u001b[0m\u001b]0;t\u0007\u001b]8;;x\u001b\\b\r\nc\td\u009b1m\u0000'),
    ).toBe('aredb\nc\td1m');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(plainText(text)).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
      }),
    );
  });

  it('is cut to whole characters', () => {
    expect(oneLine(' a\n b\tc ', 10)).toBe('a b c');
    expect(cut('abcdef', 4)).toBe('abc…');
    expect(cut('ab😀cd', 4)).toBe('ab…');
  });
});

describe('whether a conversation is lost', () => {
  it.each([
    [-32_002, 'Resource not found', undefined],
    [-32_603, 'Internal error', { details: 'Session not found' }],
    [-32_603, 'No conversation found with session ID: 4536e4bc', undefined],
    [-32_603, 'Internal error: Invalid session identifier "4536".', undefined],
    [-32_603, 'No previous sessions found for this project.', undefined],
    [-32_602, 'Thread 01a22cd3-89c6 not found', undefined],
    [-32_602, 'unknown session', undefined],
    [-32_602, 'Session "abc" does not exist', undefined],
  ])('%i %s proves it', (code, message, data) => {
    expect(provesConversationLost({ code, message, data })).toBe(true);
  });

  it.each([
    [-32_601, '"Method not found": session/load', { method: 'session/load' }],
    [-32_603, 'Internal error: service failure', { service: 'session' }],
    [-32_603, 'model "x" not found', undefined],
    [-32_603, 'the session could not be opened: disk full', undefined],
    [-32_002, 'Resource not found', { details: 'mcp.json' }],
    [-32_000, 'Authentication required', undefined],
  ])('%i %s proves nothing', (code, message, data) => {
    expect(provesConversationLost({ code, message, data })).toBe(false);
  });

  it('is said with the details that agents put aside', () => {
    const error = { code: -32_603, message: 'Internal error', data: { details: 'no key' } };
    expect(sayError(error)).toBe('Internal error: no key (code -32603)');
  });
});
