import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { defaultBranch, legalBranch } from './branch-name.ts';

function gitTakes(name: string): boolean {
  try {
    execFileSync('git', ['check-ref-format', `refs/heads/${name}`], { stdio: 'ignore' });
    return !name.startsWith('-') && name !== 'HEAD';
  } catch {
    return false;
  }
}

const nasty = fc.string({
  unit: fc.constantFrom(
    'a',
    'Z',
    '.',
    '/',
    '-',
    '@',
    '{',
    '~',
    '^',
    ':',
    '?',
    '*',
    '[',
    '\\',
    ' ',
    '\x01',
    '\x7f',
    'ü',
    '.lock',
    '\ud800',
  ),
  maxLength: 12,
});

describe('a branch name', () => {
  it.each([
    ['gc/proj/worker-1', 'gc/proj/worker-1'],
    ['my branch~1', 'my-branch-1'],
    ['//a//b/', 'a/b'],
    ['.hidden/..x.', 'hidden/x'],
    ['a..b', 'a.b'],
    ['a.lock', 'a-lock'],
    ['a.lock.lock/b', 'a.lock-lock/b'],
    ['-rf', 'rf'],
    ['@', ''],
    ['HEAD', ''],
    ['', ''],
    ['x@{1}', 'x@-{1}'],
  ])('%j becomes %j', (wanted, name) => {
    expect(legalBranch(wanted)).toBe(name);
  });

  it('of an agent that names none says whose it is', () => {
    expect(defaultBranch('proj', 'binding.worker-2')).toBe('gc/proj/binding.worker-2');
  });

  it('is always one that git takes, and stays as it is when it was one', () => {
    fc.assert(
      fc.property(nasty, (text) => {
        const name = legalBranch(text);
        expect(name === '' || gitTakes(name)).toBe(true);
        expect(legalBranch(name)).toBe(name);
      }),
      { numRuns: 150 },
    );
  });

  it('is short enough for a file name', () => {
    expect(Buffer.byteLength(legalBranch('ü'.repeat(500)))).toBeLessThanOrEqual(200);
  });
});
