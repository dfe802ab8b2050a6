import { describe, expect, it } from 'vitest';
import { approvalId, approvalKey, parseApproval } from './approval.ts';
import { lookAt, lookAtText } from './screen.ts';

const classic = (header: string, tail = ''): string =>
  ['❯ do it', '', header, '  ⎿  Running…', '', ' This command requires approval', '', tail].join('\n');

const parse = (text: string) => parseApproval(lookAtText(text));

describe('parseApproval, layout without a frame', () => {
  it('has the published id', () => {
    expect(approvalId('Bash', 'ls')).toBe('tmux-27809f1574ec5605');
    expect(parse(classic('● Bash(ls)'))).toMatchObject({
      id: 'tmux-27809f1574ec5605',
      prompt: 'Bash: ls',
      options: ['Yes', "Yes, and don't ask again", 'No'],
    });
  });

  it('keeps nested parentheses', () => {
    expect(parse(classic('● Bash(echo $(date) (x))'))?.input).toBe('echo $(date) (x)');
  });

  it('is nothing without a tool header: conversation may say the same words', () => {
    expect(parse('It said: This command requires approval')).toBeUndefined();
    expect(parse('Approve edits?\n❯ 1. Yes\n  2. No')).toBeUndefined();
  });

  it('binds to the nearest header', () => {
    const text = ['● Bash(rm a)', '  ⎿  done', '', '● Edit(b.ts)', '', 'Approve edits?'].join('\n');
    expect(parse(text)?.prompt).toBe('Edit: b.ts');
  });

  it('takes the last question, not an answered one above it', () => {
    const text = `${classic('● Bash(first)')}\n● Bash(second)\n\n This command requires approval`;
    expect(parse(text)?.input).toBe('second');
  });

  it('is nothing once the input box is back', () => {
    expect(parse(classic('● Bash(ls)', `done\n${'─'.repeat(40)}\n❯ \n${'─'.repeat(40)}`))).toBeUndefined();
  });

  it('reads an indented block when there are no parentheses, cut to 500 bytes', () => {
    const text = [
      '● Update',
      '  ⎿  Running…',
      '  line one',
      '  │ noise',
      '\tline two',
      '',
      'Approve edits?',
    ].join('\n');
    expect(parse(text)).toMatchObject({ input: 'line one\nline two', prompt: 'Update: line one\nline two' });
    const long = ['● Update', `  ${'ä'.repeat(400)}`, '', 'Approve edits?'].join('\n');
    expect(parse(long)?.input).toBe(`${'ä'.repeat(250)}…`);
    expect(parse('● Update\n\nApprove edits?')?.prompt).toBe('Allow Update?');
  });
});

describe('parseApproval, framed layout', () => {
  const box = (body: readonly string[], question = ' Do you want to proceed?') =>
    ['─'.repeat(60), ...body, '', question, ' ❯ 1. Yes', '   2. No', '', ' Esc to cancel'].join('\n');

  it('never hides a line of the command behind a description it cannot prove', () => {
    expect(parse(box([' Bash command', '', '   ls', '   rm -rf /']))?.prompt).toBe('Bash: ls\nrm -rf /');
    const announced = `● Bash(ls)\n  ⎿  Waiting…\n${box([' Bash command', '', '   ls', '   Lists files'])}`;
    expect(parse(announced)?.prompt).toBe('Bash: ls');
  });

  it('has the same id whether the header above has scrolled away or not', () => {
    const bare = box([' Bash command', '', '   ls', '   Lists files']);
    expect(parse(bare)?.id).toBe(parse(`● Bash(ls)\n${bare}`)?.id);
  });

  it('is nothing once the program cleared its screen, which a terminal keeps above it', () => {
    const lines = [...box([' Bash command', '', '   ls']).split('\n'), ...Array<string>(10).fill('')];
    const seen = (visibleRows: number) =>
      parseApproval(lookAt({ lines, visibleRows, cursor: undefined, bracketedPaste: undefined }));
    expect(seen(10)).toBeUndefined();
    expect(seen(lines.length)).toBeDefined();
  });

  it('knows other questions by their form', () => {
    const text = box([' Edit file', ' src/a.ts'], ' Do you want to make this edit to a.ts?');
    expect(parse(text)).toMatchObject({ tool: 'Edit file', input: 'src/a.ts', options: ['Yes', 'No'] });
  });

  it('answers by label where there are only two options', () => {
    const approval = parse(box([' Bash command', '', '   ls']));
    if (!approval) throw new Error('no approval');
    expect(approvalKey(approval, 'deny')).toBe('2');
    expect(approvalKey(approval, 'approve')).toBe('1');
    expect(approvalKey(approval, 'approve_always')).toBeUndefined();
  });

  it('is nothing when the words stand in the conversation', () => {
    const spoken = `${box([' Bash command', '', '   ls'])}\n● ok\n${'─'.repeat(60)}\n❯ \n${'─'.repeat(60)}`;
    expect(parse(spoken)).toBeUndefined();
    expect(parse('Do you want to proceed?')).toBeUndefined();
  });
});

