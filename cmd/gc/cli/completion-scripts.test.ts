import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { completionScript } from './completion-scripts.ts';

const run = promisify(execFile);

/** What bash would offer for a line, when `gc __complete` answers with `answers` and otherwise shows what it was asked. */
async function inBash(
  words: readonly string[],
  answers: string,
): Promise<{ asked: string; offered: string[] }> {
  const script = `
gc() { printf '%s|' "$@" >&3; printf '%s' "$ANSWERS"; }
${completionScript('bash')}
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 ))
{ _gc_complete; } 3>&2
printf '%s\\n' "\${COMPREPLY[@]}"
`;
  const { stdout, stderr } = await run('bash', ['--norc', '-c', script, 'bash', 'gc', ...words], {
    env: { PATH: process.env['PATH'], ANSWERS: answers },
  });
  return { asked: stderr, offered: stdout.split('\n').filter((line) => line !== '') };
}

describe('completion in bash', () => {
  it('passes the words and offers the values without their explanations', async () => {
    const { asked, offered } = await inBash(['session', 'attach', 'ma'], 'mayor\tthe mayor\nmarket\t\n');
    expect(asked).toBe('__complete|--|session|attach|ma|');
    expect(offered).toEqual(['mayor', 'market']);
  });

  it('passes an unfinished empty word', async () => {
    expect((await inBash(['session', 'attach', ''], '')).asked).toBe('__complete|--|session|attach||');
  });

  it('puts words together that bash splits at "="', async () => {
    const { asked, offered } = await inBash(
      ['nudge', 'm', '--delivery', '=', 'i'],
      '--delivery=immediate\t\n',
    );
    expect(asked).toBe('__complete|--|nudge|m|--delivery=i|');
    expect(offered).toEqual(['immediate']);
  });

  it('evaluates nothing that stands on the line', async () => {
    const { asked } = await inBash(['nudge', 'mayor', '$(echo pwned)', '`id`', ''], '');
    expect(asked).toBe('__complete|--|nudge|mayor|$(echo pwned)|`id`||');
  });

  it('quotes what a shell would take apart', async () => {
    expect((await inBash(['nudge', ''], 'two words\t\n')).offered).toEqual(['two\\ words']);
  });

  it('offers paths where a path is wanted', async () => {
    expect((await inBash(['start', '/us'], ':paths\n')).offered).toEqual(['/usr']);
  });
});
