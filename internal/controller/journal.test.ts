import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { cityFactOf } from '../protocol/events.ts';
import { ChainWalk } from '../protocol/hash-chain.ts';
import type { JsonObject } from '../protocol/protobuf.ts';
import { LOG_UID_KEY } from '../session/journal/facts.ts';
import { CityHarness, cityYaml } from './testing/city-harness.ts';

let h: CityHarness;
afterEach(() => h.end());

const uidOf = async (name: string): Promise<string> => {
  const record = (await h.city.store.list('all')).find((candidate) => candidate.sessionName === name);
  return record?.metadata[LOG_UID_KEY] ?? '';
};

/** What the city told the log, in order; the chain is sound. */
const factsOf = async (name: string): Promise<readonly JsonObject[]> => {
  const logs = await h.city.logs();
  const records = await logs.read(await uidOf(name), { from: 1 });
  const walk = new ChainWalk();
  for (const record of records) walk.check(record);
  return records.map(({ event }) => cityFactOf(event)).filter((fact) => fact !== undefined);
};

const kindsOf = async (name: string) => (await factsOf(name)).map(({ kind }) => kind);
const lastOf = async (name: string, kind: string) =>
  (await factsOf(name)).findLast((fact) => fact['kind'] === kind);

describe('a running city', () => {
  it('makes a log for each session before anything is written in it, and begins an incarnation with each life', async () => {
    h = new CityHarness(cityYaml(['a']));
    await h.up();
    await h.running(1);
    await h.pass(100);
    const uid = await uidOf('a');
    expect(uid).toMatch(/^sess-[0-9a-f]{24}$/);
    const logs = await h.city.logs();
    const row = await logs.get(uid);
    const [record] = await h.records('active');
    expect(row).toMatchObject({ uid, project: 'test', name: 'a', harness: 'gascity', fence: 1 });
    expect(JSON.parse(row?.origin ?? '')).toEqual({
      source: 'gascity',
      subject: record?.id,
      attributes: { agent: 'a', template: 'a', city: 'test' },
    });
    expect(await kindsOf('a')).toEqual(['created', 'starting', 'started']);
    expect(await lastOf('a', 'starting')).toMatchObject({
      actor: 'gc',
      evidence: 'record',
      generation: 2,
      instance: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    expect(JSON.stringify(await factsOf('a'))).not.toContain(record?.instanceToken);

    h.provider.crash('a', { code: 3 }, 'out of luck');
    await h.until(() => h.starts('a') === 2);
    await h.running(1);
    await h.pass(100);
    expect(await kindsOf('a')).toEqual(['created', 'starting', 'started', 'crashed', 'starting', 'started']);
    expect(await lastOf('a', 'crashed')).toMatchObject({
      evidence: 'runtime',
      exit: { code: 3 },
      last_lines: 'out of luck',
      reason: expect.stringContaining('exit 3'),
    });
    expect((await logs.get(uid))?.fence).toBe(2);
  });

  it('DUR-14 tells who suspended, woke, killed and closed a session, in the one log that it keeps', async () => {
    h = new CityHarness(cityYaml(['a']));
    await h.up();
    await h.running(1);
    await h.settled(h.api.suspend('a'));
    await h.settled(h.api.wake('a'));
    await h.running(1);
    await h.settled(h.api.kill('a'));
    await h.until(() => h.starts('a') === 3);
    await h.running(1);
    await h.settled(h.api.rename('a', 'the first'));
    await h.pass(100);
    expect((await kindsOf('a')).slice(3)).toEqual([
      'stopping',
      'stopped',
      'suspended',
      'resumed',
      'starting',
      'started',
      'stopping',
      'killed',
      'starting',
      'started',
      'renamed',
    ]);
    expect(await lastOf('a', 'suspended')).toMatchObject({ actor: 'human', reason: 'by a person' });
    expect(await lastOf('a', 'resumed')).toMatchObject({ actor: 'human' });
    expect(await lastOf('a', 'killed')).toMatchObject({
      actor: 'human',
      cause: 'killed by a person',
      evidence: 'runtime',
    });
    expect(await lastOf('a', 'renamed')).toMatchObject({ actor: 'human', title: 'the first' });
  });

  it('tells drift and quarantine with their reasons', async () => {
    const yaml = cityYaml(['a', 'b'], 'daemon: { max_restarts: 2, restart_window: 1h }');
    h = new CityHarness(yaml);
    await h.up();
    await h.running(2);
    h.writeConfig(yaml.replace('run-a', 'run-a-new'));
    h.touchConfig();
    await h.until(() => h.provider.sessions.get('a')?.config.command === 'run-a-new');
    for (let times = 0; times < 2; times += 1) {
      await h.running(2);
      h.provider.crash('b', { code: 1 });
      await h.pass(3_000);
    }
    await h.until(async () => (await kindsOf('b')).includes('quarantined'));
    const drift = (await kindsOf('a')).slice(3);
    expect(drift.slice(0, 5)).toEqual(['drifted', 'draining', 'stopping', 'drained', 'starting']);
    expect(await lastOf('a', 'drained')).toMatchObject({ cause: 'config-drift' });
    expect(await lastOf('b', 'quarantined')).toMatchObject({ reason: expect.stringContaining('2 times') });
  });

  it('tells every session of a server that went with all of them, and blames none', async () => {
    h = new CityHarness(cityYaml(['a', 'b']));
    await h.up();
    await h.running(2);
    h.provider.loseInfrastructure('the server was killed');
    await h.until(() => h.starts() === 4);
    await h.running(2);
    await h.pass(100);
    for (const name of ['a', 'b']) {
      expect((await kindsOf(name)).slice(3)).toEqual(['lost', 'starting', 'started']);
      expect(await lastOf(name, 'lost')).toMatchObject({
        evidence: 'runtime',
        reason: 'the server was killed',
      });
    }
  });

  it('tells of a living session that it took over', async () => {
    h = new CityHarness(cityYaml(['a']));
    await h.up();
    await h.running(1);
    await h.down();
    rmSync(join(h.dir, '.gc'), { recursive: true });
    await h.up();
    await h.running(1);
    await h.pass(100);
    expect(await kindsOf('a')).toEqual(['created', 'adopted']);
    expect(await lastOf('a', 'adopted')).toMatchObject({ evidence: 'runtime', generation: 2 });
    expect((await (await h.city.logs()).get(await uidOf('a')))?.fence).toBe(1);
  });

  it('writes nothing while nothing changes', async () => {
    h = new CityHarness(cityYaml(['a', 'b']));
    await h.up();
    await h.running(2);
    await h.pass(1_000);
    const logs = await h.city.logs();
    const heads = async () => [await logs.head(await uidOf('a')), await logs.head(await uidOf('b'))];
    const [before, marker] = [await heads(), h.city.db.changeMarker()];
    await h.pass(300_000);
    expect(h.city.db.changeMarker()).toBe(marker);
    expect(await heads()).toEqual(before);
  });

  it('is told of the lives that a controller missed, and takes over what lives', async () => {
    h = new CityHarness(cityYaml(['a']));
    await h.up();
    await h.running(1);
    h.kill();
    h.provider.crash('a', { code: 9 });
    await h.up();
    await h.until(() => h.starts('a') === 2);
    await h.running(1);
    await h.pass(100);
    expect(await kindsOf('a')).toEqual(['created', 'starting', 'started', 'crashed', 'starting', 'started']);
  });
});

describe('a message', () => {
  it('is told with its text before it is typed, and what became of it with what proves it', async () => {
    h = new CityHarness(cityYaml(['a']));
    await h.up();
    await h.running(1);
    await h.settled(h.api.nudge('a', { text: 'do the thing', wait_idle_ms: 0, sender: 'mayor' }));
    await h.pass(100);
    const told = (await factsOf('a')).slice(3);
    expect(told.map(({ kind }) => kind)).toEqual(['nudged', 'typed', 'accepted']);
    expect(told[0]).toMatchObject({ actor: 'mayor', text: 'do the thing', bytes: 12 });
    expect(new Set(told.map(({ id }) => id)).size).toBe(1);
    expect(told[1]).toMatchObject({ way: 'terminal', attempt: 1 });
    expect(['screen', 'none']).toContain(told[2]?.['evidence']);
  });
});

describe('a command without a controller', () => {
  it('writes the logs of what it changed when it is done', async () => {
    h = new CityHarness(cityYaml(['a']));
    const api = await h.visitor();
    await h.settled(api.suspend('a'));
    await h.down();
    await h.open('visitor');
    expect(await kindsOf('a')).toEqual(['created', 'suspended']);
    expect(await lastOf('a', 'suspended')).toMatchObject({ actor: 'human' });
  });
});
