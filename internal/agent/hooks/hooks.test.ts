import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CLAUDE_SETTINGS, withoutOwnHooks } from './claude-settings.ts';
import { HANDOFF_LINE, isOwnLine, turnLine } from './hook-lines.ts';
import { hookSupport } from './hook-support.ts';
import { parseHookInput, workAnswer } from './work-answer.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-hooks-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('the line of a turn hook', () => {
  const run = (env: Record<string, string>) =>
    execFileSync('/bin/sh', ['-ec', turnLine('hook --inject')], {
      env: { PATH: '/usr/bin:/bin', GC_BIN: join(dir, 'my gc'), ...env },
      encoding: 'utf8',
    });

  it('starts the program only with a flag, and never fails', () => {
    writeFileSync(join(dir, 'my gc'), '#!/bin/sh\necho "called $*"\nexit 3\n', { mode: 0o755 });
    const session = { GC_CITY_RUNTIME_DIR: dir, GC_SESSION_NAME: 'mayor' };
    expect(run(session)).toBe('');
    mkdirSync(join(dir, 'turns', 'mayor'), { recursive: true });
    expect(run(session)).toBe('called hook --inject\n');
    expect(run({ ...session, GC_SESSION_NAME: 'other' })).toBe('');
    expect(run({})).toBe('');
  });
});

describe('our hook lines', () => {
  it.each([
    'gc prime --hook',
    'export PATH="$HOME/go/bin:$HOME/.local/bin:$PATH" && gc hook --inject',
    HANDOFF_LINE,
    turnLine('mail check --inject'),
  ])('are known as ours: %s', (line) => expect(isOwnLine(line)).toBe(true));

  it.each(['gc prime mayor', 'make test', 'gc hook', 'echo gc prime --hook'])('others are not: %s', (line) =>
    expect(isOwnLine(line)).toBe(false),
  );

  it('are taken out of settings, with the entries that hold nothing else; all else stays', () => {
    const own = { type: 'command', command: 'gc prime --hook' };
    const theirs = { type: 'command', command: 'make lint' };
    const settings = {
      model: 'opus',
      hooks: {
        SessionStart: [{ matcher: '', hooks: [own] }],
        Stop: [
          { matcher: '', hooks: [own, theirs] },
          { type: 'command', command: 'gc hook --inject' },
          theirs,
        ],
        Odd: 'text',
      },
    };
    expect(JSON.parse(withoutOwnHooks(JSON.stringify(settings)))).toEqual({
      model: 'opus',
      hooks: { Stop: [{ matcher: '', hooks: [theirs] }, theirs], Odd: 'text' },
    });
    expect(JSON.parse(withoutOwnHooks(CLAUDE_SETTINGS))).toEqual({
      skipDangerousModePermissionPrompt: true,
      editorMode: 'normal',
      hooks: {},
    });
  });
});

describe('which agents have hooks', () => {
  const workspace = (over: object = {}) => ({
    workspace: { installAgentHooks: [] as string[], startCommand: '', ...over } as never,
  });
  const agent = (over: object = {}) => ({
    startCommand: '',
    installAgentHooks: undefined,
    hooksInstalled: undefined,
    ...over,
  });
  const claude = { name: 'claude', kind: 'claude', supportsHooks: true };
  const codex = { name: 'codex', kind: 'codex', supportsHooks: true };
  const alias = { name: 'sonnet', kind: 'claude', supportsHooks: true };

  it.each([
    ['Claude Code, always', workspace(), agent(), claude, 'settings'],
    ['another only when listed', workspace(), agent(), codex, 'none'],
    ['listed by the workspace', workspace({ installAgentHooks: ['codex'] }), agent(), codex, 'overlay'],
    [
      "an agent's list replaces it",
      workspace({ installAgentHooks: ['codex'] }),
      agent({ installAgentHooks: [] }),
      codex,
      'none',
    ],
    ['hooks_installed: false decides', workspace(), agent({ hooksInstalled: false }), claude, 'none'],
    ['hooks_installed: true decides', workspace(), agent({ hooksInstalled: true }), codex, 'overlay'],
    ['an alias only when listed', workspace(), agent(), alias, 'none'],
    ['a listed alias', workspace({ installAgentHooks: ['sonnet'] }), agent(), alias, 'settings'],
    ['no program is known by a start command', workspace({ startCommand: 'x' }), agent(), claude, 'none'],
    [
      'nothing for programs without hooks',
      workspace(),
      agent({ hooksInstalled: true }),
      { ...codex, supportsHooks: false },
      'none',
    ],
  ] as const)('%s', (_, city, which, preset, expected) => {
    expect(hookSupport(city, which, preset)).toBe(expected);
  });
});

describe('what a work query printed', () => {
  it.each([
    ['', false],
    ['\n', false],
    ['[]', false],
    ['{}', false],
    ['null', false],
    ['No ready work found\n', false],
    ['[{"id":"a"}]', true],
    ['a-1  do it', true],
  ])('%j is work: %s', (printed, hasWork) => {
    expect(workAnswer(printed)).toEqual({ hasWork, text: printed });
  });

  it('a lone object is a list of one', () => {
    expect(workAnswer('{"id":"a"}\n')).toEqual({ hasWork: true, text: '[{"id":"a"}]\n' });
  });
});

it('hook input is read from one line or all of stdin', () => {
  const input = { event: 'SessionStart', sessionId: 's', source: 'startup', continued: false };
  const json = { session_id: 's', source: 'startup', hook_event_name: 'SessionStart' };
  expect(parseHookInput(JSON.stringify(json, null, 2))).toEqual(input);
  expect(parseHookInput(`noise\n${JSON.stringify(json)}\n`)).toEqual(input);
  expect(parseHookInput('words')).toBeUndefined();
  expect(parseHookInput('')).toBeUndefined();
});
