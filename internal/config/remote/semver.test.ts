import { describe, expect, it } from 'vitest';
import { compareVersions, parseRange, parseVersion, satisfies, type Version } from './semver.ts';

function version(text: string): Version {
  const parsed = parseVersion(text);
  if (!parsed) throw new Error(`no version: ${text}`);
  return parsed;
}

function inRange(text: string, range: string): boolean {
  const parsed = parseRange(range);
  if (!parsed) throw new Error(`no range: ${range}`);
  return satisfies(version(text), parsed);
}

describe('versions', () => {
  it('are ordered as semver.org orders them', () => {
    const ordered = [
      '0.9.9',
      '1.0.0-1',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0-rc.1',
      '1.0.0',
      '1.2.0',
      '1.10.0',
      '2.0.0',
    ];
    const shuffled = [...ordered].reverse();
    expect(shuffled.sort((a, b) => compareVersions(version(a), version(b)))).toEqual(ordered);
    expect(compareVersions(version('v1.0.0+build'), version('1.0.0'))).toBe(0);
  });

  it.each(['v1', '1.2', '01.2.3', '1.2.3.4', 'latest', '1.2.3-', '1.2.3-a..b', '99999999999999999999.0.0'])(
    '%s is none',
    (text) => expect(parseVersion(text)).toBeUndefined(),
  );
});

describe('ranges', () => {
  it.each([
    ['^1.2', ['1.2.0', '1.9.9'], ['1.1.9', '2.0.0', '1.3.0-rc.1', '2.0.0-rc.1']],
    ['^1.2.3-rc.1', ['1.2.3-rc.2', '1.2.3', '1.9.0'], ['1.2.4-rc.1', '1.2.3-alpha']],
    ['^0.2.3', ['0.2.3', '0.2.9'], ['0.3.0', '0.2.2']],
    ['^0.0.3', ['0.0.3'], ['0.0.4']],
    ['^0.0', ['0.0.0', '0.0.9'], ['0.1.0']],
    ['^0', ['0.0.1', '0.9.0'], ['1.0.0']],
    ['~1.2.3', ['1.2.3', '1.2.9'], ['1.3.0']],
    ['~1', ['1.0.0', '1.9.0'], ['2.0.0']],
    ['1.2.x', ['1.2.0', '1.2.7'], ['1.3.0']],
    ['1.x', ['1.9.0'], ['2.0.0', '0.9.0']],
    ['*', ['0.0.1', '9.9.9'], ['1.0.0-rc.1']],
    ['1.2', ['1.2.5'], ['1.3.0']],
    ['1.2.3', ['1.2.3', 'v1.2.3'], ['1.2.4']],
    ['>=1.0 <2', ['1.0.0', '1.9.9'], ['2.0.0', '0.9.0']],
    ['>= 1.0, < 2', ['1.5.0'], ['2.0.0']],
    ['>1.2', ['1.3.0'], ['1.2.9']],
    ['>1.2.3', ['1.2.4'], ['1.2.3']],
    ['<=1.2', ['1.2.9', '0.1.0'], ['1.3.0']],
    ['1.2 - 2.0', ['1.2.0', '2.0.9'], ['2.1.0', '1.1.0']],
    ['^1 || ^3', ['1.5.0', '3.0.0'], ['2.0.0']],
  ])('%s', (range, inside, outside) => {
    expect(inside.filter((text) => !inRange(text, range))).toEqual([]);
    expect(outside.filter((text) => inRange(text, range))).toEqual([]);
  });

  it.each(['main', 'sha:abcdef1', '', '^', '>=a', '1.2.3 main', 'v1-branch/x'])('%j is none', (text) =>
    expect(parseRange(text)).toBeUndefined(),
  );
});
