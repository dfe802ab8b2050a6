import { describe, expect, it } from 'vitest';
import { unusedProvider } from './provider-decision.ts';

describe('another provider in the file of a city whose sessions live', () => {
  it.each([
    ['tmux', 'subprocess', {}, 'session.provider is tmux now, but the sessions live in subprocess'],
    ['tmux', 'tmux', {}, ''],
    ['', 'subprocess', {}, ''],
    ['tmux', 'subprocess', { GC_SESSION: 'subprocess' }, ''],
  ])('%j while they live in %s (%j)', (named, used, env, said) => {
    expect(unusedProvider(named, used, env)).toEqual(said === '' ? [] : [expect.stringContaining(said)]);
  });
});
