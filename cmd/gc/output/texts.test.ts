import { describe, expect, it } from 'vitest';
import type { NudgeReply } from '../../../internal/controller/city-api.ts';
import { ago, aSession, aStatus, NOW, PLAIN } from '../testing/status-fixtures.ts';
import { renderEventTable } from './event-text.ts';
import { renderExplanation } from './explain-text.ts';
import { logText } from './log-text.ts';
import { nudgeText } from './nudge-text.ts';
import { renderSessionTable, sessionJson } from './session-list.ts';
import { renderStatusText } from './status-text.ts';
import { clockTime } from './times.ts';
import { widthOf } from './width.ts';

describe('gc status into a pipe', () => {
  it('keeps a space after names that are longer than their column', () => {
    const name = 'n'.repeat(64);
    expect(renderStatusText(aStatus([aSession(name)]))).toContain(`  ${name} active`);
  });

  it('has the lines that scripts match', () => {
    const status = aStatus(
      [aSession('mayor'), aSession('worker', { condition: 'suspended', state: 'suspended', wanted: false })],
      { rigs: [{ name: 'proj', path: '/p', suspended: true }] },
    );
    expect(renderStatusText(status)).toBe(
      [
        'bright-lights  /home/u/bright-lights',
        '  Controller: supervisor (PID 4121)',
        '  Suspended:  no',
        '  Provider:   tmux (socket bright-lights)',
        '',
        'Agents:',
        '  mayor                   running',
        '  worker                  stopped',
        'Named sessions:',
        '  mayor                   active',
        '  worker                  suspended',
        '',
        '1/2 agents running',
        'Rigs:',
        '  proj                    /p  (suspended)',
        'Sessions: 1 active, 1 suspended',
        '',
      ].join('\n'),
    );
  });

  it.each([
    [{ running: true, pid: 7, mode: 'standalone' } as const, 'Controller: standalone (PID 7)'],
    [
      { running: true, pid: 7, mode: 'supervisor', status: 'adopting_sessions' } as const,
      'Controller: supervisor (PID 7, adopting_sessions)',
    ],
    [
      { running: false, mode: 'supervisor' } as const,
      'Controller: supervisor-managed (supervisor not running)',
    ],
    [{ running: false } as const, 'Controller: stopped'],
  ])('LCK-07 names one role: %j', (controller, line) => {
    expect(renderStatusText(aStatus([], { controller }))).toContain(`  ${line}\n`);
  });

  it('REC-18 keeps what could not be told apart from what stopped', () => {
    const text = renderStatusText(aStatus([aSession('a', { condition: 'unknown' })]));
    expect(text).toContain('  a                       unknown\n');
    expect(text).toContain('0/1 agents running, 1 unknown\n');
  });

  it('CFG-15 shows an error of the city file', () => {
    const config = { file: '/c/city.yaml', revision: 'a', error: 'line one\nline two\n' };
    expect(renderStatusText(aStatus([], { config }))).toContain('  line one\n  line two\n');
  });
});

describe('gc session list', () => {
  const sessions = [
    aSession('mayor', { title: 'A title that is much longer than thirty columns' }),
    aSession('worker', { condition: 'backing-off', wake_reasons: [], sleep_reason: 'quarantine' }),
  ];

  it('is a table with a header row', () => {
    expect(renderSessionTable(sessions, NOW)).toBe(
      [
        'ID         TEMPLATE  STATE   REASON      TARGET  TITLE                           AGE  LAST ACTIVE',
        'gc-mayor   mayor     active  config      mayor   A title that is much longer...  3h   41s ago',
        'gc-worker  worker    asleep  quarantine  worker  worker                          3h   41s ago',
        '',
      ].join('\n'),
    );
  });

  it('says when there is none', () => {
    expect(renderSessionTable([], NOW)).toBe('No sessions found.\n');
  });

  it('fits a terminal of 80 columns', () => {
    for (const line of renderSessionTable(sessions, NOW, 80).split('\n')) {
      expect(widthOf(line)).toBeLessThanOrEqual(80);
    }
  });

  it('has the key names of the original in JSON', () => {
    expect(Object.keys(sessionJson(aSession('a')))).toEqual(
      'ID Template State Closed Title Alias Provider Command WorkDir SessionName SessionKey ResumeFlag ResumeStyle ResumeCommand CreatedAt LastActive Attached'.split(
        ' ',
      ),
    );
    expect(sessionJson(aSession('a', { condition: 'closed' }))['Closed']).toBe(true);
  });
});

