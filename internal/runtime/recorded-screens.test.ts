import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { approvalKey, parseApproval } from './approval.ts';
import { findComposer } from './composer.ts';
import { findDialog, findQuestion, nextDialogStep } from './dialog.ts';
import { profileOf } from './profiles.ts';
import { activityOf } from './readiness.ts';
import { type Look, lookAt } from './screen.ts';

/** Screens of real programs: Claude Code 2.1.197, Codex 0.171.0, Gemini CLI 0.61.0, opencode 1.18.33, pi 0.73.1, captured in tmux 3.3a. */
function recorded(name: string): Look {
  const text = readFileSync(new URL(`./testdata/screens/${name}.txt`, import.meta.url), 'utf8');
  const [header = '', ...lines] = text.split('\n');
  const [, column = '0', row = '0'] = header.split(' ');
  return lookAt({
    lines,
    visibleRows: lines.length,
    cursor: { row: Number(row), column: Number(column) },
    bracketedPaste: undefined,
  });
}

/** One command in two lines, as programs draw it: nothing tells whether it has one or two itself. */
const LONG = (endOfLine: string): string => {
  const words =
    'one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen';
  return `echo ${words.replace(`${endOfLine} `, `${endOfLine}\n`)} > long.txt`;
};

const kindOf = (name: string): string => name.split('-')[0] ?? '';

interface Expected {
  readonly activity: 'idle' | 'busy' | 'asking';
  /** What stands in the input box; `undefined`: there is none. */
  readonly draft?: string | RegExp;
  readonly dialog?: string;
  readonly keys?: readonly string[];
  readonly approval?: string;
}

