import { describe, expect, it } from 'vitest';
import { profileOf } from '../runtime/profiles.ts';
import { echoesOf, judge, probeOf, readBefore, type Scene } from './inbox-evidence.ts';

const RULE = '─'.repeat(40);
const claude = (history: string, draft: string) =>
  `${history}\n${RULE}\n❯ ${draft}\n${RULE}\n  ? for shortcuts`;
const AT = 1_000_000;

const scene = (more: Partial<Scene>): Scene => ({
  message: 'Look at p-19\nand say what is missing',
  before: { token: 't1', echoes: 0, at: AT },
  token: 't1',
  screen: claude('hello', ''),
  lastActivity: AT + 5_000,
  profile: profileOf('claude'),
  prefix: '',
  said: undefined,
  ...more,
});
const kindOf = (more: Partial<Scene>) => judge(scene(more)).kind;

describe('a message whose typing was cut off', () => {
  it('arrived when the conversation holds it, whatever the screen shows and whoever runs now', () => {
    const said = ['Look at  p-19\n\nand say what is missing'];
    expect(kindOf({ said, token: 't2', screen: undefined })).toBe('accepted');
    expect(kindOf({ said: ['Look at p-19'] })).toBe('unknown');
  });

  it('arrived when the screen shows it once more above an empty input box', () => {
    expect(kindOf({ screen: claude('❯ Look at p-19\n  and say what is missing\n● I will', '') })).toBe(
      'accepted',
    );
    const before = { token: 't1', echoes: 1, at: AT };
    expect(kindOf({ before, screen: claude('❯ Look at p-19', '') })).toBe('unknown');
  });

  it('was not submitted when it stands in the input box', () => {
    expect(kindOf({ screen: claude('hello', 'Look at p-19') })).toBe('not-submitted');
    expect(kindOf({ screen: claude('hello', 'what a person types') })).toBe('unknown');
  });

  it('was not typed when nothing was shown since', () => {
    expect(kindOf({ lastActivity: AT - 5_000 })).toBe('not-submitted');
    expect(kindOf({ lastActivity: AT - 500 })).toBe('unknown');
    expect(kindOf({ lastActivity: undefined })).toBe('unknown');
  });

  it('is unknown without a screen, an input box, an earlier look, or in another life', () => {
    const draft = claude('hello', 'Look at p-19');
    expect(kindOf({ screen: undefined })).toBe('unknown');
    expect(kindOf({ screen: 'Look at p-19', profile: profileOf('') })).toBe('unknown');
    expect(kindOf({ screen: draft, before: undefined })).toBe('unknown');
    expect(kindOf({ screen: draft, token: 't2' })).toBe('unknown');
    expect(kindOf({ before: { token: 't1', echoes: -1, at: AT }, lastActivity: 0 })).toBe('unknown');
  });
});

it('looks for the first words that a screen shows in one line', () => {
  expect(probeOf('\n  \u00a0Look at p-19 \nmore')).toBe('Look at p-19');
  expect(probeOf('x'.repeat(100))).toHaveLength(40);
  expect(echoesOf('❯ Look at p-19\nno\n> Look at p-19 now', 'Look at p-19')).toBe(2);
  expect(echoesOf('anything', ' \n ')).toBe(0);
});

it.each(['', '{', '[]', 'null', '{"token":1}'])('reads no look from %j', (text) => {
  expect(readBefore(text)).toBeUndefined();
});
