import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockParser, type ControlEvent } from './block-parser.ts';
import { exitInfo } from './exits.ts';
import { decodeMetaValue, encodeMetaValue, parseShownVariable } from './meta-value.ts';
import { cityOf, isOurs, keeperName, ownerStamp } from './ownership.ts';
import { OBSERVED_META, ownedSessions, parsePaneRows } from './pane-rows.ts';
import { commandArguments, commandLine } from './quote.ts';
import { readScreen } from './screen.ts';
import { leakedNames, serverEnvironment } from './server.ts';
import { classifyRefusal, perhapsNoServer } from './transport.ts';
import { parseTmuxVersion } from './version.ts';
import { changesBetween, type Look, type Sighting } from './watch.ts';

describe('quoting', () => {
  it('leaves simple words and quotes the rest so that one line stays one line', () => {
    expect(commandLine([['send-keys', '-t', '%1', 'a b', 'x;', '"$~\\', 'two\nlines', '']])).toBe(
      'send-keys -t "%1" "a b" "x;" "\\042\\044\\176\\134" "two\\012lines" ""',
    );
    expect(commandLine([['a'], ['b', ';']])).toBe('a ; b ";"');
    expect(() => commandLine([['a', 'x\0y']])).toThrow(/NUL/);
  });

  it('holds any text in one line without a raw special character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        fc.pre(!text.includes('\0'));
        const line = commandLine([['x', text]]);
        expect(line).not.toMatch(/[\n\r$~]/);
        const inner = line.slice(2).replace(/^"|"$/g, '');
        expect(
          inner.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))),
        ).toBe(text);
      }),
    );
  });

  it('keeps a last semicolon from separating commands', () => {
    expect(commandArguments([['a', 'x;', ';', '\\;', 'y;z'], ['b']])).toEqual([
      ...['a', 'x\\;', '\\;', '\\\\;', 'y;z'],
      ...[';', 'b'],
    ]);
  });
});

describe('the control stream', () => {
  const stream = [
    '%begin 1 10 0\n%end 1 10 0\n%session-changed $0 x\n',
    '%begin 5 11 1\nline %end 5 11 1\n%end 5 12 1\n%begin 5 11 1\n%error 4 11 1\nünï\n%end 5 11 1\n',
    "%begin 6 12 1\ncan't find pane: %9\n%error 6 12 1\n%output %1 noise\n%begin 7 13 1\n%end 7 13 1\n",
  ].join('');
  const expected: ControlEvent[] = [
    { kind: 'block', own: false, ok: true, body: '' },
    { kind: 'notification', name: 'session-changed' },
    {
      kind: 'block',
      own: true,
      ok: true,
      body: 'line %end 5 11 1\n%end 5 12 1\n%begin 5 11 1\n%error 4 11 1\nünï',
    },
    { kind: 'block', own: true, ok: false, body: "can't find pane: %9" },
    { kind: 'notification', name: 'output' },
    { kind: 'block', own: true, ok: true, body: '' },
  ];

  it('is the same however it is cut', () => {
    const bytes = Buffer.from(stream);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 12 }), (cuts) => {
        const parser = new BlockParser();
        const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
        const events = at.slice(1).flatMap((end, i) => parser.push(bytes.subarray(at[i], end)));
        expect(events).toEqual(expected);
      }),
    );
  });
});

describe('metadata values', () => {
  it('survive whatever they hold, and ordinary ones stay readable', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (value) => {
        const stored = encodeMetaValue(value);
        expect(stored).not.toMatch(/[\x00-\x1f\x7f]|^\s|\s$/);
        expect(decodeMetaValue(stored)).toBe(Buffer.from(value).toString());
      }),
    );
    expect(encodeMetaValue('x = y')).toBe('x = y');
    expect(parseShownVariable('K=a=b')).toBe('a=b');
    expect(parseShownVariable('-K')).toBe('');
  });
});

