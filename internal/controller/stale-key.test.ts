import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NOW, record } from '../session/testing/records.ts';
import { ownEnding } from './endings.ts';
import { provesStaleKey } from './stale-key.ts';

const KEY = '1d5cf6de-85e3-456a-80ec-dadce19f532b';
const OTHER = '99999999-85e3-456a-80ec-dadce19f532b';

/** As the programs print it. */
const SAID: readonly (readonly [program: string, says: (key: string) => string])[] = [
  ['Claude Code', (key) => `No conversation found with session ID: ${key}`],
  ['opencode', (key) => `Error: Session not found: ${key}`],
  [
    'Gemini CLI',
    (key) => `Error resuming session: Invalid session identifier "${key}".\n  Use --list-sessions`,
  ],
  ['pi', (key) => `No session found matching '${key}'`],
  ['Codex', (key) => `No saved session found with ID ${key}. Run \`codex resume\` without an ID`],
  [
    'an agent over ACP',
    (key) => `the agent does not have the conversation "${key}" any more: gone (code -32002)`,
  ],
  ['one that resumes nothing', (key) => `coder cannot go on with an earlier conversation ("${key}")`],
];

describe('a conversation is stale', () => {
  it.each(SAID)('when %s says so of it', (_, says) => {
    expect(provesStaleKey(`some output\n${says(KEY)}\n\n`, KEY)).toBe(true);
  });

  it.each(SAID)('not when %s says so of another one, or it is long ago', (_, says) => {
    expect(provesStaleKey(says(OTHER), KEY)).toBe(false);
    expect(provesStaleKey(`${says(KEY)}\n${'and then it worked\n'.repeat(40)}`, KEY)).toBe(false);
  });

  it('wherever the terminal breaks the line', () => {
    const says = SAID[0]?.[1](KEY) ?? '';
    fc.assert(
      fc.property(fc.integer({ min: 8, max: 120 }), (columns) => {
        const lines = says.match(new RegExp(`.{1,${columns}}`, 'g')) ?? [];
        expect(provesStaleKey(lines.join('\n'), KEY)).toBe(true);
      }),
    );
  });

  it.each([
    'Session not found',
    'session user42 not found',
    'No conversation found to continue',
    `resuming ${KEY}`,
    `${KEY}: not found`,
    'Error: connect ECONNREFUSED',
    '',
  ])('never by %j', (lines) => expect(provesStaleKey(lines, KEY)).toBe(false));

  it('never without a key', () => expect(provesStaleKey('Session not found: ', '')).toBe(false));

  it('never by a death alone, whatever else was printed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
        expect(provesStaleKey(text, KEY)).toBe(false);
      }),
    );
  });
});

describe('what its end writes', () => {
  const resumed = record({
    session_key: KEY,
    session_key_history: 'oldest',
    started_config_hash: 'abc',
    state: 'active',
    last_woke_at: '2026-01-01T00:00:00Z',
  });
  const context = { now: NOW, policy: { maxRestarts: 5, restartWindowMs: 60_000 }, random: () => 0.5 };
  const end = (lastLines: string) =>
    ownEnding(resumed, { exit: { code: 1 }, lastLines, how: 'exit 1' }, context).metadata;

  it('drops the key on proof, keeps it listed, and says why the next conversation is new', () => {
    expect(end(`No conversation found with session ID: ${KEY}`)).toMatchObject({
      session_key: '',
      started_config_hash: '',
      continuation_reset_pending: 'true',
      session_key_history: `${KEY},oldest`,
      new_conversation: expect.stringContaining(KEY),
    });
  });

  it('touches neither key nor list without proof', () => {
    for (const lines of ['Session not found', `No conversation found with session ID: ${OTHER}`, 'killed']) {
      const written = end(lines);
      for (const key of ['session_key', 'session_key_history', 'continuation_reset_pending']) {
        expect(written, key).not.toHaveProperty(key);
      }
    }
  });
});
