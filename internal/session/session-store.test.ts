import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CityDatabase, openCityDatabase } from '../beads/sqlite/city-database.ts';
import { systemClock } from '../platform/clock.ts';
import { FakeClock } from '../platform/fake-clock.ts';
import { seededIds } from '../platform/ids.ts';
import { afterDeath, CLEAR, crashPatch, readCrashState } from './crash-policy.ts';
import { DecisionLog } from './decision-log.ts';
import type { NewSession } from './record-codec.ts';
import { SessionStore } from './session-store.ts';
import { beginDrain, restartRequest } from './transitions.ts';

let dir: string;
let clock: FakeClock;
let city: CityDatabase;
let store: SessionStore;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-sessions-'));
  clock = new FakeClock();
  city = openCityDatabase(join(dir, 'city.db'), clock, seededIds(1));
  store = new SessionStore(city);
});
afterEach(() => {
  city.close();
  rmSync(dir, { recursive: true, force: true });
});

const session = (more: Partial<NewSession> = {}): NewSession => ({
  template: 'worker',
  origin: 'manual',
  provider: 'claude',
  workDir: '/tmp/w',
  command: 'claude',
  instanceToken: 'a'.repeat(32),
  state: 'creating',
  ...more,
});

const named = (identity: string, sessionName: string): NewSession =>
  session({
    template: identity,
    agentName: identity,
    origin: 'named',
    named: { identity, mode: 'always' },
    sessionName,
    alias: identity,
  });

describe('making a session', () => {
  it('writes the record with its keys, labels and an automatic name', async () => {
    const record = await store.create(
      session({
        pendingCreateClaim: true,
        sessionKey: 'k',
        title: 'T',
        wakeMode: 'resume',
        metadata: { opt_model: 'x' },
      }),
    );
    expect(record).toMatchObject({
      id: 'gc-1',
      title: 'T',
      template: 'worker',
      agentName: 'worker',
      sessionName: 's-gc-1',
      sessionNameExplicit: false,
      state: 'creating',
      origin: 'manual',
      generation: 1,
      continuationEpoch: 1,
      pendingCreateClaim: true,
      sessionKey: 'k',
      createdAt: clock.now(),
      closed: false,
    });
    expect(record.metadata['opt_model']).toBe('x');
    const bead = await city.beads.get('gc-1');
    expect(bead.issue_type).toBe('session');
    expect([...bead.labels]).toEqual(['gc:session', 'template:worker', 'agent:worker']);
    expect(Object.values(bead.metadata)).not.toContain('');
  });

  it('commits the record with its event and its reason, or nothing', async () => {
    const record = await store.create(session(), {
      effects: ({ id }) => ({
        events: [{ type: 'bead.created', actor: 'gc', subject: id }],
        decisions: [{ what: 'start', why: 'asked for', inputs: { wanted: true } }],
      }),
    });
    expect((await city.events.list({}))[0]?.subject).toBe(record.id);
    expect(await new DecisionLog(city).last(record.id)).toEqual([
      { at: '2026-01-01T00:00:00Z', what: 'start', why: 'asked for', inputs: { wanted: true } },
    ]);
    const failing = store.create(session(), {
      effects: () => ({ events: [{ type: 'x', actor: 'gc', payload: 1n }] }),
    });
    await expect(failing).rejects.toMatchObject({ code: 'event-payload-invalid' });
    expect(await store.list('all')).toHaveLength(1);
  });

  it('refuses names that are wrong or taken, and leaves nothing behind', async () => {
    await store.create(session({ sessionName: 'one', sessionNameExplicit: true, alias: 'uno' }));
    const code = async (more: Partial<NewSession>) =>
      store.create(session(more)).then(
        () => 'made',
        (error: { code: string }) => error.code,
      );
    expect(await code({ sessionName: 'a.b', sessionNameExplicit: true })).toBe('invalid-session-name');
    expect(await code({ sessionName: '', sessionNameExplicit: true })).toBe('invalid-session-name');
    expect(await code({ sessionName: 's-9', sessionNameExplicit: true })).toBe('invalid-session-name');
    expect(await code({ sessionName: 'x y' })).toBe('invalid-session-name');
    expect(await code({ alias: 'human' })).toBe('invalid-session-alias');
    expect(await code({ sessionName: 'one' })).toBe('session-name-exists');
    expect(await code({ sessionName: 'uno' })).toBe('session-name-exists');
    expect(await code({ alias: 'uno' })).toBe('session-alias-exists');
    expect(await code({ alias: 'one' })).toBe('session-alias-exists');
    expect(await store.list('all')).toHaveLength(1);
  });

  it('keeps a chosen name for ever from others, closed or not', async () => {
    const first = await store.create(session({ sessionName: 'one', sessionNameExplicit: true }));
    await store.close(first.id, 'closed');
    await expect(store.create(session({ sessionName: 'one' }))).rejects.toMatchObject({
      code: 'session-name-exists',
      message: expect.stringContaining('closed'),
    });
  });

  it('NAM-05 lets a configured identity have its name, again after it closed', async () => {
    const configured = [{ identity: 'rig/mayor', sessionName: 'rig--mayor' }];
    await expect(store.create(session({ sessionName: 'rig--mayor' }), { configured })).rejects.toMatchObject({
      code: 'session-name-exists',
    });
    const first = await store.create(named('rig/mayor', 'rig--mayor'), { configured });
    await expect(store.create(named('rig/mayor', 'rig--mayor'), { configured })).rejects.toMatchObject({
      code: 'session-name-exists',
    });
    await store.close(first.id, 'closed');
    expect((await store.create(named('rig/mayor', 'rig--mayor'), { configured })).alias).toBe('rig/mayor');
  });

  it('NAM-07 gives exactly one of many that ask at once the name, across processes', async () => {
    const real = [1, 2].map((seed) => openCityDatabase(city.file, systemClock, seededIds(seed)));
    const stores = real.map((database) => new SessionStore(database));
    const tries = Array.from({ length: 12 }, (_, n) =>
      (stores[n % 2] ?? store).create(session({ sessionName: 'wanted', alias: 'w' })),
    );
    const results = await Promise.allSettled(tries);
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'session-name-exists' });
    }
    for (const database of real) database.close();
  });
});