describe('pane rows', () => {
  const row = (
    session: string,
    pane: string,
    owner: string,
    agentPane: string,
    meta: Record<string, string> = {},
    stampedFor = '$1',
  ) =>
    [
      ...['gc1', pane, session, '$1', stampedFor, owner, agentPane],
      ...['0', '', '', '42', '/dev/pts/1', '1700000000', '5', '9'],
      ...OBSERVED_META.map((key) => `${Buffer.byteLength(meta[key] ?? '')}:${meta[key] ?? ''}`),
    ].join('\t');

  it('carries metadata with tabs, newlines and fake rows in it', () => {
    const evil = `x\ty\n${row('fake', '%9', 'a/t', '%9')}`;
    const text = [
      row('s', '%1', 'a/t', '%1', { GC_ALIAS: evil, GC_DRAIN: 'ünï' }),
      row('t', '%2', '', ''),
    ].join('\n');
    const rows = parsePaneRows(text);
    expect(rows.map((r) => r.session)).toEqual(['s', 't']);
    expect(rows[0]?.meta).toEqual({ GC_ALIAS: evil, GC_DRAIN: 'ünï' });
    expect(rows[0]).toMatchObject({ pid: 42, serverLife: '9@5', dead: false, windowActivity: 1_700_000_000 });
  });

  it('passes over anything else', () => {
    expect(parsePaneRows('')).toEqual([]);
    expect(parsePaneRows('noise\ngc1\t%1\tshort\n')).toEqual([]);
  });

  it('are ours by the whole city tag, in a stamp of their own', () => {
    const city = cityOf('a');
    const rows = parsePaneRows(
      [
        row('mine', '%1', 'a/t', '%1'),
        row('mine', '%5', 'a/t', '%1'),
        row('theirs', '%2', 'ab/t', '%2'),
        row('lent', '%3', 'a/t', '%1', {}, '$7'),
        row('plain', '%4', '', ''),
      ].join('\n'),
    );
    const owned = ownedSessions(rows, city);
    expect([...owned.keys()]).toEqual(['mine']);
    expect(owned.get('mine')?.others.map((r) => r.paneId)).toEqual(['%5']);
  });
});

describe('ownership', () => {
  it('makes tags and names that tmux leaves alone', () => {
    expect(ownerStamp(cityOf('a1b2'), 'tok')).toBe('a1b2/tok');
    expect(isOurs(cityOf('a'), 'ab/x')).toBe(false);
    for (const id of ['/home/me/my city', 'x:y', '', 'ü']) {
      expect(cityOf(id).tag).toMatch(/^[0-9a-f]{16}$/);
      expect(keeperName(cityOf(id))).toMatch(/^gc\+keeper-[0-9a-f]{16}$/);
    }
  });
});

describe('what tmux says', () => {
  it.each([
    ["can't find session: x", 'not-found'],
    ["can't find window: x", 'not-found'],
    ["can't find pane: %9", 'not-found'],
    ['no such session: x', 'not-found'],
    ['no such window: x', 'not-found'],
    ['session not found: x', 'not-found'],
    ['no current target', 'not-found'],
    ['duplicate session: x', 'duplicate'],
    ['unknown flag -r', 'other'],
  ])('%s', (message, kind) => {
    expect(classifyRefusal(message)).toBe(kind);
    expect(perhapsNoServer(message)).toBe(false);
  });

  it.each([
    'no server running on /tmp/tmux-0/x',
    'error connecting to /tmp/tmux-0/x (No such file or directory)',
    'failed to connect to server: Connection refused',
    'server exited unexpectedly',
    'lost server',
  ])('%s makes the socket itself be asked', (message) => {
    expect(perhapsNoServer(message)).toBe(true);
  });

  it.each([
    ['tmux 3.3a', true, true],
    ['tmux 3.2', true, false],
    ['tmux 3.1c', false, false],
    ['tmux 2.9', false, false],
    ['tmux next-3.6', true, true],
    ['tmux 10.0', true, true],
    ['tmux openbsd-7.5', true, true],
    ['tmux master', true, true],
    ['', false, false],
  ])('version %j', (output, supported, controlMode) => {
    expect(parseTmuxVersion(`${output}\n`)).toMatchObject({ supported, controlMode });
  });

  it('names exit codes and signals', () => {
    expect(exitInfo('0', '')).toEqual({ code: 0 });
    expect(exitInfo('', '9')).toEqual({ signal: 'SIGKILL' });
    expect(exitInfo('', 'term')).toEqual({ signal: 'SIGTERM' });
    expect(exitInfo('', '')).toEqual({});
  });
});

