import { describe, expect, it } from 'vitest';
import { aSession, aStatus, PLAIN } from '../testing/status-fixtures.ts';
import {
  countText,
  nameColumnsOf,
  nextCommands,
  pictureOf,
  type StartRow,
  startHeader,
  startLines,
} from './progress.ts';
import { widthOf } from './width.ts';

const style = { columns: 80, style: PLAIN, gc: 'gc' };
const lines = (rows: readonly StartRow[], columns = 80) =>
  rows.flatMap((row) => startLines(row, nameColumnsOf(rows, columns), 1_200, { ...style, columns }));

describe('a start that goes well', () => {
  const status = aStatus(
    [
      aSession('mayor', { started_ms: 400 }),
      aSession('worker-1', { started_ms: 600, depends_on: ['mayor'] }),
      aSession('worker-2', { started_ms: 600, depends_on: ['mayor'] }),
    ],
    { city_name: 'quickstart', provider: { name: 'subprocess', chosen_by: 'default' } },
  );
  const { rows, settled } = pictureOf(status);

  it('reads as in the first minute', () => {
    expect(settled).toBe(true);
    expect([startHeader(status, PLAIN), ...lines(rows), countText(rows)]).toEqual([
      'city quickstart   embedded terminals (no tmux here)',
      '  mayor     ready      0.4s',
      '  worker-1  ready      0.6s   after mayor',
      '  worker-2  ready      0.6s   after mayor',
      '3 of 3 running.',
    ]);
  });

  it('ends in commands to paste', () => {
    expect(nextCommands(status, rows, 'npx gc')).toBe(
      [
        '  npx gc status                 who works, who waits for you',
        '  npx gc nudge mayor "hello"    say something',
        '  npx gc session attach mayor   sit down at its terminal (leave with Ctrl-Q)',
        '  npx gc stop                   end the city',
        '',
      ].join('\n'),
    );
  });
});

describe('a start of agents without a terminal', () => {
  const { rows } = pictureOf(
    aStatus([
      aSession('coder', { transport: 'acp' }),
      aSession('asker', { transport: 'acp', condition: 'waits', detail: 'Bash: touch x' }),
    ]),
  );

  it('names no command that needs one', () => {
    const told = [...lines(rows, 100), nextCommands(aStatus([]), rows, 'gc')].join('\n');
    expect(told).not.toContain('attach');
    expect(told).toContain('Bash: touch x  gc session pending asker');
    expect(told).toContain('gc session peek coder');
  });
});

describe('a start that has to wait', () => {
  const { rows, settled } = pictureOf(
    aStatus([
      aSession('mayor', { started_ms: 3_100, answered: ['folder trust', 'bypass permissions'] }),
      aSession('proj/reviewer', { condition: 'waits', detail: 'codex asks to log in' }),
      aSession('proj/worker-1', { condition: 'backing-off', detail: 'exit 127: sh: claudee: not found' }),
      aSession('proj/worker-2', { condition: 'stopped', depends_on: ['proj/worker-1'] }),
    ]),
  );

  it('says for each what it waits for and what to do', () => {
    expect(lines(rows, 100)).toEqual([
      '  mayor          ready      3.1s   answered: folder trust, bypass permissions',
      '  proj/reviewer  waits for you   codex asks to log in  gc session attach proj/reviewer',
      '  proj/worker-1  failed            exit 127: sh: claudee: not found',
      '  proj/worker-2  blocked           needs proj/worker-1, which failed',
    ]);
    expect(countText(rows)).toBe('1 of 4 running, 1 waits for you, 1 failed, 1 blocked.');
    expect(settled).toBe(true);
  });

  it('ends for those that the machine has no room for, and says what they need', () => {
    const why = 'waits for memory: 1.2 GB free of 16 GB, needs 2 GB';
    const picture = pictureOf(aStatus([aSession('mayor', { condition: 'starting', detail: why })]));
    expect(lines(picture.rows, 100).map((line) => line.split(/ {2,}/).slice(1))).toEqual([
      ['mayor', 'blocked', why],
    ]);
    expect(picture.settled).toBe(true);
  });

  it('fits 60 columns, reasons and commands whole', () => {
    for (const line of lines(rows, 60)) expect(widthOf(line)).toBeLessThanOrEqual(60);
    expect(lines(rows, 60).slice(1, 5)).toEqual([
      '  proj/reviewer  waits for you   codex asks to log in',
      '                             gc session attach proj/reviewer',
      '  proj/worker-1  failed            exit 127: sh: claudee:',
      '                                   not found',
    ]);
  });
});

describe('when it is over', () => {
  const pictured = (...sessions: Parameters<typeof aStatus>[0]) => pictureOf(aStatus(sessions));

  it.each(['starting', 'unknown', 'stopped', 'draining'] as const)('not while one is %s', (condition) => {
    expect(pictured(aSession('a'), aSession('b', { condition })).settled).toBe(false);
  });

  it('not while the controller is still coming up', () => {
    const status = aStatus([aSession('a')], {
      controller: { running: true, mode: 'supervisor', status: 'adopting_sessions' },
    });
    expect(pictureOf(status).settled).toBe(false);
  });

  it('whatever the sessions do that nobody wants', () => {
    expect(pictured(aSession('a'), aSession('b', { condition: 'asleep', wanted: false })).rows).toHaveLength(
      1,
    );
  });

  it('REC-11 every change of a session moves the picture', () => {
    const key = (detail: string) => pictured(aSession('a', { condition: 'starting', detail })).key;
    expect(key('waits for the prompt')).not.toBe(key('answers: folder trust'));
    expect(key('same')).toBe(key('same'));
  });

  it('with a failure for one that cannot be started as it is written', () => {
    const { rows, settled } = pictured(
      aSession('a', { condition: 'stopped', detail: 'provider not found in PATH: "codex"' }),
    );
    expect([rows[0]?.stage, rows[0]?.note, settled]).toEqual([
      'failed',
      'provider not found in PATH: "codex"',
      true,
    ]);
  });

  it('says that one has not begun, and what it comes after', () => {
    const { rows } = pictured(
      aSession('a', { condition: 'starting', detail: 'after mayor', depends_on: ['mayor'] }),
    );
    expect(lines(rows)).toEqual(['  a         pending           after mayor']);
  });

  it('with a word when nothing is wanted', () => {
    expect(countText(pictured().rows)).toContain('No session is wanted');
  });
});