const SCREENS: Readonly<Record<string, Expected>> = {
  'claude-trust': { activity: 'asking', dialog: 'folder trust', keys: ['Enter'] },
  'claude-api-key': { activity: 'asking', dialog: 'custom API key', keys: ['Up'] },
  'claude-bypass': { activity: 'asking', dialog: 'bypass permissions', keys: ['Down'] },
  'claude-bypass-moved': { activity: 'asking', dialog: 'bypass permissions', keys: ['Enter'] },
  'claude-ready': { activity: 'idle', draft: '' },
  'claude-draft': { activity: 'idle', draft: 'SLOW: 300' },
  'claude-busy': { activity: 'busy', draft: '' },
  'claude-busy-draft': { activity: 'busy', draft: 'next one' },
  'claude-queued': { activity: 'busy', draft: '' },
  'claude-done': { activity: 'idle', draft: '' },
  'claude-draft-lines': { activity: 'idle', draft: 'one\ntwo\nthree' },
  'claude-cleared': { activity: 'idle', draft: '' },
  'claude-draft-20k': { activity: 'idle', draft: /^\[Pasted text #\d+ \+\d+ lines\]$/ },
  'claude-permission': { activity: 'asking', approval: 'Bash: touch permitted.txt' },
  'claude-permission-write': {
    activity: 'asking',
    approval: 'Create file: ../../../wfile.txt\n1 one\n2 two',
  },
  'claude-permission-reading': { activity: 'asking', approval: 'Bash: echo hi > f1; cat f1' },
  'claude-permission-after': { activity: 'idle', draft: '' },
  'claude-permission-denied': { activity: 'idle', draft: '' },
  'codex-splash': { activity: 'idle', draft: '' },
  'codex-ready': { activity: 'idle', draft: '' },
  'codex-draft': { activity: 'idle', draft: 'RUN: touch permitted.txt' },
  'codex-working': { activity: 'busy', draft: '' },
  'codex-working-draft': { activity: 'busy', draft: 'y' },
  // It shows no sign of work while text streams in: only the moving text tells.
  'codex-streaming': { activity: 'idle', draft: '' },
  'claude-permission-long': {
    activity: 'asking',
    approval: `Bash: ${LONG('fifteen')}\nscripted`,
  },
  'codex-permission': { activity: 'asking', approval: 'Shell: touch permitted.txt' },
  'codex-permission-long': { activity: 'asking', approval: `Shell: ${LONG('fifteen')}` },
  'opencode-permission': { activity: 'asking', approval: 'Shell: touch permitted.txt' },
  'opencode-permission-long': { activity: 'asking', approval: `Shell: ${LONG('fourteen')}` },
  'gemini-permission-long': { activity: 'asking', approval: `Shell: ${LONG('fourteen')}` },
  'opencode-done': { activity: 'idle', draft: '' },
  'opencode-busy': { activity: 'busy', draft: '' },
  'opencode-busy-draft': { activity: 'busy', draft: 'a draft\nof two' },
  'opencode-draft-lines': { activity: 'idle', draft: 'a draft\nof two' },
  'pi-done': { activity: 'idle', draft: '' },
  'pi-busy': { activity: 'busy', draft: '' },
  'pi-busy-draft': { activity: 'busy', draft: 'a draft\nof two' },
  'pi-draft-lines': { activity: 'idle', draft: 'a draft\nof two' },
  'codex-folder-access': { activity: 'asking', dialog: 'folder trust', keys: ['Enter'] },
  'codex-hooks-review': { activity: 'asking', dialog: 'hook trust', keys: ['Down'] },
  'gemini-trust': { activity: 'asking', dialog: 'folder trust', keys: ['Enter'] },
  'gemini-ready': { activity: 'idle', draft: '' },
  'gemini-draft': { activity: 'idle', draft: 'RUN: touch permitted.txt' },
  'gemini-busy': { activity: 'busy', draft: '' },
  'gemini-permission': { activity: 'asking', approval: 'Shell: touch permitted.txt' },
  'gemini-permission-after': { activity: 'idle', draft: '' },
};

describe('TMX-24 recorded screens', () => {
  it.each(Object.entries(SCREENS))('%s', (name, expected) => {
    const look = recorded(name);
    const profile = profileOf(kindOf(name));
    expect(activityOf(look, profile, '').kind).toBe(expected.activity);

    const composer = findComposer(look, profile, '');
    if (expected.draft === undefined) expect(composer).toBeUndefined();
    else if (expected.draft === '') expect(composer?.empty).toBe('yes');
    else {
      expect(composer?.empty).toBe('no');
      expect(composer?.text).toMatch(expected.draft);
    }

    const dialog = findDialog(look, profile.dialogs, composer, new Map());
    expect(dialog?.rule.id).toBe(expected.dialog);
    if (dialog) expect(nextDialogStep(dialog).keys).toEqual(expected.keys);
    expect(parseApproval(look)?.prompt).toBe(expected.approval);
    if (expected.activity !== 'asking') expect(findQuestion(look, composer)).toBeUndefined();
  });

  it('a kind that nobody knows still has its questions found', () => {
    for (const [name, expected] of Object.entries(SCREENS)) {
      if (!expected.dialog) continue;
      const dialog = findDialog(recorded(name), profileOf('my-wrapper').dialogs, undefined, new Map());
      expect(dialog?.rule.id).toBe(expected.dialog);
    }
  });

  it('Codex is not ready while it draws its splash', () => {
    const visible = recorded('codex-splash').lines;
    const splash = profileOf('codex').splash;
    expect(visible.some((line) => splash.some((p) => p.test(line)))).toBe(true);
    expect(recorded('codex-ready').lines.some((line) => splash.some((p) => p.test(line)))).toBe(false);
  });

  it('offers the answers that the program offers', () => {
    const claude = parseApproval(recorded('claude-permission'));
    expect(claude?.options).toEqual([
      'Yes',
      'Yes, and always allow access to project/ from this project',
      'No',
    ]);
    const gemini = parseApproval(recorded('gemini-permission'));
    for (const approval of [claude, gemini]) {
      if (!approval) throw new Error('no approval');
      expect(['approve', 'approve_always', 'deny'].map((a) => approvalKey(approval, a))).toEqual([
        '1',
        '2',
        '3',
      ]);
      expect(approvalKey(approval, '2')).toBe('2');
      expect(approvalKey(approval, approval.options[2] ?? '')).toBe('3');
      expect(approvalKey(approval, 'perhaps')).toBeUndefined();
    }
  });
});
