import { describe, expect, it } from 'vitest';
import { findComposer } from './composer.ts';
import { dialogRulesFor, findDialog, findQuestion, isPromptIndicator, nextDialogStep } from './dialog.ts';
import { profileOf } from './profiles.ts';
import { findMenu, lookAtText } from './screen.ts';

const NONE: ReadonlyMap<string, number> = new Map();

function found(text: string, { kind = '', prefix = '', answered = NONE } = {}) {
  const look = lookAtText(text);
  return findDialog(look, dialogRulesFor(kind), findComposer(look, profileOf(kind), prefix), answered);
}

describe('findDialog', () => {
  it.each([
    ['Do you trust this folder? [Enter]', 'folder trust', ['Enter']],
    ['Quick safety check: ...', 'folder trust', ['Enter']],
    ['Do you trust the contents of this directory?', 'folder trust', ['Enter']],
    ['Do you trust the files in this folder?', 'folder trust', ['Enter']],
    ['Running in Bypass Permissions mode', 'bypass permissions', ['Down', 'Enter']],
    ['Detected a custom API key in your environment', 'custom API key', ['Up', 'Enter']],
    ['Do you want to use this API key?', 'custom API key', ['Up', 'Enter']],
  ])('%s', (text, id, keys) => {
    const dialog = found(text);
    expect(dialog?.rule.id).toBe(id);
    expect(dialog && nextDialogStep(dialog)).toEqual({ keys, final: true });
  });

  it('takes "rate limit" for a question only with the choice to stop', () => {
    expect(found('We hit a rate limit yesterday, remember?')).toBeUndefined();
    expect(found('Usage limit reached for pro.')).toBeUndefined();
    const dialog = found('Usage limit reached for pro.\n● 1. Keep trying\n  2. Stop');
    expect(dialog && nextDialogStep(dialog)).toEqual({ keys: ['Down'], final: false });
    const moved = found('Usage limit reached for pro.\n  1. Keep trying\n● 2. Stop');
    expect(moved && nextDialogStep(moved)).toEqual({ keys: ['Enter'], final: true });
  });

  it('finds a question above many blank rows', () => {
    expect(found(`Do you trust this folder?${'\n'.repeat(100)}`)?.rule.id).toBe('folder trust');
  });

  it('does not look further back than 120 lines', () => {
    const text = `Do you trust this folder?\n${Array.from({ length: 125 }, (_, i) => `line ${i}`).join('\n')}`;
    expect(found(text)).toBeUndefined();
  });

  it('leaves text above an input box alone', () => {
    const rule = '─'.repeat(30);
    const text = `You asked about Bypass Permissions mode.\n\n\n\n${rule}\n❯ \n${rule}\n  footer`;
    expect(found(text, { kind: 'claude' })?.rule.id).toBeUndefined();
  });

  it('answers a question whose answer is typed at the prompt itself, once', () => {
    const text = 'Do you trust this folder? [Y/n]\n> ';
    expect(found(text, { prefix: '> ' })?.rule.id).toBe('folder trust');
    const answered = new Map([['folder trust', 1]]);
    expect(found(text, { prefix: '> ', answered })).toBeUndefined();
    expect(found(`${text}\nhello\n> `, { answered })).toBeUndefined();
  });

  it('never takes the choice of another question for its own', () => {
    const old = 'Do you trust this folder?\nyes\n';
    const other = ' Do you want to delete everything?\n❯ 1. Yes\n  2. No';
    expect(found(old + other)).toBeUndefined();
    expect(found(old + other, { answered: new Map([['folder trust', 1]]) })).toBeUndefined();
    const far = `${old}${'text\n'.repeat(25)}❯ 1. Yes\n  2. No`;
    expect(found(far)).toBeUndefined();
  });

  it('reads the choice also when its words stand in an option', () => {
    const dialog = found(
      ' Quick safety check: is it yours?\n\n   1. Yes, I trust this folder\n ❯ 2. No, exit',
    );
    expect(dialog && nextDialogStep(dialog)).toEqual({ keys: ['Up'], final: false });
  });

  it('has the rules of the kind, and all of them for an unknown kind', () => {
    expect(found('Do you trust the contents of this directory?', { kind: 'gemini' })).toBeUndefined();
    expect(dialogRulesFor('no-such-kind').length).toBeGreaterThan(dialogRulesFor('claude').length);
  });
});

describe('findQuestion', () => {
  const question = (text: string) => findQuestion(lookAtText(text), undefined);

  it('reads a marked choice with the sentence above it', () => {
    expect(
      question('Welcome\n\nSelect login method:\n\n❯ 1. Subscription\n  2. Console\n\nEsc to exit'),
    ).toEqual({
      text: 'Select login method:',
      body: '',
      options: ['Subscription', 'Console'],
      sure: true,
    });
    expect(question('Ready to rock?')?.sure).toBe(false);
    expect(question('Go on? [y/N]')?.sure).toBe(true);
  });

  it('keeps what stands between the sentence and the choice', () => {
    const text =
      '  Would you like to run the following command?\n\n  $ rm -rf x\n\n› 1. Yes, proceed (y)\n  2. No (esc)';
    expect(question(text)).toMatchObject({
      text: 'Would you like to run the following command?',
      body: '$ rm -rf x',
    });
  });

  it('joins a wrapped sentence and leaves the frame out', () => {
    const text = [
      '╭───────────────────────────╮',
      '│ ?  A loop was detected    │',
      '│                           │',
      '│ This happens. Do you want │',
      '│ to go on or stop?         │',
      '│                           │',
      '│ ● 1. Go on                │',
      '│   2. Stop                 │',
      '╰───────────────────────────╯',
    ];
    expect(question(text.join('\n'))?.text).toBe('Do you want to go on or stop?');
  });

  it.each(['Continue? [y/N]', 'Overwrite (yes/no)?', 'Press Enter to continue', 'Password:', 'Really?'])(
    '%s',
    (text) => {
      expect(question(`some lines\n${text}`)?.text).toBe(text);
    },
  );

  it.each(['Working on it', 'ok.', '', '1. one\n2. two', 'Is it? Yes it is.'])('no question: %j', (text) => {
    expect(question(text)).toBeUndefined();
  });

  it('is no question when the choice has scrolled up', () => {
    const below = Array.from({ length: 12 }, (_, i) => `output ${i}`).join('\n');
    expect(question(`❯ 1. Yes\n  2. No\n${below}`)).toBeUndefined();
  });
});

describe('findMenu', () => {
  it('wants exactly one mark, and options numbered from 1', () => {
    const menu = (text: string) => findMenu(lookAtText(text));
    expect(menu('❯ 1. a\n  2. b')?.marked).toBe(0);
    expect(menu('│   1. a │\n│ ● 2. b │')?.options.map((o) => o.label)).toEqual(['a', 'b']);
    expect(menu('  1. a\n  2. b')).toBeUndefined();
    expect(menu('❯ 1. a\n❯ 2. b')).toBeUndefined();
    expect(menu('❯ 2. a\n  3. b')).toBeUndefined();
    expect(menu('❯ 1. a\n  2. b\n\n\n\n\n\n  1. x\n› 2. y')?.marked).toBe(1);
    expect(menu('› 1. a\n     described\n  2. b')?.options).toHaveLength(2);
  });
});

describe('isPromptIndicator', () => {
  it('ends in a prompt character and is no menu entry', () => {
    expect(['$', 'me@host ~ %', 'x>', '❯', '#'].every(isPromptIndicator)).toBe(true);
    expect(['', 'text', '100 %.', '❯ 1. Yes >'].some(isPromptIndicator)).toBe(false);
  });
});
