import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { SessionRecord } from '../session/record.ts';
import { CityHarness, programYaml } from './testing/city-harness.ts';

let h: CityHarness;
afterEach(() => h.end());

const ID = '01a22da3-96c0-70e7-a2af-1ef9770ae828';
const OTHER = '01a22da3-96c0-70e7-a2af-000000000000';

/** What its empty input box stands between. */
const RULE = '─'.repeat(40);

/** Agents of a program that names its conversations itself, all of them in one folder. */
async function up(...names: readonly string[]): Promise<void> {
  h = new CityHarness(programYaml('pi', 'args: []', names));
  await h.up();
  await h.running(names.length);
}

const recordOf = (name: string): Promise<SessionRecord> => h.record(name);
const keyOf = async (name: string): Promise<string> => (await recordOf(name)).sessionKey;

/** What pi writes when it was told something. */
async function writes(id: string, text: string, workDir: string): Promise<void> {
  const slug = `--${workDir.slice(1).replaceAll('/', '-')}--`;
  const file = join(h.dir, '.pi', 'agent', 'sessions', slug, `2026-01-01T00-00-00-000Z_${id}.jsonl`);
  mkdirSync(dirname(file), { recursive: true });
  const timestamp = new Date(h.clock.now() + 1).toISOString();
  const said = (role: string, more: object) => ({ type: 'message', timestamp, message: { role, ...more } });
  const lines = [
    { type: 'session', version: 3, id, timestamp, cwd: workDir },
    { ...said('user', { content: text }), id: 'a', parentId: null },
    {
      ...said('assistant', {
        content: [{ type: 'text', text: 'City is up.\nNo work.' }],
        stopReason: 'stop',
      }),
      id: 'b',
      parentId: 'a',
    },
  ];
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  await h.pass(35_000);
}

describe('a program that names its conversations itself', () => {
  it('is told that name when it goes on, and what it said last is on the board', async () => {
    await up('a');
    expect(await keyOf('a')).toBe('');
    h.provider.peekOutput.set('a', [RULE, '', RULE].join('\n'));
    await writes(ID, 'hello', (await recordOf('a')).workDir);
    await h.until(async () => (await keyOf('a')) === ID);
    expect(await h.api.session('a')).toMatchObject({
      detail: 'City is up. No work.',
      conversation: { turn: 'idle', last_message: 'City is up. No work.' },
    });
    expect((await h.api.logs('a', { tail: 0 })).map(({ text }) => text)).toEqual([
      'hello',
      'City is up.\nNo work.',
    ]);
    h.provider.crash('a', { code: 1 });
    await h.until(() => h.starts('a') === 2);
    expect(h.provider.log.lastStartConfig('a')?.command).toContain(`--session ${ID}`);
    expect(await keyOf('a')).toBe(ID);
  });

  it('is known among others in its folder by its first prompt alone', async () => {
    await up('a', 'b');
    const { workDir } = await recordOf('a');
    expect((await recordOf('b')).workDir).toBe(workDir);
    await writes(OTHER, 'a person said this', workDir);
    await writes(ID, '[test] b • 2026-01-01T00:00:00\n\nwork', workDir);
    await h.until(async () => (await keyOf('b')) === ID);
    expect(await keyOf('a')).toBe('');
    await expect(h.api.logs('a', { tail: 1 })).rejects.toThrow('no session file found for "a"');
  });
});