describe('environments', () => {
  it('a server gets little, and what a pane must not inherit is named', () => {
    const env = { PATH: '/bin', HOME: '/h', SECRET: 'x', GC_CITY: 'y', LANG: '', TMUX: 'z' };
    expect(serverEnvironment(env)).toEqual({ PATH: '/bin', HOME: '/h' });
    expect(leakedNames('PATH=/bin\nSECRET=x\n-GONE\nMULTI=a\nline\nTERM=screen')).toEqual([
      'SECRET',
      'MULTI',
    ]);
  });
});

describe('screens', () => {
  it('maps the cursor through wrapped lines', () => {
    const joined = ['old', 'aaaabbbb', 'cc'].join('\n');
    const screen = readScreen(['2\t2\t0\t1', joined, ['aaaa', 'bbbb', 'cc'].join('\n')], 10);
    expect(screen).toEqual({
      lines: ['old', 'aaaabbbb', 'cc'],
      visibleRows: 2,
      cursor: { row: 1, column: 2 },
      bracketedPaste: true,
    });
  });

  it('knows a first visible line that began in the history', () => {
    const screen = readScreen(['1\t0\t0\t', 'aaaabbbb\ncc', 'bbbb\ncc'], 10);
    expect(screen.visibleRows).toBe(2);
    expect(screen.bracketedPaste).toBeUndefined();
  });
});

describe('what a watch reports', () => {
  const sighting = (paneId: string, more: Partial<Sighting> = {}): Sighting => ({
    ...{ paneKey: `s1${paneId}`, paneId, ended: false, attached: 0, activity: 1 },
    ...more,
  });
  const look = (sessions: Record<string, Sighting>, serverLife = 's1'): Look => ({
    text: '',
    serverLife,
    sessions: new Map(Object.entries(sessions)),
  });
  const kinds = (before: Look | undefined, now: Look) => changesBetween(before, now).map((c) => c.kind);

  it('an end once, also one found at the first look', () => {
    const dead = look({ a: sighting('%1', { ended: true }) });
    expect(kinds(undefined, dead)).toEqual(['ended']);
    expect(kinds(look({ a: sighting('%1') }), dead)).toEqual(['ended']);
    expect(kinds(dead, dead)).toEqual([]);
    expect(kinds(dead, look({}))).toEqual([]);
  });

  it('a session that was replaced or removed between two looks', () => {
    expect(kinds(look({ a: sighting('%1') }), look({ a: sighting('%2') }))).toEqual(['vanished']);
    expect(kinds(look({ a: sighting('%1') }), look({}))).toEqual(['vanished']);
    expect(kinds(look({}), look({ a: sighting('%2') }))).toEqual([]);
  });

  it('comings, goings and output', () => {
    const now = look({ a: sighting('%1', { attached: 1, activity: 2 }) });
    expect(kinds(look({ a: sighting('%1') }), now)).toEqual(['activity', 'attached']);
    expect(kinds(now, look({ a: sighting('%1', { activity: 2 }) }))).toEqual(['detached']);
  });

  it('one loss for all sessions of a replaced server', () => {
    const before = look({ a: sighting('%1'), b: sighting('%2') });
    expect(kinds(before, look({ a: sighting('%1', { paneKey: 's2%1' }) }, 's2'))).toEqual([
      'server-replaced',
    ]);
    expect(kinds(look({}, 's1'), look({}, 's2'))).toEqual([]);
  });
});
