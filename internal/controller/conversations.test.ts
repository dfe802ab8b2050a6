import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { cityFactOf } from '../protocol/events.ts';
import type { JsonObject } from '../protocol/protobuf.ts';
import { LOG_UID_KEY } from '../session/journal/facts.ts';
import type { SessionRecord } from '../session/record.ts';
import { CityHarness, programYaml } from './testing/city-harness.ts';

let h: CityHarness;
afterEach(() => h.end());

/** Agents whose program is told which conversation it has. */
async function up(...names: readonly string[]): Promise<void> {
  h = new CityHarness(programYaml('keyed', 'session_id_flag: --id, resume_flag: --resume', names));
  await h.up();
  await h.running(names.length);
}

const recordOf = (name: string): Promise<SessionRecord> => h.record(name);
const keyOf = async (name: string): Promise<string> => (await recordOf(name)).sessionKey;
const commandOf = (name: string): string | undefined => h.provider.log.lastStartConfig(name)?.command;

/** What the city told the session's log, in order. */
const factsOf = async (name: string): Promise<readonly JsonObject[]> => {
  await h.pass(100);
  const logs = await h.city.logs();
  const uid = (await recordOf(name)).metadata[LOG_UID_KEY] ?? '';
  return (await logs.read(uid, {}))
    .map(({ event }) => cityFactOf(event))
    .filter((fact) => fact !== undefined);
};
const startsIn = async (name: string) => (await factsOf(name)).filter(({ kind }) => kind === 'starting');
const toldAnew = async (): Promise<readonly (string | undefined)[]> =>
  (await h.city.db.events.list({ type: 'session.updated' })).map(({ message }) => message);

describe('a conversation', () => {
  it('DUR-14 outlives a suspension, a stop of the city and a crash; only who asks for a new one gets one', async () => {
    await up('a');
    const key = await keyOf('a');
    expect(commandOf('a')).toBe(`sh --id ${key}`);
    const resumed = async (starts: number): Promise<void> => {
      await h.until(() => h.starts('a') === starts);
      await h.running(1);
      expect([commandOf('a'), await keyOf('a')]).toEqual([`sh --resume ${key}`, key]);
    };
    await h.settled(h.api.suspend('a'));
    await h.settled(h.api.wake('a'));
    await resumed(2);
    await h.settled(h.runtime.stop());
    await h.down();
    await h.up();
    await resumed(3);
    h.provider.crash('a', { code: 1 });
    await resumed(4);
    expect(await toldAnew()).toEqual([]);
    const token = (await recordOf('a')).instanceToken;
    const asked = { from: 'a', subject: 's', body: '', by: 'session', instance_token: token } as const;
    await h.settled(h.api.handoff('a', asked));
    await h.until(() => h.starts('a') === 5);
    await h.running(1);
    expect(await keyOf('a')).not.toBe(key);
    expect((await startsIn('a')).map((fact) => fact['new_conversation'])).toEqual(
      Array.from({ length: 5 }, () => undefined),
    );
  });
});

describe('DUR-15 a program that does not know its conversation', () => {
  const unknown = (key: string) => `No conversation found with session ID: ${key}`;

  /** One start with a new key, told in events, decisions and the log; then it stays up. */
  async function expectOneFreshStart(key: string, starts: number): Promise<void> {
    await h.until(() => h.starts('a') === starts);
    await h.running(1);
    const why = `its program does not know conversation ${key}`;
    const record = await recordOf('a');
    expect(record.sessionKey).not.toBe(key);
    expect(record.metadata['session_key_history']).toBe(key);
    expect(commandOf('a')).toBe(`sh --id ${record.sessionKey}`);
    expect(await toldAnew()).toEqual([`begins a new conversation: ${why}`]);
    expect((await startsIn('a')).at(-1)).toMatchObject({
      new_conversation: why,
      conversation: record.sessionKey,
      continuation_epoch: 2,
    });
    const { decisions } = await h.api.explain('a');
    expect(decisions.filter(({ what }) => what === 'new conversation')).toMatchObject([{ why }]);
    const crashed = (await factsOf('a')).findLast(({ kind }) => kind === 'crashed');
    expect(crashed).toMatchObject({ conversation_dropped: key });
    await h.pass(60_000);
    expect(h.starts('a')).toBe(starts);
    expect((await recordOf('a')).metadata['new_conversation'] ?? '').toBe('');
  }

  it('and ends is started afresh once, and that is told', async () => {
    await up('a');
    const key = await keyOf('a');
    h.provider.crash('a', { code: 1 }, unknown(key));
    await expectOneFreshStart(key, 2);
  });

  it('and ends before it is ready, too', async () => {
    await up('a');
    const key = await keyOf('a');
    const dies = { kind: 'dies', exit: { code: 1 }, lastLines: unknown(key) } as const;
    h.provider.scripts.set('a', { outcome: dies }, {});
    h.provider.crash('a', { signal: 'SIGKILL' });
    await h.until(() => h.starts('a') === 2);
    expect(commandOf('a')).toBe(`sh --resume ${key}`);
    await expectOneFreshStart(key, 3);
  });

  it('and leaves a shell in its terminal is not shown as alive, and started afresh', async () => {
    await up('a');
    const key = await keyOf('a');
    h.provider.peekOutput.set('a', `${unknown(key)}\n$ `);
    h.provider.zombies.add('a');
    await h.until(() => h.provider.log.count('Stop', 'a') === 1, 60_000);
    h.provider.zombies.delete('a');
    h.provider.peekOutput.delete('a');
    await expectOneFreshStart(key, 2);
    const [crashed] = await h.city.db.events.list({ type: 'session.crashed' });
    expect(crashed?.message).toMatch(/^no agent in it: /);
  });
});

