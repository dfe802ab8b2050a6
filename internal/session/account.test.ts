import { describe, expect, it } from 'vitest';
import { accountOf } from './account.ts';

const HOME = { HOME: '/home/me' };

describe('the account of an agent', () => {
  it('is one where program, login folder and keys are one', () => {
    const mine = accountOf('claude', HOME);
    expect(mine).toMatch(/^[0-9a-f]{16}$/);
    expect(accountOf('claude', { ...HOME, PATH: '/bin', CODEX_HOME: '/x' })).toBe(mine);
    expect(accountOf('claude', { CLAUDE_CONFIG_DIR: '/home/me/.claude' })).toBe(mine);
    const others = [
      accountOf('codex', HOME),
      accountOf('claude', { HOME: '/home/you' }),
      accountOf('claude', { ...HOME, CLAUDE_CONFIG_DIR: '/other' }),
      accountOf('claude', { ...HOME, ANTHROPIC_API_KEY: 'sk-1' }),
      accountOf('claude', { ...HOME, ANTHROPIC_API_KEY: 'sk-2' }),
    ];
    expect(new Set([mine, ...others]).size).toBe(6);
  });

  it('shows nothing of a key, and is none where nothing is known of the program', () => {
    expect(accountOf('pi', { ...HOME, OPENAI_API_KEY: 'sk-secret' })).not.toContain('secret');
    expect(accountOf('amp', HOME)).toBe('');
    expect(accountOf('', HOME)).toBe('');
    expect(accountOf('constructor', HOME)).toBe('');
  });
});
