import { afterEach, describe, expect, it } from 'vitest';
import { RuntimeUnavailableError, StartFailedError } from '../runtime/errors.ts';
import { readCrashState } from '../session/crash-policy.ts';
import { Board } from './board.ts';
import { CityEngine } from './city-engine.ts';
import type { ResolvedDesired } from './model.ts';
import type { Action } from './plan.ts';
import { CityHarness, cityYaml } from './testing/city-harness.ts';

let h: CityHarness;
afterEach(() => h.end());

async function engineWithRecord() {
  h = new CityHarness(cityYaml(['a']));
  const parts = await h.open('controller');
  const pokes: string[] = [];
  const engine = new CityEngine(parts, {
    poke: () => pokes.push('poke'),
    trouble: () => undefined,
    gap: () => undefined,
  });
  const record = await parts.store.create({
    template: 'a',
    sessionName: 'a',
    origin: 'manual',
    provider: '',
    workDir: '',
    command: '',
    instanceToken: 't',
    state: 'creating',
    pendingCreateClaim: true,
  });
  const desired = (await engine.desired([record])).get('a') as ResolvedDesired;
  const start: Action = { kind: 'start', sessionName: 'a', record, desired, why: 'test' };
  return { engine, parts, record, start };
}

describe('an operation', () => {
  it('does nothing when somebody changed the record since it was decided', async () => {
    const { engine, parts, record, start } = await engineWithRecord();
    await parts.store.apply(record.id, { state: 'suspended' });
    await expect(engine.executor.run(start)).rejects.toMatchObject({ code: 'revision-conflict' });
    expect(h.starts()).toBe(0);
    expect(engine.executor.operations.size).toBe(0);
  });

  it.each(['fails', 'is ready'] as const)(
    'leaves alone a life that another process brought up meanwhile, when its own start %s',
    async (how) => {
      const { engine, parts, record, start } = await engineWithRecord();
      const outcome = { kind: 'fails', error: new StartFailedError('setup', 'too late') } as const;
      h.provider.scripts.set('a', { delayMs: 5_000, ...(how === 'fails' ? { outcome } : {}) });
      const running = engine.executor.run(start);
      await h.until(() => h.starts() === 1);
      await parts.store.apply(record.id, { state: 'draining', state_reason: 'drained by a person' });
      const ended = await h.settled(running);
      expect(ended?.kind).toBe(how === 'fails' ? 'undecided' : 'started');
      expect(h.provider.log.count('Stop')).toBe(0);
      expect((await parts.store.get(record.id)).state).toBe('draining');
    },
  );

  it('writes its intent before the process starts', async () => {
    const { engine, start } = await engineWithRecord();
    const provider = h.provider.start.bind(h.provider);
    let seen: unknown;
    h.provider.start = (...args) => {
      const [record] = h.recordsNow();
      seen = {
        state: record?.state,
        token: record?.instanceToken,
        env: args[1].env['GC_INSTANCE_TOKEN'],
        generation: record?.generation,
      };
      return provider(...args);
    };
    await h.settled(engine.executor.run(start));
    expect(seen).toMatchObject({ state: 'creating', generation: 2 });
    const { token, env } = seen as { token: string; env: string };
    expect(token).toBe(env);
    expect(token).toMatch(/^[0-9a-f]{32}$/);
  });

  it('is one per session at a time', async () => {
    const { engine, start } = await engineWithRecord();
    h.provider.scripts.fallback = { delayMs: 1_000 };
    engine.executor.dispatch(start);
    engine.executor.dispatch(start);
    await h.until(() => engine.executor.operations.size === 0);
    expect(h.starts()).toBe(1);
  });

  it('REC-14 that fails is told of, and is tried again after a pause that grows', async () => {
    const { engine, record } = await engineWithRecord();
    h.provider.stopErrors.set('a', new Error('it hangs'));
    const stop: Action = { kind: 'stop', sessionName: 'a', record, reason: 'orphaned', instanceToken: '' };
    const waits: number[] = [];
    for (let i = 0; i < 4; i += 1) {
      await engine.executor.run(stop).catch(() => undefined); // it is meant to fail
      waits.push((engine.memory.retryAt.get('a') ?? 0) - engine.time.lived());
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000]);
    const told = await engine.parts.db.decisions(record.id, 10);
    expect(told.map((d) => [d.what, d.why])).toEqual([['stop failed', 'it hangs']]);
  });

  it('start of which nothing could be told says what keeps it, in its history and on the board', async () => {
    const { engine, record, start } = await engineWithRecord();
    h.provider.start = () => Promise.reject(new RuntimeUnavailableError('the cluster is asleep'));
    expect(await h.settled(engine.executor.run(start))).toMatchObject({ kind: 'undecided' });
    const [last] = await engine.parts.db.decisions(record.id, 1);
    expect([last?.what, last?.why]).toEqual(['start failed', 'the cluster is asleep']);
    expect(engine.memory.setbacks.get('a')).toBe('the cluster is asleep');
    const records = await engine.parts.store.list('open');
    const desired = await engine.desired(records);
    const survey = await engine.look();
    const [view] = await new Board(engine).views({ survey, records, desired, controlled: true });
    expect(view?.detail).toBe('is tried again soon: the cluster is asleep');
  });

  it('start that failed says its reason once, with what to do, whatever a broken back end says then', async () => {
    const { engine, parts, start } = await engineWithRecord();
    h.provider.start = () =>
      Promise.reject(
        new StartFailedError('no-login', 'it wants a login\nagent stderr:\nno key', {
          next: 'log in once',
          lastLines: 'agent stderr:\nno key\nit wants a login',
        }),
      );
    h.provider.stop = () => Promise.reject(new Error('it cannot stop either'));
    expect(await h.settled(engine.executor.run(start))).toMatchObject({ kind: 'failed' });
    const [event] = await parts.db.events.list({ type: 'session.crashed' });
    expect(event?.message).toBe('start failed: it wants a login (log in once)');
  });

  it('start that is not ready in time is ended, and its screen is the reason', async () => {
    const { engine, parts, start } = await engineWithRecord();
    h.provider.scripts.fallback = { delayMs: 3_600_000 };
    void engine.time.heartbeat(new AbortController().signal);
    const outcome = await h.settled(engine.executor.run(start));
    expect(outcome).toMatchObject({
      kind: 'failed',
      death: { how: expect.stringMatching(/^not ready after/) },
    });
    expect(h.provider.sessions.has('a')).toBe(false);
    const [record] = await parts.store.list('open');
    expect(record).toMatchObject({ state: 'asleep', lastWokeAt: undefined });
  });

  it('start that another controller left where nobody can take it up begins anew without a strike', async () => {
    const { engine, parts, start } = await engineWithRecord();
    await h.settled(engine.executor.run(start));
    const [left] = await parts.store.list('open');
    if (left === undefined || start.kind !== 'start') throw new Error('nothing was started');
    h.provider.continueStart = () =>
      Promise.reject(new StartFailedError('prompt-uncertain', 'cut off while its prompt was typed'));
    const { desired, sessionName } = start;
    const goOn: Action = { kind: 'continue-start', sessionName, record: left, desired };
    expect(await h.settled(engine.executor.run(goOn))).toMatchObject({ kind: 'over' });
    expect(h.provider.sessions.has('a')).toBe(false);
    const [record] = await parts.store.list('open');
    expect(record).toMatchObject({ state: 'asleep', pendingCreateClaim: true, lastWokeAt: undefined });
    if (record) expect(readCrashState(record.metadata, h.clock.now()).strikes).toEqual([]);
    expect(await h.eventTypes()).toEqual(['session.woke', 'session.stopped']);
  });

  it('start that asks counts as asked from its beginning on, by the clock as it is then', async () => {
    const { engine, start } = await engineWithRecord();
    const outcome = { kind: 'waits-for-person', question: 'trust?' } as const;
    h.provider.scripts.set('a', { delayMs: 5_000, outcome });
    const running = engine.executor.run(start);
    await h.until(() => h.starts() === 1);
    h.clock.jumpWall(-3_600_000);
    const begun = h.clock.now();
    expect((await h.settled(running))?.kind).toBe('asks');
    expect(engine.memory.askedAt.get('a')).toBeLessThanOrEqual(begun);
  });

  it('start into a work dir that cannot be made says which', async () => {
    const { engine, start } = await engineWithRecord();
    const broken =
      start.kind === 'start'
        ? {
            ...start,
            desired: { ...start.desired, config: { ...start.desired.config, workDir: '/dev/null/x' } },
          }
        : start;
    expect(await h.settled(engine.executor.run(broken))).toMatchObject({
      kind: 'failed',
      death: { how: expect.stringContaining('cannot make the work dir /dev/null/x') },
    });
    expect(h.starts()).toBe(0);
  });
});
