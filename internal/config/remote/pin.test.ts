import { describe, expect, it } from 'vitest';
import { checkVersion, choosePin, defaultConstraint, meets, type RemoteRefs } from './pin.ts';
import { parseSource, type RemoteSource } from './source.ts';

const commit = (digit: string) => digit.repeat(40);
const refs: RemoteRefs = {
  head: commit('f'),
  tags: new Map([
    ['v1.0.0', commit('1')],
    ['v1.2.0', commit('2')],
    ['v1.10.0', commit('3')],
    ['v2.0.0-rc.1', commit('4')],
    ['v1', commit('3')],
    ['nightly', commit('5')],
  ]),
  branches: new Map([
    ['main', commit('f')],
    ['3.x', commit('6')],
  ]),
};
const at = (ref = '') => parseSource(`https://h.org/a${ref}`) as RemoteSource;
const pin = (...versions: readonly string[]) =>
  choosePin(
    at(),
    refs,
    versions.map((version, index) => ({ version, by: `import "${'xyz'[index]}"` })),
  );

describe('choosePin', () => {
  it.each([
    ['^1.0', '3', '1.10.0', 'v1.10.0'],
    ['~1.0', '1', '1.0.0', 'v1.0.0'],
    ['1.2.x', '2', '1.2.0', 'v1.2.0'],
    ['>=1.0 <1.10', '2', '1.2.0', 'v1.2.0'],
    ['1.2.0', '2', '1.2.0', 'v1.2.0'],
    ['v1.2.0', '2', '1.2.0', 'v1.2.0'],
    ['v1', '3', `sha:${commit('3')}`, 'v1'],
    ['v2.0.0-rc.1', '4', '2.0.0-rc.1', 'v2.0.0-rc.1'],
    ['nightly', '5', `sha:${commit('5')}`, 'nightly'],
    ['main', 'f', `sha:${commit('f')}`, 'main'],
    ['3.x', '6', `sha:${commit('6')}`, '3.x'],
    [`sha:${commit('a')}`, 'a', `sha:${commit('a')}`, ''],
    ['sha:5555555', '5', `sha:${commit('5')}`, ''],
  ])('%s', (version, digit, written, ref) => {
    expect(pin(version)).toEqual({ commit: commit(digit), version: written, ref });
  });

  it('takes the default branch, or the ref in the source, when nothing is asked', () => {
    expect(choosePin(at(), refs, [])).toMatchObject({ commit: commit('f') });
    expect(choosePin(at('#nightly'), refs, [])).toMatchObject({ commit: commit('5'), ref: 'nightly' });
    expect(choosePin(at('#nightly'), refs, [{ version: '~1.2', by: 'x' }])).toMatchObject({ ref: 'v1.2.0' });
  });

  it('takes one commit for all who ask, or says who cannot agree', () => {
    expect(pin('^1.0', '<1.10')).toMatchObject({ ref: 'v1.2.0' });
    expect(pin('^1.0', 'v1.2.0')).toMatchObject({ ref: 'v1.2.0' });
    expect(() => pin('^1.0', '~1.0', '1.2.x')).toThrow(
      'https://h.org/a: no version meets all: import "x" wants ^1.0, import "y" wants ~1.0, import "z" wants 1.2.x',
    );
    expect(() => pin('^1.0', 'main')).toThrow('import "y" wants main, import "x" wants ^1.0');
  });

  it('says what there is when nothing fits', () => {
    expect(() => pin('^9')).toThrow('no version meets ^9 (newest: v2.0.0-rc.1, v1.10.0, v1.2.0, v1.0.0)');
    expect(() => pin('nope')).toThrow('there is no tag, branch or commit "nope"');
    expect(() => pin('sha:abcdef0')).toThrow('write the whole commit');
    const empty = { head: undefined, tags: new Map(), branches: new Map() };
    expect(() => choosePin(at(), empty, [])).toThrow('the repository is empty');
    expect(() => choosePin(at(), empty, [{ version: '^1', by: 'x' }])).toThrow('it has no version tags');
  });
});

describe('what a new import asks for', () => {
  it('is everything compatible with the newest release', () => {
    expect(defaultConstraint(refs)).toBe('^1.10');
    expect(defaultConstraint({ ...refs, tags: new Map([['nightly', commit('5')]]) })).toBe('');
  });
});

describe('meets', () => {
  const locked = { commit: commit('2'), version: '1.2.0', ref: 'v1.2.0' };
  it.each(['', '^1.0', '1.2.0', 'v1.2.0', 'sha:2222222'])('%j', (version) =>
    expect(meets(locked, version)).toBe(true),
  );
  it.each(['^2', 'main', 'sha:3333333'])('not %j', (version) => expect(meets(locked, version)).toBe(false));
  it('an entry with nothing but a commit is taken at its word', () => {
    const bare = { commit: commit('2'), version: '', ref: '' };
    expect([meets(bare, '^9'), meets(bare, 'sha:3333333')]).toEqual([true, false]);
  });
});

describe('checkVersion', () => {
  it.each(['^1.2', '1.x', 'main', 'feature/x', 'sha:abcdef0'])('takes %s', (version) =>
    expect(() => checkVersion(version)).not.toThrow(),
  );
  it.each(['--x', 'a b', 'sha:xyz', 'a..b'])('refuses %s', (version) =>
    expect(() => checkVersion(version)).toThrow('is no version'),
  );
});
