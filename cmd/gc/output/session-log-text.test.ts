import { describe, expect, it } from 'vitest';
import { cityFact, event, executionEnd } from '../../../internal/protocol/events.ts';
import { type Event, EventKind } from '../../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import type { SessionSummary } from '../../../internal/session/log/summary.ts';
import type { TranscriptEntry } from '../../../internal/session/log/transcript.ts';
import { recordLine } from './session-log-record.ts';
import { renderLogTable, sizeText, TranscriptText, transcriptHead } from './session-log-text.ts';
import { createStyle } from './style.ts';
import { widthOf } from './width.ts';

const NOW = Date.UTC(2026, 0, 2);
const SCREEN = { columns: 80, now: NOW };
const PLAIN = createStyle(false);

const log = (uid: string, more: Partial<SessionSummary> = {}): SessionSummary => ({
  uid: `sess-${uid.padEnd(24, '0')}`,
  project: 'bright-lights',
  name: '',
  title: 'Rewrite the parser so that it survives unfinished input, then its tests',
  harness: 'claude',
  model: '',
  state: 'live',
  records: 12,
  turns: 2,
  bytes: 2_048,
  looked: 12,
  partial: false,
  startedAt: NOW - 7_200_000,
  lastActivityAt: NOW - 41_000,
  forkedFrom: undefined,
  continues: undefined,
  ...more,
});

describe('the list of logs', () => {
  it('fits 80 columns, with uids as short as is unique', () => {
    const logs = [log('3f2a91aa'), log('3f2a91ab', { partial: true, records: 90_000 }), log('7')];
    const lines = renderLogTable(
      logs,
      logs.map(({ uid }) => uid),
      SCREEN,
    )
      .trimEnd()
      .split('\n');
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(80);
    expect(lines.map((line) => line.split(' ')[0])).toEqual([
      'SESSION',
      'sess-3f2a91aa',
      'sess-3f2a91ab',
      'sess-70000000',
    ]);
    expect(lines[2]).toMatch(/live +2\+ +~15 MiB +41s/);
  });

  it.each([
    [0, '0 B'],
    [1_023, '1023 B'],
    [1_536, '1.5 KiB'],
    [20_000_000, '19 MiB'],
    [5 * 2 ** 40, '5120 GiB'],
  ])('says %d bytes as %s', (bytes, text) => {
    expect(sizeText(bytes)).toBe(text);
  });
});

describe('a transcript as text', () => {
  const text = (entries: readonly TranscriptEntry[], screen?: typeof SCREEN) => {
    const out = new TranscriptText(PLAIN, screen, false);
    return entries.map((entry) => out.entry(entry)).join('');
  };

  it('has blank lines between blocks and none between lines of what was done', () => {
    const call = { tool: 'Bash', what: 'rm x' };
    expect(
      text([
        { seq: 1, kind: 'question', text: 'one\n\ntwo\n' },
        { seq: 2, kind: 'tool', ...call, outcome: { kind: 'done' } },
        { seq: 3, kind: 'asks', ...call },
        { seq: 4, kind: 'decided', approved: true, by: 'ann', reason: 'fine' },
        { seq: 5, kind: 'decided', approved: false, by: '', reason: '' },
        { seq: 6, kind: 'tool', ...call, outcome: { kind: 'refused', why: 'denied' } },
        { seq: 7, kind: 'answer', text: 'so' },
        { seq: 8, kind: 'answer', text: 'be it' },
        { seq: 9, kind: 'trouble', text: 'the model is away' },
        { seq: 10, kind: 'fact', word: 'suspended', text: '', at: '' },
      ]),
    ).toBe(`> one
>
> two

  · Bash rm x
  ? Bash rm x: waits for approval
  ✓ approved by ann: fine
  ✗ refused
  ✗ Bash rm x: refused: denied

so

be it

  ! the model is away
  -- suspended
`);
  });

  it('keeps a line a line at a terminal, and lets no agent drive it', () => {
    const what = `echo \u001b]0;title\u0007${'long '.repeat(60)}\nnext`;
    const shown = text(
      [
        { seq: 1, kind: 'tool', tool: 'Ba\u001b[2Jsh', what, outcome: { kind: 'failed', why: 'x\ny' } },
        {
          seq: 2,
          kind: 'fact',
          word: 'nudged',
          text: `a\u0007b ${'c'.repeat(200)}`,
          at: '2026-01-01T00:00:00Z',
        },
        { seq: 3, kind: 'answer', text: 'a\u001b[31mb\u009bc' },
      ],
      SCREEN,
    );
    expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    expect(
      shown
        .split('\n')
        .map(widthOf)
        .every((width) => width <= 80),
    ).toBe(true);
    expect(shown.split('\n')).toHaveLength(5);
  });

  it('has a head that says what it is of', () => {
    const forkedFrom = { uid: 'sess-p', seq: 4 };
    expect(transcriptHead(log('3f', { name: 'parser', forkedFrom, partial: true }), PLAIN, SCREEN)).toBe(
      'parser: Rewrite the parser so that it survives unfinished input, then its tests\n' +
        'sess-3f0000000000000000000000 · project bright-lights · harness claude · fork of sess-p at 4\n' +
        'started 2h ago, last active 41s ago, 12 records, 2 turns at least\n',
    );
  });
});

describe('a record as a line', () => {
  const line = (record: Event, screen?: typeof SCREEN) =>
    recordLine({ seq: 7, prevHash: '', contentHash: '', fence: 1, event: record }, 0, screen);

  it('says its kind and its text, of any kind and without a time too', () => {
    expect(line(executionEnd('e1'))).toBe('     7  -  END               COMPLETED\n');
    expect(line(cityFact({ kind: 'woken', reason: 'a\u001b[1m person' }))).toBe(
      '     7  -  LIFECYCLE         woken a person\n',
    );
    const decided = { toolCallId: 'a', approved: true, reason: 'ok', requestSeq: 3n };
    expect(
      line(event('e1', EventKind.EVENT_APPROVAL_RESULT, { case: 'approvalResult', value: decided })),
    ).toBe('     7  -  APPROVAL_RESULT   call a approved ok\n');
    const later = 99 as EventKind;
    const usage = { model: 'm', inputTokens: 3n, outputTokens: 4n };
    expect(line(event('e1', EventKind.EVENT_USAGE, { case: 'usage', value: usage }))).toContain(
      'm in 3 out 4',
    );
    expect(line(event('e1', later, { case: 'model', value: { model: 'm' } }))).toBe(
      '     7  -  99                m\n',
    );
    expect(widthOf(line(cityFact({ kind: 'x', reason: 'y'.repeat(300) }), SCREEN).trimEnd())).toBe(80);
  });
});