describe('DUR-16 ten sessions', () => {
  const names = Array.from({ length: 10 }, (_, n) => `a${n}`);
  const keys = async () =>
    new Map(await Promise.all(names.map(async (name) => [name, await keyOf(name)] as const)));
  const lives = () => names.map((name) => h.provider.sessions.get(name)?.config.command ?? '');

  it('have the same ten conversations after a restart, and none that lives is started beside itself', async () => {
    await up(...names);
    const before = await keys();
    expect(new Set(before.values()).size).toBe(10);
    const commands = lives();
    for (const end of ['told', 'killed'] as const) {
      if (end === 'told') await h.down();
      else h.kill();
      await h.up();
      await h.running(10);
      await h.pass(10_000);
      expect(await keys()).toEqual(before);
      expect([h.starts(), lives()]).toEqual([10, commands]);
    }
  });

  it('are each resumed with their own when all died while no controller was there', async () => {
    await up(...names);
    const before = await keys();
    h.kill();
    h.provider.loseInfrastructure('the machine went down');
    await h.up();
    await h.until(() => h.starts() === 20);
    await h.running(10);
    expect(await keys()).toEqual(before);
    expect(lives()).toEqual(names.map((name) => `sh --resume ${before.get(name)}`));
    expect(await toldAnew()).toEqual([]);
  });

  it('that live are taken over when the city’s memory is gone, and get ten new ones later, which is told', async () => {
    await up(...names);
    const before = new Set((await keys()).values());
    await h.down();
    rmSync(join(h.dir, '.gc'), { recursive: true });
    await h.up();
    await h.running(10);
    await h.pass(5_000);
    expect(h.starts()).toBe(10);
    h.provider.loseInfrastructure('the server was killed');
    await h.until(() => h.starts() === 20);
    await h.running(10);
    const after = new Set((await keys()).values());
    expect(after.size).toBe(10);
    expect([...after].filter((key) => before.has(key))).toEqual([]);
    const anew = (await toldAnew()).filter((message) => message?.startsWith('begins a new conversation'));
    expect(anew).toHaveLength(10);
  });
});

describe('DUR-17 a session whose key is gone', () => {
  it('begins a new conversation, and says so before it does', async () => {
    await up('a');
    const key = await keyOf('a');
    await h.settled(h.api.suspend('a'));
    const { id } = await recordOf('a');
    await h.city.db.beads.update(id, { metadata: { session_key: '' } });
    await h.settled(h.api.wake('a'));
    await h.until(() => h.starts('a') === 2);
    await h.running(1);
    const why = 'the key of the one before is not on record';
    expect(await keyOf('a')).not.toBe(key);
    expect(commandOf('a')).toBe(`sh --id ${await keyOf('a')}`);
    expect(await toldAnew()).toEqual([`begins a new conversation: ${why}`]);
    const starts = await startsIn('a');
    expect(starts.map((fact) => fact['new_conversation'])).toEqual([undefined, why]);
    expect(starts.map((fact) => fact['continuation_epoch'])).toEqual([1, 2]);
    const { decisions } = await h.api.explain('a');
    expect(decisions.map(({ what }) => what)).toContain('new conversation');
    h.provider.crash('a', { code: 1 });
    await h.until(() => h.starts('a') === 3);
    expect(commandOf('a')).toBe(`sh --resume ${await keyOf('a')}`);
    expect(await toldAnew()).toHaveLength(1);
  });

  it('is no news for a program that takes no key, or is to begin anew each time', async () => {
    h = new CityHarness(
      [
        'workspace: { name: test }',
        'providers:',
        '  keyed: { command: sh, session_id_flag: --id, resume_flag: --resume }',
        '  own: { command: sh, resume_flag: --resume }',
        'agents: [{ name: a, provider: own }, { name: b, provider: keyed, wake_mode: fresh }]',
        'named_sessions: [{ template: a, mode: always }, { template: b, mode: always }]',
        '',
      ].join('\n'),
    );
    await h.up();
    await h.running(2);
    for (const name of ['a', 'b']) h.provider.crash(name, { code: 1 });
    await h.until(() => h.starts() === 4);
    await h.running(2);
    expect(await toldAnew()).toEqual([]);
  });
});
