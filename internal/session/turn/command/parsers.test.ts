import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { claudeParser } from './claude-dialect.ts';
import { codexParser } from './codex-dialect.ts';
import type { ProgramEffect } from './dialect.ts';
import { LineCutter } from './line-cutter.ts';
import { parseAll, recordedLines, shortly } from './testing/recordings.ts';

const claude = (name: string) => shortly(parseAll(claudeParser(), recordedLines(`${name}.stream.jsonl`)));
const codex = (name: string) => shortly(parseAll(codexParser(1), recordedLines(`${name}.stream.jsonl`)));

describe('what real Claude Code prints', () => {
  it('a turn with a tool call', () => {
    expect(claude('claude-tool-call')).toEqual([
      'conversation',
      'call Bash {"command":"echo one > one.txt && cat one.txt","description":"scripted"}',
      'result one',
      'delta done: ',
      'delta one',
      'text done: one',
      'usage claude-opus-4-8[1m] 20 20',
      'end',
    ]);
  });

  it('calls that were not permitted are results with an error, and told once more at the end', () => {
    const told = claude('claude-denied').filter((line) => !line.startsWith('delta'));
    expect(told.slice(1, 3)).toEqual([
      'call Bash {"command":"touch denied.txt","description":"scripted"}',
      expect.stringMatching(/^error touch in .* was blocked/),
    ]);
    expect(told).toContain('denied Bash');
    expect(told.at(-1)).toBe('end');
  });

  it('an error of the model is a failure, not an answer', () => {
    expect(claude('claude-api-error')).toEqual(['conversation', 'end API Error: 400 scripted failure']);
  });

  it('a conversation that is gone is told from other failures', () => {
    expect(claude('claude-lost')).toEqual([
      'end lost No conversation found with session ID: 1d5cf6de-85e3-456a-80ec-dadce19f532b',
    ]);
  });

  it('what a helper agent says is no answer; what it does is told', () => {
    const entry = (block: object) =>
      JSON.stringify({
        type: 'assistant',
        uuid: 'u',
        parent_tool_use_id: 'toolu_1',
        message: { model: 'm', content: [block] },
      });
    const lines = [
      entry({ type: 'text', text: 'aside' }),
      entry({ type: 'tool_use', id: 't2', name: 'Read', input: { file: 'a' } }),
    ];
    expect(shortly(parseAll(claudeParser(), lines))).toEqual(['call Read {"file":"a"}']);
  });

  it('a command of the program itself answers in its last line', () => {
    const line = JSON.stringify({ type: 'result', subtype: 'success', is_error: false, result: 'compacted' });
    expect(shortly(claudeParser().line(line))).toEqual(['text compacted', 'end']);
  });

  it('pictures in a result are kept as files', () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAEC' } };
    const result = { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'a' }, image] };
    const line = JSON.stringify({ type: 'user', uuid: 'u', message: { content: [result] } });
    const [effect] = claudeParser().line(line);
    expect(effect).toMatchObject({
      kind: 'result',
      content: [
        { part: { case: 'text', value: { text: 'a' } } },
        {
          part: {
            case: 'file',
            value: { mime: 'image/png', source: { case: 'bytes', value: Buffer.from([0, 1, 2]) } },
          },
        },
      ],
    });
  });
});

describe('what real Codex prints', () => {
  it('a turn with a tool call', () => {
    expect(codex('codex-tool-call')).toEqual([
      'conversation',
      `call command_execution {"command":"/bin/bash -lc 'echo one > cone.txt && cat cone.txt'"}`,
      'result one',
      'text done: Chunk ID: 3867ae',
      'usage  20 20',
      'end',
    ]);
  });

  it('a failure of the model', () => {
    expect(codex('codex-api-error')).toEqual([
      'conversation',
      'end {"error":{"message":"scripted failure"}}',
    ]);
  });

  it('files changed and tools of servers, whose call is told with their result alone', () => {
    const item = (fields: object) =>
      JSON.stringify({ type: 'item.completed', item: { id: 'item_1', ...fields } });
    const change = { type: 'file_change', changes: [{ path: 'a', kind: 'add' }], status: 'completed' };
    const tool = { type: 'mcp_tool_call', server: 's', tool: 't', arguments: { x: 1 }, status: 'failed' };
    expect(shortly(codexParser(1).line(item(change)))).toEqual(
      ['call file_change {"changes":[{"path":"a","kind":"add"}]}', 'result'].map((line) =>
        expect.stringContaining(line),
      ),
    );
    const failed = codexParser(1).line(item({ ...tool, error: { message: 'no' } }));
    expect(shortly(failed)).toEqual([expect.stringMatching(/^call s\.t /), 'error no']);
  });

  it('the same number in another run is another call', () => {
    const lines = recordedLines('codex-tool-call.stream.jsonl');
    const ids = (run: number) =>
      parseAll(codexParser(run), lines).flatMap((effect) => (effect.kind === 'call' ? [effect.id] : []));
    expect(ids(1)).not.toEqual(ids(2));
  });
});

describe.each([
  ['claude', () => claudeParser()],
  ['codex', () => codexParser(1)],
] as const)('%s: output of any form', (_, parser) => {
  it('never throws, and gives texts that a log can hold', () => {
    const types = fc.constantFrom(
      'assistant',
      'user',
      'result',
      'system',
      'item.started',
      'item.completed',
      'turn.failed',
    );
    const entry = fc.record({
      type: types,
      message: fc.jsonValue(),
      item: fc.jsonValue(),
      errors: fc.jsonValue(),
    });
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          entry.map((value) => JSON.stringify(value)),
        ),
        (line) => {
          for (const effect of parser().line(line)) expect(isWhole(effect)).toBe(true);
        },
      ),
    );
  });

  it('JSON that is broken is told, other noise is not', () => {
    expect(parser().line('{"type":')).toEqual([{ kind: 'broken' }]);
    expect(parser().line('Debugger attached.')).toEqual([]);
    expect(parser().line('[1,2]')).toEqual([]);
  });

  it('halves of characters are replaced', () => {
    const line =
      '{"type":"assistant","uuid":"u","message":{"model":"m","content":[{"type":"text","text":"a\\ud800b"}]}}';
    for (const effect of parser().line(line)) expect(effect).toMatchObject({ text: 'a\ufffdb' });
  });
});

const isWhole = (effect: ProgramEffect): boolean =>
  !/[\ud800-\udfff]/.test(JSON.stringify(shortly([effect])).replace(/[\ud800-\udbff][\udc00-\udfff]/g, ''));

it('lines are the same however the bytes come', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme' }).map((s) => s.replace(/[\r\n]/g, ''))),
      fc.array(fc.nat(20)),
      (lines, cuts) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        const cutter = new LineCutter(1_000_000);
        const found: string[] = [];
        let from = 0;
        for (const cut of [...cuts, bytes.length]) {
          const pushed = cutter.push(bytes.subarray(from, from + cut));
          if (pushed !== 'too-long') found.push(...pushed);
          from += cut;
        }
        expect(found).toEqual(lines);
        expect(cutter.rest()).toBe('');
      },
    ),
  );
});