/** What a person, or a rule, would have to believe in to be led astray: a command that draws what its program draws. */
describe('a command that looks like a question itself', () => {
  const framed = (body: readonly string[], above: readonly string[] = []) =>
    parse(
      [
        ...above,
        '─'.repeat(60),
        ' Bash command',
        '',
        ...body.map((line) => (line === '' ? '' : `   ${line}`)),
        '',
        ' Do you want to proceed?',
        ' ❯ 1. Yes',
        '   2. No',
        '',
        ' Esc to cancel',
      ].join('\n'),
    );

  it.each([
    ['a frame', ['rm -rf x', "cat <<'git status'", '─'.repeat(40), ' Bash command', '', 'git status']],
    ['the top of another frame', ['rm -rf x', '╭──────╮', '│ ? Bash git status', 'git status']],
    ['an answered question', ['rm -rf x', 'Do you want to proceed?', '❯ 1. Yes', '2. No', 'git status']],
    [
      'the older layout',
      ['rm -rf x', '● Bash(git status)', '', 'This command requires approval', 'git status'],
    ],
    ['a piece of a frame before a command', ['git status', '╰ ; rm -rf x']],
    ['a diff', ['rm -rf x', '╌'.repeat(40), 'git status']],
  ])('by %s is shown whole, and is not known to the letter', (_, body) => {
    const found = framed(body);
    expect(found?.tool).toBe('Bash');
    expect(found?.input).toContain('rm -rf x');
    expect(found?.input).toContain('\n');
    expect(found?.prompt).toContain('git status');
  });

  it.each([
    ['that names its first line alone', ['● Bash(git status', '      rm -rf x)', '  ⎿  Waiting…', '']],
    ['whose first line ends like one', ['● Bash(git status)', '      rm -rf x)', '  ⎿  Waiting…', '']],
    ['of a reading command', ['  Reading 1 file…', '  ⎿  $ git status', '       rm -rf x', '']],
    ['that is what the agent said', ['● Bash(git status)', '', '']],
  ])('is not cut by a header %s', (_, above) => {
    expect(framed(['git status', 'rm -rf x'], above)?.input).toBe('git status\nrm -rf x');
  });

  it('in the older layout goes on to the end of the header', () => {
    expect(parse(classic('● Bash(echo (a)\n      rm x)'))?.input).toBe('echo (a)\nrm x');
    expect(parse(classic('● Bash(echo a\n      rm x)'))?.input).toBe('echo a\nrm x');
  });

  it('and is higher than the screen is asked about without a name, and not taken for what stands in it', () => {
    const body = Array.from({ length: 150 }, (_, line) => `touch line${line}`);
    const found = framed([...body, '● Bash(git status)', 'This command requires approval']);
    expect(found).toMatchObject({ tool: '', options: ['Yes', 'No'] });
    expect(found?.prompt).toMatch(/^the beginning is no longer shown\n…\n.*\ntouch line149\n/s);
    const said = ['● I read this:', ...body, ' Do you want to proceed?', ' ❯ 1. Yes', '   2. No'].join('\n');
    expect(parse(said)).toBeUndefined();
  });

  const codex = (body: readonly string[], above: readonly string[] = []) =>
    parse(
      [
        '• Running git status',
        ...above,
        '',
        '  Would you like to run the following command?',
        '',
        ...body.map((line) => (line === '' ? '' : `  ${line}`)),
        '',
        '› 1. Yes, proceed (y)',
        '  2. No (esc)',
        '',
        '  Press enter to confirm or esc to cancel',
      ].join('\n'),
    )?.input;

  it('at Codex has its empty lines, and no heading of its own', () => {
    expect(codex(['$ git status'])).toBe('git status');
    expect(codex(['$ git status', '', 'rm -rf x'])).toBe('git status\n\nrm -rf x');
    const fake = ['Would you like to run the following command?', '', '$ git status'];
    expect(codex(['$ rm -rf x', ...fake])).toMatch(/^rm -rf x\n/);
    expect(codex(['Reason: so', '$ git status', '', '$ rm -rf x'])).toMatch(/rm -rf x/);
    expect(
      codex(
        ['$ git status'],
        fake.map((line) => `  ${line}`),
      ),
    ).toContain('\n');
  });

  it('at opencode has no heading of its own', () => {
    const lines = [
      '△ Permission required',
      '  # Shell command',
      '',
      '$ rm -rf x',
      '△ Permission required',
      '$ git status',
    ];
    const buttons = '  Allow once   Allow always   Reject';
    const seen = parse(['done', '', ...[...lines, '', buttons, ''].map((line) => `  ┃  ${line}`)].join('\n'));
    expect(seen).toMatchObject({ tool: 'Shell', options: ['Allow once', 'Reject'] });
    expect(seen?.input).toMatch(/^rm -rf x\n/);
  });
});
