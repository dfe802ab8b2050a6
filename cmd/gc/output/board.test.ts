import { describe, expect, it } from 'vitest';
import { ago, aSession, aStatus, COLOUR, NOW, PLAIN } from '../testing/status-fixtures.ts';
import { type BoardOptions, renderBoard } from './board.ts';
import { widthOf } from './width.ts';

const at = (columns: number, over: Partial<BoardOptions> = {}): BoardOptions => ({
  now: NOW,
  columns,
  home: '/home/u',
  style: PLAIN,
  gc: 'gc',
  ...over,
});

const busy = aStatus([
  aSession('mayor', { detail: 'City is up and idle. No pending work.' }),
  aSession('proj/reviewer', { condition: 'waits', since: ago(120_000), detail: 'permission: Bash(touch x)' }),
  aSession('proj/worker-1', { condition: 'working', since: ago(41_000), detail: 'edits src/parser.ts' }),
  aSession('proj/worker-2', {
    condition: 'backing-off',
    last_exit: { code: 1, at: ago(5_000), last_lines: 'hello\nusage limit until 14:00\n' },
    next_try_at: new Date(NOW + 7_400).toISOString(),
  }),
  aSession('proj/worker-3', {
    condition: 'asleep',
    since: ago(3_600_000),
    wanted: false,
    detail: 'waits on bead p-19',
  }),
]);

describe('the board at 120 columns', () => {
  it('is one screen that answers who works, who waits and who is stuck', () => {
    expect(renderBoard(busy, at(120))).toBe(
      [
        'bright-lights  ~/bright-lights         tmux (socket bright-lights) · supervised, pid 4121 · up 3h',
        '3 of 4 running · 1 waits for you · 1 backing off',
        '',
        '  mayor           idle          12m   City is up and idle. No pending work.',
        '  proj/reviewer   waits          2m   permission: Bash(touch x)   gc session attach proj/reviewer',
        '  proj/worker-1   working       41s   edits src/parser.ts',
        '  proj/worker-2   backing off         exit 1 "usage limit until 14:00"   next try 8s · gc explain proj/worker-2',
        '  proj/worker-3   asleep         1h   waits on bead p-19',
        '',
        'config city.yaml ok (3f2a91c) · gc events --follow',
        '',
      ].join('\n'),
    );
  });
});

describe('the board at 80 columns', () => {
  const lines = renderBoard(busy, at(80)).split('\n');

  it('fits', () => {
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(80);
  });

  it('puts a command that does not fit beside the facts below them, whole', () => {
    const row = lines.findIndex((line) => line.includes('backing off  '));
    expect(lines[row]).toContain('exit 1 "usage limit until 14:00"');
    expect(lines[row + 1]?.trim()).toBe('next try 8s · gc explain proj/worker-2');
  });

  it('writes the head on two lines when it is too long for one', () => {
    expect(lines.slice(0, 2)).toEqual([
      'bright-lights  ~/bright-lights',
      '  tmux (socket bright-lights) · supervised, pid 4121 · up 3h',
    ]);
  });

  it('cuts long facts, not names of commands', () => {
    const status = aStatus([aSession('mayor', { detail: 'x'.repeat(300) })]);
    const text = renderBoard(status, at(80));
    expect(text).toContain('xxx…');
    for (const line of text.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(80);
  });

  it('counts wide characters as wide', () => {
    const status = aStatus([
      aSession('市长', { detail: '城市已启动'.repeat(20) }),
      aSession('worker', { detail: 'ok' }),
    ]);
    const rows = renderBoard(status, at(80)).split('\n').slice(4, 6);
    for (const row of rows) expect(widthOf(row)).toBeLessThanOrEqual(80);
    expect(rows[1]).toMatch(/^ {2}worker {3}idle/);
    expect(rows[0]).toMatch(/^ {2}市长 {5}idle/);
  });
});

describe('colour', () => {
  it('only adds', () => {
    const coloured = renderBoard(busy, at(100, { style: COLOUR }));
    expect(coloured).toContain('\x1b[32m');
    expect(coloured.replace(/\x1b\[\d+m/g, '')).toBe(renderBoard(busy, at(100)));
  });
});

describe('trouble', () => {
  it('shows an edit that is not in force with what keeps running', () => {
    const status = aStatus([aSession('mayor')], {
      config: { file: '/c/city.yaml', revision: 'abcdef0123', error: 'city.yaml:14:5  unknown key "promt"' },
    });
    expect(renderBoard(status, at(100))).toContain(
      'config city.yaml is not in force; the last good config (abcdef0) keeps running:\n' +
        '  city.yaml:14:5  unknown key "promt"\ngc config show --validate\n',
    );
  });

  it('REC-18 says what could not be told and never counts it as stopped', () => {
    const status = aStatus([aSession('a'), aSession('b', { condition: 'unknown' })]);
    const text = renderBoard(status, at(100));
    expect(text).toContain('1 of 2 running · 1 could not be told');
    expect(text).toContain('gc explain b');
  });

  it('says that nothing runs it and what to type', () => {
    const status = aStatus([], { controller: { running: false } });
    const text = renderBoard(status, at(100, { gc: 'npx gc' }));
    expect(text).toContain('no controller');
    expect(text).toContain('0 of 0 running · no sessions');
    expect(text).toContain('npx gc start');
  });

  it('never lets an agent drive the terminal', () => {
    const status = aStatus([aSession('mayor', { detail: 'a\x1b[2Jb\r\nc\x07\x1b]0;title\x07' })]);
    expect(renderBoard(status, at(100))).toContain('   ab c\n');
  });

  it('offers a way out of quarantine', () => {
    const status = aStatus([
      aSession('w', {
        condition: 'quarantined',
        detail: '5 crashes in 1h',
        next_try_at: new Date(NOW + 300_000).toISOString(),
      }),
    ]);
    expect(renderBoard(status, at(120))).toContain('5 crashes in 1h   next try 5m · gc session wake w');
  });
});