describe('gc nudge', () => {
  const reply = (outcome: NudgeReply['outcome']): NudgeReply => ({ session: 'proj/worker', outcome });

  it('says that the agent took it only when it was seen', () => {
    expect(nudgeText(reply({ kind: 'delivered', tookMs: 700, verified: true }), true, 0)).toBe(
      'proj/worker took it (submitted in 0.7s)\n',
    );
    expect(nudgeText(reply({ kind: 'delivered', tookMs: 700, verified: false }), true, 0)).toContain(
      'nothing on its screen',
    );
  });

  it('starts with the words that scripts match in a pipe', () => {
    expect(nudgeText(reply({ kind: 'delivered', tookMs: 1, verified: true }), false, 0)).toBe(
      'Nudged proj/worker\n',
    );
    expect(nudgeText(reply({ kind: 'delivered', tookMs: 1, verified: false }), false, 0)).toMatch(
      /^Nudged proj\/worker /,
    );
  });

  it.each([
    [{ kind: 'no-session' } as const, 'session-not-running'],
    [{ kind: 'empty' } as const, 'empty-message'],
    [{ kind: 'busy', detail: 'working for 4m' } as const, 'agent-busy'],
    [{ kind: 'unsubmitted', detail: 'draft left' } as const, 'nudge-unsubmitted'],
    [{ kind: 'failed', detail: 'no' } as const, 'nudge-failed'],
  ])('fails for %j', (outcome, code) => {
    expect(() => nudgeText(reply(outcome), true, 0)).toThrow(expect.objectContaining({ code }));
  });
});

describe('gc explain', () => {
  const explanation = {
    session: aSession('proj/worker-2', {
      condition: 'backing-off',
      next_try_at: new Date(NOW + 8_000).toISOString(),
      detail: '4th within 1h',
    }),
    decisions: [
      {
        at: ago(20_000),
        what: 'started',
        why: 'wanted: always; slot free',
        inputs: { wanted: 'always', strikes: 0 },
      },
      {
        at: ago(18_000),
        what: 'ended',
        why: 'exit 1 after 2.1s',
        inputs: {},
        lines: ['limit\x1b[31m reached', ''],
      },
    ],
    helps: [
      { command: 'gc session attach proj/worker-2', why: 'last screen kept' },
      { command: 'gc session wake proj/worker-2', why: 'try now' },
    ],
  };

  it('shows decisions with what they saw, then what helps', () => {
    const text = renderExplanation(explanation, { now: NOW, columns: 120, style: PLAIN, gc: 'npx gc' });
    const time = (ms: number) => clockTime(ago(ms));
    expect(text).toBe(
      [
        'proj/worker-2   backing off, next try in 8s (4th within 1h)',
        `  ${time(20_000)}  started         wanted: always; slot free`,
        '                            saw wanted=always strikes=0',
        `  ${time(18_000)}  ended           exit 1 after 2.1s`,
        '                            | limit reached',
        'what helps: npx gc session attach proj/worker-2 (last screen kept) · npx gc session wake proj/worker-2 (try now)',
        '',
      ].join('\n'),
    );
  });

  it('wraps to 80 columns without breaking a command', () => {
    const long = {
      ...explanation,
      decisions: [
        { ...explanation.decisions[0], at: ago(1), what: 'wait', why: 'word '.repeat(60), inputs: {} },
      ],
    };
    const text = renderExplanation(long, { now: NOW, columns: 80, style: PLAIN, gc: 'gc' });
    for (const line of text.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(80);
    expect(text).toContain('\n            gc session wake proj/worker-2 (try now)\n');
  });
});

describe('gc events', () => {
  it('is a table', () => {
    const event = {
      seq: 12,
      type: 'session.stopped',
      ts: ago(0),
      actor: 'controller',
      subject: 'mayor',
      message: 'm'.repeat(60),
    };
    expect(renderEventTable([event])).toBe(
      `SEQ  TYPE             ACTOR       SUBJECT  MESSAGE                                   TIME\n` +
        `12   session.stopped  controller  mayor    ${'m'.repeat(37)}...  ${clockTime(ago(0))}\n`,
    );
    expect(renderEventTable([])).toBe('No events.\n');
  });
});

describe('gc session logs', () => {
  it('prints one entry per paragraph', () => {
    const at = ago(0);
    expect(logText({ at, type: 'assistant', text: 'two\nlines\n' })).toBe(
      `${clockTime(at)} [ASSISTANT] two\nlines\n`,
    );
    expect(logText({ at, type: 'compacted', text: '' })).toBe('── context compacted ──\n');
  });
});
