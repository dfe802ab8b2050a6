import { describe, expect, it } from 'vitest';
import { GcError } from '../../platform/errors.ts';
import { defaultName, parseSource } from './source.ts';

const parts = (text: string): readonly string[] => {
  const source = parseSource(text);
  return source.kind === 'remote' ? [source.url, source.subpath, source.ref] : [source.path];
};

describe('parseSource', () => {
  it.each([
    ['packs/x', ['packs/x']],
    ['../x', ['../x']],
    ['//packs/x', ['//packs/x']],
    ['/srv/x', ['/srv/x']],
    ['~/x', ['~/x']],
    ['https://h.org/a/b', ['https://h.org/a/b', '', '']],
    ['https://h.org/a/b.git/', ['https://h.org/a/b.git', '', '']],
    ['HTTPS://H.org/a/B', ['https://h.org/a/B', '', '']],
    ['https://h.org:8443/a/b//p/q#v1.2', ['https://h.org:8443/a/b', 'p/q', 'v1.2']],
    ['http://h.org/a#feature/x', ['http://h.org/a', '', 'feature/x']],
    ['file:///srv/r.git//p', ['file:///srv/r.git', 'p', '']],
    ['ssh://git@h.org/a/b//p', ['ssh://git@h.org/a/b', 'p', '']],
    ['git@h.org:a/b.git//p#main', ['git@h.org:a/b.git', 'p', 'main']],
    ['github.com/o/r', ['https://github.com/o/r', '', '']],
    ['github.com/o/r//p#x', ['https://github.com/o/r', 'p', 'x']],
    ['https://github.com/o/r/tree/main/p/q', ['https://github.com/o/r.git', 'p/q', 'main']],
    ['https://github.com/o/r/tree/v1', ['https://github.com/o/r.git', '', 'v1']],
  ])('%s', (text, expected) => {
    expect(parts(text)).toEqual(expected);
  });

  it.each([
    ['', 'must not be empty'],
    ['--upload-pack=x', 'must not start with "-"'],
    ['https://h.org/a\n--x', 'control characters'],
    ['ext::sh -c id', undefined],
    ['ext://x/y', '"ext://" is not a pack source'],
    ['https://h.org', 'names no repository'],
    ['https://h.org/a?token=s3cret', 'takes no query'],
    ['https://-oProxyCommand=x/a', 'is not a usable host'],
    ['ssh://-oProxyCommand=x/a', 'is not a usable host'],
    ['ssh://-l@h.org/a', 'is not a usable host'],
    ['git@-oProxyCommand=x:a', 'is not a usable address'],
    ['git@h.org:-a', 'is not a usable address'],
    ['https://h.org/a//../b', 'leaves the repository'],
    ['https://h.org/a//p/../../b', 'leaves the repository'],
    ['https://h.org/a//p/.git/hooks', 'leaves the repository'],
    ['https://h.org/a#-x', 'is not a usable branch, tag or commit'],
    ['https://h.org/a#a..b', 'is not a usable branch, tag or commit'],
    ['https://github.com/o/r/tree/main/p//q', '"//" and "#" do not go with it'],
    ['file://other/srv/r.git', 'file:///path'],
  ])('refuses %j', (text, message) => {
    // What no rule of remote sources matches is a path, and there will be no such folder.
    if (message === undefined) expect(parseSource(text).kind).toBe('local');
    else expect(() => parseSource(text)).toThrow(message);
  });

  it.each([
    'https://me:s3cret@h.org/a',
    'https://s3cret@h.org/a',
    'ssh://git:s3cret@h.org/a',
    'https://h.org/a?x=s3cret',
  ])('does not repeat the secret of %s', (text) => {
    try {
      parseSource(text);
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(GcError);
      expect(`${error} ${(error as GcError).next}`).not.toContain('s3cret');
    }
  });

  it('names an import after its folder, else its repository', () => {
    const name = (text: string) => defaultName(parseSource(text));
    expect(name('https://h.org/o/my.pack.git')).toBe('my-pack');
    expect(name('https://h.org/o/r//packs/review/')).toBe('review');
    expect(name('git@h.org:solo.git')).toBe('solo');
    expect(name('../tools/')).toBe('tools');
    expect(name('.')).toBe('');
  });
});
