import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seededIds } from '../../platform/ids.ts';
import { EMPTY_RUNTIME_CONFIG, type RuntimeConfig } from '../runtime-config.ts';
import { commandLine, isSimpleCommand, prepareLaunch, quoteShell, unquoteShell } from './launch.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "gc launch's "));
});
afterEach(() => rmSync(dir, { recursive: true }));

const prepare = (over: Partial<RuntimeConfig>) =>
  prepareLaunch(
    'mayor',
    { ...EMPTY_RUNTIME_CONFIG, workDir: dir, ...over },
    join(dir, 'private'),
    seededIds(1),
  );

/** Prints every argument on a line of its own, JSON. */
const SHOW_ARGUMENTS = `"${process.execPath}" -e 'console.log(JSON.stringify(process.argv.slice(1)))' --`;

async function argumentsOf(over: Partial<RuntimeConfig>): Promise<unknown> {
  const { launch } = await prepare(over);
  const [file = '', ...args] = launch.argv;
  return JSON.parse(execFileSync(file, args, { encoding: 'utf8', cwd: dir }));
}

describe('prepareLaunch', () => {
  it('gives the command one argument, whatever is in it and however long it is', async () => {
    for (const prompt of [
      'hi',
      "it's",
      'a\nb\n',
      '$HOME `x` "y" \\',
      '',
      '-x',
      '🙂'.repeat(800),
      'x'.repeat(100_000),
    ]) {
      const promptSuffix = quoteShell(prompt);
      expect(await argumentsOf({ command: SHOW_ARGUMENTS, promptSuffix })).toEqual([prompt]);
      expect(await argumentsOf({ command: SHOW_ARGUMENTS, promptSuffix, promptFlag: '--prompt' })).toEqual([
        '--prompt',
        prompt,
      ]);
    }
  });

  it('gives any prompt whole', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 1_500 }), async (text) => {
        const prompt = text.replaceAll('\0', '');
        expect(await argumentsOf({ command: SHOW_ARGUMENTS, promptSuffix: quoteShell(prompt) })).toEqual([
          prompt,
        ]);
      }),
      { numRuns: 15 },
    );
  });

  it('writes long commands to an owner-only script that removes itself', async () => {
    const { launch } = await prepare({
      command: SHOW_ARGUMENTS,
      promptSuffix: quoteShell('p'.repeat(2_000)),
    });
    const file = launch.argv[1] ?? '';
    expect(launch.argv[0]).toBe('/bin/sh');
    expect(file.startsWith(join(dir, '.gc', 'tmp'))).toBe(true);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(dir, '.gc', 'tmp')).mode & 0o777).toBe(0o700);
    execFileSync('/bin/sh', [file], { cwd: dir });
    expect(readdirSync(join(dir, '.gc', 'tmp'))).toEqual([]);
  });

  it('discards the script of a start that never ran it', async () => {
    const prepared = await prepare({ command: 'x', promptSuffix: quoteShell('p'.repeat(2_000)) });
    prepared.discard();
    expect(existsSync(prepared.launch.argv[1] ?? '')).toBe(false);
    prepared.discard();
  });

  it('types a prompt that no argument can carry', async () => {
    const prompt = 'long '.repeat(40_000);
    const prepared = await prepare({ command: 'agent', promptSuffix: quoteShell(prompt) });
    expect(prepared.typedPrompt).toBe(prompt);
    expect(prepared.launch.argv).toEqual(['/bin/sh', '-c', 'exec agent']);
  });

  it('unsets what is empty', async () => {
    const { launch } = await prepare({ command: 'x', env: { B: '', A: '', C: 'c' } });
    expect(launch.unsetEnv).toEqual(['A', 'B']);
    expect(launch.env).toEqual({ C: 'c' });
  });

  it('runs the default shell for an empty command', async () => {
    expect((await prepare({ env: { SHELL: '/bin/zsh' } })).launch.argv).toEqual(['/bin/zsh']);
    expect((await prepare({})).launch.argv).toEqual(['/bin/sh']);
  });

  it('refuses a work dir that is not there', async () => {
    await expect(prepare({ workDir: join(dir, 'missing') })).rejects.toMatchObject({
      code: 'work-dir-missing',
    });
  });

  it('ends with the exit code and message of a missing program', async () => {
    const { launch } = await prepare({ command: 'no-such-binary --x' });
    const [file = '', ...args] = launch.argv;
    expect(() => execFileSync(file, args, { stdio: 'pipe' })).toThrow(/no-such-binary/);
  });
});

describe('isSimpleCommand', () => {
  it.each([
    'claude',
    'claude --dangerously-skip-permissions --effort max',
    `claude --settings '{"a": "b; c"}'`,
    'agent "two words" $HOME/x',
    '/opt/x/bin/agent -c model=high',
  ])('can be replaced by its program: %s', (command) => {
    expect(isSimpleCommand(command)).toBe(true);
    expect(commandLine({ command, promptSuffix: '', promptFlag: '' })).toBe(`exec ${command}`);
  });

  it.each([
    'cd x && claude',
    'A=1 claude',
    'claude | tee log',
    'claude; exec sh',
    'claude &',
    'claude > log',
    'echo $(date)',
    'echo "$(date)"',
    '`which claude`',
    "sh -c 'unclosed",
    'exec claude',
    'if true; then claude; fi',
    '{ claude; }',
    'claude # comment',
    '',
  ])('stays with its shell: %j', (command) => {
    expect(isSimpleCommand(command)).toBe(false);
  });

  it('behaves the same with and without exec', () => {
    for (const command of ['printf "%s|" a "b c"', "printf '%s|' 'x;y'", 'printf %s $HOME']) {
      expect(isSimpleCommand(command)).toBe(true);
      const run = (line: string) => execFileSync('/bin/sh', ['-c', line], { encoding: 'utf8' });
      expect(run(`exec ${command}`)).toBe(run(command));
    }
  });
});

describe('quoteShell', () => {
  it('is undone by unquoteShell', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => unquoteShell(quoteShell(text)) === text));
  });
});