describe('changing a session', () => {
  it('applies a patch together with its event and reason', async () => {
    const { id, revision } = await store.create(session());
    const changed = await store.apply(id, beginDrain('idle', clock.now()), {
      expectedRevision: revision,
      events: [{ type: 'session.draining', actor: 'gc', subject: id }],
      decisions: [{ what: 'drain', why: 'idle', inputs: {}, lines: ['last line'] }],
    });
    expect(changed).toMatchObject({ state: 'draining', stateReason: 'idle', revision: revision + 1 });
    expect(await store.get(id)).toEqual(changed);
    await expect(
      store.apply(
        id,
        { state: 'active' },
        { expectedRevision: revision, events: [{ type: 'x', actor: 'gc' }] },
      ),
    ).rejects.toMatchObject({ code: 'revision-conflict' });
    expect(await city.events.latestSeq()).toBe(1);
    expect((await new DecisionLog(city).last(id))[0]?.lines).toEqual(['last line']);
  });

  it('keeps replaced conversation keys and aliases listed, newest first', async () => {
    const { id } = await store.create(session({ sessionKey: 'k1', alias: 'a1' }));
    await store.apply(id, restartRequest('k2'));
    await store.apply(id, { session_key: '', alias: 'a2' });
    await store.apply(id, { session_key: 'k1', alias: 'a1' });
    const { metadata } = await store.apply(id, { session_key: 'k3', alias: '' });
    expect(metadata['session_key_history']).toBe('k1,k2');
    expect(metadata['alias_history']).toBe('a1,a2');
  });

  it('checks a new alias like a first one, and lets a session keep its own', async () => {
    const one = await store.create(session({ alias: 'one' }));
    const two = await store.create(session({ alias: 'two' }));
    await expect(store.apply(two.id, { alias: 'one' })).rejects.toMatchObject({
      code: 'session-alias-exists',
    });
    await expect(store.apply(two.id, { alias: 'a b' })).rejects.toMatchObject({
      code: 'invalid-session-alias',
    });
    await store.apply(one.id, { alias: 'one' });
    await store.close(one.id, 'closed');
    expect((await store.apply(two.id, { alias: 'one' }, { title: 'new title' })).title).toBe('new title');
  });

  it('stores the crash policy’s state and reads it back', async () => {
    const { id } = await store.create(session());
    let state = CLEAR;
    for (let n = 0; n < 5; n += 1) {
      state = afterDeath(
        state,
        { kind: 'own', uptimeMs: 0, how: 'exit 1' },
        { maxRestarts: 5, restartWindowMs: 60_000 },
        clock.now(),
        () => 0.5,
      );
    }
    const record = await store.apply(id, crashPatch(state));
    expect(readCrashState(record.metadata, clock.now())).toEqual(state);
    expect(record.quarantinedUntil).toBe(state.nextTryAt);
  });

  it('writes nothing for a patch that changes nothing', async () => {
    const { id, revision } = await store.create(session());
    const before = city.changeMarker();
    expect((await store.apply(id, { state: 'creating', sleep_reason: '' })).revision).toBe(revision);
    expect(city.changeMarker()).toBe(before);
  });

  it('knows what is no session', async () => {
    const bead = await city.beads.create({ title: 'work' });
    await expect(store.get('gc-404')).rejects.toMatchObject({ code: 'session-not-found' });
    for (const work of [
      store.get(bead.id),
      store.apply(bead.id, { state: 'x' }),
      store.close(bead.id, 'x'),
    ]) {
      await expect(work).rejects.toMatchObject({ code: 'not-a-session' });
    }
  });

  it('takes a record that lost its type for a session, and gives it its type back', async () => {
    const { id } = await store.create(session());
    await city.beads.update(id, { issue_type: '' });
    expect((await store.list('open')).map((record) => record.id)).toEqual([id]);
    await store.apply(id, { state: 'active' });
    expect((await city.beads.get(id)).issue_type).toBe('session');
  });
});

