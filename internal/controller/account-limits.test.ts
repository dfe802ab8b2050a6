import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { SessionRecord } from '../session/record.ts';
import { failure, jsonl, prompt } from '../session/transcript/testing/claude-lines.ts';
import type { SessionView } from './city-api.ts';
import { CityHarness } from './testing/city-harness.ts';

const WHILE_MS = 100_000;
/** Longer than a session's own wait for the limit, whatever chance adds to it. */
const OVER_MS = 300_000;
const LIMIT = "You've hit your usage limit. Try again in 3 minutes.";

let h: CityHarness;
afterEach(() => h.end());

/** `a` and `b` have one account, `c` has another. */
async function up(): Promise<void> {
  h = new CityHarness(
    [
      'workspace: { name: test }',
      'daemon: { patrol_interval: 30s, max_restarts: 2 }',
      'providers:',
      '  claude: { command: sh, process_names: [demo-agent] }',
      'agents:',
      '  - { name: a, provider: claude }',
      '  - { name: b, provider: claude }',
      '  - { name: c, provider: claude, env: { CLAUDE_CONFIG_DIR: /elsewhere } }',
      'named_sessions:',
      ...['a', 'b', 'c'].map((name) => `  - { template: ${name}, mode: always }`),
      '',
    ].join('\n'),
  );
  await h.up();
  await h.running(3);
}

const recordOf = (name: string): Promise<SessionRecord> => h.record(name);
const viewOf = (name: string): Promise<SessionView> => h.api.session(name);
const told = async (): Promise<readonly (string | undefined)[]> =>
  (await h.city.db.events.list({ type: 'account.limited' })).map(({ subject }) => subject);

describe('REC-04 a usage limit', () => {
  it('holds the starts of its account, of no other, until its time; keys are kept and nobody has a strike', async () => {
    await up();
    const key = (await recordOf('a')).sessionKey;
    h.provider.crash('a', { code: 1 }, LIMIT);
    await h.pass(1_000);
    h.provider.crash('b', { code: 1 }, 'something else');
    h.provider.crash('c', { code: 1 }, 'something else');
    await h.until(() => h.starts('c') === 2);
    await h.pass(WHILE_MS);
    expect([h.starts('a'), h.starts('b')]).toEqual([1, 1]);
    expect(await viewOf('a')).toMatchObject({ condition: 'backing-off' });
    const view = await viewOf('b');
    expect(view.condition).toBe('backing-off');
    expect(view.detail).toMatch(/^usage limit until \d\d:\d\d, seen in a$/);
    expect(Date.parse(view.next_try_at ?? '')).toBeGreaterThan(h.clock.now());
    expect(await told()).toEqual(['a']);
    expect((await recordOf('a')).metadata['crash_count'] ?? '').toBe('');
    await h.pass(OVER_MS - WHILE_MS);
    await h.running(3);
    expect((await recordOf('a')).sessionKey).toBe(key);
    expect((await recordOf('a')).quarantinedUntil).toBeUndefined();
  });

  it('is remembered by the next controller', async () => {
    await up();
    h.provider.crash('a', { code: 1 }, LIMIT);
    await h.pass(1_000);
    await h.down();
    h.provider.crash('b', { code: 1 }, 'something else');
    await h.up();
    await h.pass(WHILE_MS);
    expect(h.starts('b')).toBe(1);
    const { decisions } = await h.api.explain('b');
    expect(decisions.at(-1)).toMatchObject({ what: 'wait', why: 'usage limit of its account, seen in a' });
    await h.pass(OVER_MS);
    await h.running(3);
  });

  it('is tried by the session that a person wakes; when that works, the others follow', async () => {
    await up();
    h.provider.crash('a', { code: 1 }, LIMIT);
    await h.pass(1_000);
    h.provider.crash('b', { code: 1 }, 'something else');
    await h.pass(60_000);
    await h.settled(h.api.wake('a'));
    await h.until(() => h.starts('a') === 2);
    expect(h.starts('b')).toBe(1);
    h.provider.crash('a', { code: 1 }, LIMIT);
    await h.pass(60_000);
    expect([h.starts('a'), h.starts('b'), await told()]).toEqual([2, 1, ['a']]);
    await h.settled(h.api.wake('a'));
    await h.until(() => h.starts('a') === 3);
    await h.pass(60_000);
    await h.until(() => h.starts('b') === 2);
    await h.running(3);
  });

  it('that a living agent writes down leaves it alone, holds others, and lets its messages wait', async () => {
    await up();
    const { sessionKey, workDir } = await recordOf('a');
    const file = join(
      h.dir,
      '.claude',
      'projects',
      workDir.replace(/[^A-Za-z0-9]/g, '-'),
      `${sessionKey}.jsonl`,
    );
    mkdirSync(dirname(file), { recursive: true });
    const at = { timestamp: new Date(h.clock.now()).toISOString() };
    appendFileSync(
      file,
      jsonl([
        { ...prompt('u', 'go'), ...at },
        { ...failure('f', LIMIT), ...at },
      ]),
    );
    await h.until(async () => (await told()).length === 1);
    h.provider.crash('b', { code: 1 }, 'something else');
    await h.pass(WHILE_MS);
    expect([h.starts('a'), h.starts('b')]).toEqual([1, 1]);
    expect((await viewOf('a')).condition).not.toBe('backing-off');
    const reply = await h.settled(
      h.api.nudge('a', { text: 'hello', wait_idle_ms: 0, delivery: 'wait-idle' }),
    );
    expect(reply.outcome).toMatchObject({ kind: 'queued', why: 'its account reached a usage limit' });
  });
});
