import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  encodeMessage,
  LineSplitter,
  MAX_LINE_BYTES,
  negotiate,
  OLDEST_PROTOCOL_VERSION,
  PROTOCOL_VERSION,
  parseClientMessage,
  parseHostMessage,
} from './protocol.ts';

const name = 'mayor-1';
const size = { columns: 80, rows: 24 };

describe('protocol', () => {
  it('reads what it writes', () => {
    const launch = { argv: ['a', 'ü'], cwd: '/', env: { A: 'b\nc' }, pty: true, columns: 80, rows: 24 };
    for (const message of [
      { t: 'hello', version: 1, oldest: 0, city: 'c' },
      { t: 'request', id: 1, request: { op: 'create', name, launch } },
      { t: 'request', id: 2, request: { op: 'capture', name, lines: -1 } },
      { t: 'request', id: 3, request: { op: 'paste', name, text: '\u001b[x\u0000', done: false } },
      { t: 'attach', name, size },
      { t: 'input', data: 'AAA=' },
    ] as const) {
      expect(parseClientMessage(encodeMessage(message).trimEnd())).toEqual(message);
    }
    for (const message of [
      { t: 'welcome', version: 1, incarnation: 'x', pid: 4 },
      { t: 'event', event: { kind: 'exited', name, exit: { signal: 'SIGKILL' }, lastLines: 'x' } },
      { t: 'failed', id: 1, code: 'a', message: 'b', next: 'c' },
      { t: 'ended', reason: 'exited' },
    ] as const) {
      expect(parseHostMessage(encodeMessage(message).trimEnd())).toEqual(message);
    }
  });

  it.each([
    ['', /JSON/],
    ['null', /message must be an object/],
    ['[]', /message must be an object/],
    ['{"t":"nonsense"}', /message\.t must be one of/],
    ['{"t":"constructor"}', /message\.t must be one of/],
    ['{"t":"request","id":-1,"request":{"op":"list"}}', /message\.id/],
    ['{"t":"request","id":1,"request":{"op":"kill","name":"a","graceMs":"5"}}', /graceMs/],
    ['{"t":"attach","name":"a","size":{"columns":0,"rows":24}}', /columns/],
    ['{"t":"input","data":5}', /message\.data must be a string/],
  ])('names what is wrong in %s', (line, wrong) => {
    expect(() => parseClientMessage(line)).toThrow(wrong);
  });

  it.each(['', '.', '..', '../x', 'a/b', 'a b', 'a:b', 'a.b', 'ä', '\u{1f600}', 'a\n', 'x'.repeat(201)])(
    'refuses the session name %j',
    (bad) => {
      const line = JSON.stringify({ t: 'request', id: 1, request: { op: 'inspect', name: bad } });
      expect(() => parseClientMessage(line)).toThrow(/session name/);
    },
  );

  it('ignores keys that a newer peer may add', () => {
    const line = '{"t":"hello","version":7,"oldest":1,"city":"c","colour":"blue"}';
    expect(parseClientMessage(line)).toEqual({ t: 'hello', version: 7, oldest: 1, city: 'c' });
  });

  it('speaks the highest version that both know, and the one before its own', () => {
    const ours = { version: 5, oldest: 4 };
    expect(negotiate({ version: 5, oldest: 4 }, ours)).toBe(5);
    expect(negotiate({ version: 6, oldest: 5 }, ours)).toBe(5);
    expect(negotiate({ version: 4, oldest: 3 }, ours)).toBe(4);
    expect(negotiate({ version: 3, oldest: 2 }, ours)).toBeUndefined();
    expect(negotiate({ version: 7, oldest: 6 }, ours)).toBeUndefined();
    expect(PROTOCOL_VERSION - OLDEST_PROTOCOL_VERSION).toBe(1);
  });

  it('finds the same lines however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme' }).map((s) => s.replaceAll('\n', ' '))),
        fc.array(fc.nat(40)),
        (lines, cuts) => {
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
          const splitter = new LineSplitter();
          const found: string[] = [];
          let from = 0;
          for (const cut of [...cuts, bytes.length]) {
            found.push(...splitter.push(bytes.subarray(from, from + cut)));
            from += cut;
          }
          expect(found).toEqual(lines);
        },
      ),
    );
  });

  it('does not gather a line without end', () => {
    const splitter = new LineSplitter();
    const piece = Buffer.alloc(1_048_576, 0x61);
    expect(() => {
      for (let sent = 0; sent <= MAX_LINE_BYTES; sent += piece.length) splitter.push(piece);
    }).toThrow(/at most/);
  });
});