describe('closing and opening', () => {
  it('closes once, with everything released that held it', async () => {
    const { id } = await store.create(named('mayor', 'mayor'));
    await store.apply(id, {
      pin_awake: 'true',
      held_until: '2100-01-01T00:00:00Z',
      sleep_intent: 'user-hold',
    });
    const closed = await store.close(id, 'closed', { events: [{ type: 'session.stopped', actor: 'gc' }] });
    expect(closed).toMatchObject({
      closed: true,
      state: 'closed',
      alias: '',
      sessionName: '',
      pinAwake: false,
      heldUntil: undefined,
      sleepIntent: '',
    });
    expect(closed.metadata).toMatchObject({
      close_reason: 'closed',
      closed_at: '2026-01-01T00:00:00Z',
      alias_history: 'mayor',
    });
    await store.close(id, 'again', { events: [{ type: 'session.stopped', actor: 'gc' }] });
    expect(await city.events.latestSeq()).toBe(1);
    expect((await store.get(id)).metadata['close_reason']).toBe('closed');
  });

  it('an ordinary session keeps its names when it is closed', async () => {
    const { id } = await store.create(session({ sessionName: 'one', alias: 'uno' }));
    expect(await store.close(id, 'orphaned')).toMatchObject({
      sessionName: 'one',
      alias: 'uno',
      state: 'orphaned',
    });
  });

  it('opens a closed one as itself, unless its name is taken', async () => {
    const { id } = await store.create(session({ sessionName: 'one' }));
    await store.close(id, 'orphaned');
    expect(await store.reopen(id)).toMatchObject({ closed: false, state: 'asleep', sessionName: 'one' });
    await store.close(id, 'orphaned');
    await city.beads.create({
      title: 'past the session layer',
      issue_type: 'session',
      metadata: { session_name: 'one' },
    });
    await expect(store.reopen(id)).rejects.toMatchObject({ code: 'session-name-exists' });
  });

  it('lists open, closed and all, newest first', async () => {
    const made = [
      await store.create(session()),
      await store.create(session()),
      await store.create(session()),
    ];
    await store.close(made[1]?.id ?? '', 'closed');
    const ids = async (which: 'open' | 'closed' | 'all') => (await store.list(which)).map(({ id }) => id);
    expect(await ids('open')).toEqual(['gc-3', 'gc-1']);
    expect(await ids('closed')).toEqual(['gc-2']);
    expect(await ids('all')).toEqual(['gc-3', 'gc-2', 'gc-1']);
  });

  it('gives the same list while nothing changes, and a new one as soon as anybody changes anything', async () => {
    await store.create(session());
    const first = await store.list('open');
    expect(await store.list('open')).toBe(first);
    const other = openCityDatabase(city.file, clock, seededIds(2));
    await new SessionStore(other).apply('gc-1', { state: 'active' });
    expect((await store.list('open'))[0]?.state).toBe('active');
    await store.apply('gc-1', { state: 'asleep' });
    expect((await store.list('open'))[0]?.state).toBe('asleep');
    other.close();
  });
});
