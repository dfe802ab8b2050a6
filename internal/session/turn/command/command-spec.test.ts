import { describe, expect, it } from 'vitest';
import { parseCommandSpec } from './command-spec.ts';

describe('NAME=KIND:PROGRAM [ARGS]', () => {
  it('is split as a shell would, and nothing is expanded', () => {
    const env = { HOME: '/home/user' };
    expect(
      parseCommandSpec(`coder=claude:/opt/bin/claude --model opus --append "be brief: $HOME"`, env),
    ).toEqual({
      name: 'coder',
      kind: 'claude',
      program: '/opt/bin/claude',
      args: ['--model', 'opus', '--append', 'be brief: $HOME'],
      env,
    });
    expect(parseCommandSpec('s=shell:/bin/sh -c "a=b:c"', {}).args).toEqual(['-c', 'a=b:c']);
  });

  it.each([
    ['claude', 'it has no NAME=KIND:PROGRAM'],
    ['a=claude:', 'it has no NAME=KIND:PROGRAM'],
    ['Coder=claude:x', 'the name "Coder" is not of small letters, digits and inner dashes'],
    ['=claude:x', 'the name "" is not of small letters, digits and inner dashes'],
    ['a=gemini:x', '"gemini" is none of claude, codex, shell'],
  ])('%s: %s', (text, why) => {
    expect(() => parseCommandSpec(text, {})).toThrow(`${JSON.stringify(text)} names no command: ${why}`);
  });
});
