import { describe, expect, it } from 'vitest';
import { chooseProvider, type ProviderQuestion, providerName, scriptOf } from './registry.ts';

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

  it.each(['acp', 'k8s', 'hybrid', 'subprocess', 'tmux'])('%s is one of them', (name) => {
    expect(providerName(name, 'GC_SESSION')).toBe(name);
  });

  it('keeps the text of a script, whatever it looks like', () => {
    expect(providerName('exec:./tmux', 'GC_SESSION')).toBe('exec:./tmux');
    const chosen = choose({ env: { GC_SESSION: ' exec:/opt/My Scripts/s --x ' } });
    expect(chosen).toEqual({ name: 'exec:/opt/My Scripts/s --x', chosenBy: 'GC_SESSION' });
    expect(scriptOf('exec:exec:x')).toBe('exec:x');
  });

  it.each(['exec:', 'exec: '])('%j names no script', (name) => {
    expect(() => providerName(name, '[session] provider')).toThrow('[session] provider: "exec:');
  });

  it.each(['Exec:./x', 'exec', 'ACP', 'kubernetes'])('%s is none', (name) => {
    expect(() => providerName(name, 'GC_SESSION')).toThrow(`GC_SESSION: unknown provider "${name}"`);
  });
});
