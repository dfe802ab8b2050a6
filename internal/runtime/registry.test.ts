import { describe, expect, it } from 'vitest';
import { FakeClock } from '../platform/fake-clock.ts';
import { failProvider } from './fail.ts';
import { FakeProvider } from './fake.ts';
import { chooseProvider, createProvider, type ProviderQuestion, providerName } from './registry.ts';

const choose = (over: Partial<ProviderQuestion>) =>
  chooseProvider({ env: {}, configProvider: '', tmuxOnPath: false, recorded: undefined, ...over });

describe('chooseProvider', () => {
  it.each<[Partial<ProviderQuestion>, string, string]>([
    [{ tmuxOnPath: true }, 'tmux', 'default'],
    [{}, 'subprocess', 'default'],
    [{ configProvider: 'tmux' }, 'tmux', 'config'],
    [{ configProvider: 'tmux', env: { GC_SESSION: 'fake' } }, 'fake', 'GC_SESSION'],
    [{ configProvider: 'tmux', env: { GC_SESSION: ' ' } }, 'tmux', 'config'],
    [{ recorded: 'subprocess', env: { GC_SESSION: 'mayor' }, tmuxOnPath: true }, 'subprocess', 'record'],
  ])('%j', (question, name, chosenBy) => {
    expect(choose(question)).toEqual({ name, chosenBy });
  });

  it('offers the nearest name for a slip, and never falls back in silence', () => {
    expect(() => choose({ env: { GC_SESSION: 'tmx' } })).toThrow(
      'GC_SESSION: unknown provider "tmx"; did you mean "tmux"?',
    );
    expect(() => choose({ configProvider: 'sub-process' })).toThrow('did you mean "subprocess"?');
    expect(() => choose({ configProvider: 'zzzzzzzzz' })).toThrow(/unknown provider "zzzzzzzzz"$/);
  });

  it.each(['acp', 'k8s', 'hybrid', 'exec:./script'])('%s comes later', (name) => {
    expect(() => providerName(name, 'GC_SESSION')).toThrow(`GC_SESSION: the provider "${name}" comes later`);
  });
});

describe('createProvider', () => {
  it('calls the one factory', async () => {
    const clock = new FakeClock();
    const refuse = () => Promise.reject(new Error('not this one'));
    const factories = {
      tmux: refuse,
      subprocess: refuse,
      fake: async () => new FakeProvider(clock),
      fail: async () => failProvider(clock),
    };
    expect((await createProvider({ name: 'fake', chosenBy: 'config' }, factories)).kind).toBe('fake');
    expect((await createProvider({ name: 'fail', chosenBy: 'config' }, factories)).kind).toBe('fail');
  });
});
