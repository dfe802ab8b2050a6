import { describe, expect, it } from 'vitest';
import { groups } from '../table/table.ts';
import { complete, type LiveNames } from './complete.ts';

const pack = (binding: string, words: string[]) => ({
  binding,
  words,
  packName: binding,
  description: 'does',
});
const names: LiveNames = {
  packs: async () => [pack('dolt', ['sql']), pack('dolt', ['backup', 'now']), pack('session', ['x'])],
  of: async (kind) =>
    ({ session: ['mayor', 'proj/worker'], agent: ['mayor', 'worker'], template: ['worker'], city: ['home'] })[
      kind
    ],
};

async function offered(...words: string[]): Promise<readonly string[] | 'paths'> {
  const answer = await complete(groups, words, names);
  return answer.kind === 'paths' ? 'paths' : answer.words.map((word) => word.value);
}

describe('completion', () => {
  it('offers commands and groups, not the hidden one', async () => {
    const words = await offered('');
    expect(words).toContain('status');
    expect(words).toContain('session');
    expect(words).not.toContain('__complete');
    expect(await offered('sta')).toEqual(['start', 'status']);
  });

  it('offers the words of a group', async () => {
    expect(await offered('session', 're')).toEqual(['respond', 'reset', 'rename']);
  });

  it('offers living names', async () => {
    expect(await offered('session', 'attach', '')).toEqual(['mayor', 'proj/worker']);
    expect(await offered('nudge', 'pro')).toEqual(['proj/worker']);
    expect(await offered('session', 'new', '')).toEqual(['worker']);
    expect(await offered('--city', '/c', 'agent', 'suspend', 'm')).toEqual(['mayor']);
  });

  it('offers options and their values', async () => {
    expect(await offered('session', 'peek', 'mayor', '--l')).toEqual(['--lines']);
    expect(await offered('session', 'nudge', 'mayor', '--delivery', 'w')).toEqual(['wait-idle']);
    expect(await offered('session', 'nudge', 'mayor', '--delivery=i')).toEqual(['--delivery=immediate']);
    expect(await offered('session', 'peek', 'mayor', '--lines', '')).toEqual([]);
  });

  it('leaves paths to the shell', async () => {
    expect(await offered('start', '')).toBe('paths');
    expect(await offered('status', '--city', '')).toBe('paths');
  });

  it('offers the commands of packs, but none that the program has itself', async () => {
    expect(await offered('do')).toEqual(['doctor', 'dolt']);
    expect(await offered('dolt', '')).toEqual(['sql', 'backup']);
    expect(await offered('--city', '/c', 'dolt', 'backup', '')).toEqual(['now']);
    expect(await offered('session', 'x')).toEqual([]);
  });

  it('offers nothing where nothing fits', async () => {
    expect(await offered('nudge', 'mayor', 'hello')).toEqual([]);
    expect(await offered('no-such-command', '')).toEqual([]);
  });
});
