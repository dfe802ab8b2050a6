import { afterEach, describe, expect, it } from 'vitest';
import { CityHarness, cityYaml } from './testing/city-harness.ts';

let h: CityHarness;

afterEach(() => h.end());

const yaml = cityYaml([['worker', 'drain_timeout: 60s'], 'other']);

async function up(text = yaml): Promise<void> {
  h = new CityHarness(text);
  await h.up();
  await h.running(2);
}

const meta = (name: string) => Object.fromEntries(h.provider.meta.get(name) ?? []);
const tokenOf = (name: string) => h.provider.sessions.get(name)?.config.env['GC_INSTANCE_TOKEN'] ?? '';
const stops = async () =>
  (await h.city.db.events.list({ type: 'session.stopped' })).map(({ subject, message }) => [
    subject,
    message,
  ]);
const codeOf = async (work: Promise<unknown>) =>
  (await h.settled(
    work.then(
      () => undefined,
      (e: unknown) => e,
    ),
  )) as { code: string } | undefined;

describe('a drain by a person', () => {
  it('is told to the agent, shown, and ends with its word; then the session stays down until it is woken', async () => {
    await up();
    expect((await h.api.drainState('worker')).draining).toBe(false);
    expect(await h.settled(h.api.drain('worker'))).toMatchObject({ condition: 'draining' });
    await h.until(() => meta('worker')['GC_DRAIN']);
    expect(meta('worker')).toMatchObject({
      GC_DRAIN_GENERATION: '2',
      GC_DRAIN_REASON: 'drained by a person',
    });
    expect(await h.api.drainState('worker', { instance_token: tokenOf('worker') })).toMatchObject({
      draining: true,
      reason: 'drained by a person',
    });
    expect((await h.api.session('worker')).detail).toContain('waits until it says that it is done');
    await h.pass(20_000);
    expect(h.provider.sessions.has('worker')).toBe(true);
    const life = { instance_token: tokenOf('worker') };
    expect(await h.settled(h.api.acknowledgeDrain('worker', life))).toMatchObject({ acknowledged: true });
    await h.until(() => !h.provider.sessions.has('worker'));
    await h.pass(90_000);
    expect(await h.api.session('worker')).toMatchObject({ condition: 'asleep', wanted: false });
    expect(h.starts('worker')).toBe(1);
    expect(await stops()).toEqual([['worker', 'drain acknowledged by agent']]);
    await h.api.wake('worker');
    await h.running(2);
    expect((await h.api.drainState('worker')).draining).toBe(false);
  });

  it('tells once, and ends at the drain timeout whoever does not answer, idle or not', async () => {
    await up();
    h.provider.busyUntil.set('worker', Number.POSITIVE_INFINITY);
    await h.settled(h.api.drain('worker'));
    await h.settled(h.api.drain('worker'));
    await h.pass(58_000);
    expect(h.provider.sessions.has('worker')).toBe(true);
    expect(h.provider.log.count('SetMeta', 'worker')).toBe(3);
    await h.until(() => !h.provider.sessions.has('worker'), 5_000);
    await h.pass(60_000);
    expect(h.starts('worker')).toBe(1);
    expect(await stops()).toEqual([
      ['worker', 'drained by a person: it did not say in time that it is done'],
    ]);
    const types = await h.eventTypes();
    expect(types.filter((type) => type === 'session.draining')).toHaveLength(1);
    const whys = (await h.api.explain('worker')).decisions.map(({ what, why }) => `${what}: ${why}`);
    expect(whys).toContain('drain: drained by a person');
    expect(whys).toContain('wait: drained by a person: until the agent says that it is done');
  });

  it('comes to the same when the agent leaves by itself, with or without a word', async () => {
    await up();
    for (const [name, says] of [
      ['worker', true],
      ['other', false],
    ] as const) {
      await h.settled(h.api.drain(name));
      if (says) await h.settled(h.api.acknowledgeDrain(name, { instance_token: tokenOf(name) }));
      const session = h.provider.sessions.get(name);
      if (session && !session.ended) h.provider.crash(name, { code: says ? 0 : 1 });
    }
    await h.pass(90_000);
    expect((await h.records()).map((record) => record.state)).toEqual(['drained', 'drained']);
    expect([h.starts('worker'), h.starts('other')]).toEqual([1, 1]);
    expect(await h.eventTypes()).not.toContain('session.crashed');
  });

  it('can be taken back, with what the agent said to it and what the runtime shows', async () => {
    await up();
    await h.settled(h.api.drain('worker'));
    await h.until(() => meta('worker')['GC_DRAIN']);
    await h.settled(h.api.undrain('worker'));
    expect((await h.api.drainState('worker')).draining).toBe(false);
    expect(Object.keys(meta('worker')).filter((key) => key.startsWith('GC_DRAIN'))).toEqual([]);
    await h.pass(120_000);
    expect(h.provider.sessions.has('worker')).toBe(true);
    expect(await h.eventTypes()).toContain('session.undrained');
    expect(await stops()).toEqual([]);
  });

  it('goes on when the controller is killed in the middle of it, with its deadline', async () => {
    await up();
    await h.settled(h.api.drain('worker'));
    await h.pass(30_000);
    h.kill();
    await h.up();
    expect((await h.api.drainState('worker')).draining).toBe(true);
    await h.pass(20_000);
    expect(h.provider.sessions.has('worker')).toBe(true);
    await h.until(() => !h.provider.sessions.has('worker'), 15_000);
    await h.pass(60_000);
    expect(h.starts('worker')).toBe(1);
  });

  it('is asked for and answered without a controller; the next one carries it out', async () => {
    await up();
    await h.down();
    const api = await h.visitor();
    expect(await h.settled(api.drain('worker'))).toMatchObject({ condition: 'draining' });
    expect(meta('worker')['GC_DRAIN']).toBeDefined();
    await h.settled(api.acknowledgeDrain('worker', { instance_token: tokenOf('worker') }));
    await h.city.close();
    await h.up();
    await h.until(() => !h.provider.sessions.has('worker'));
    expect((await h.records('drained')).map((record) => record.sessionName)).toEqual(['worker']);
  });

  it('needs a session that runs, and says why it cannot', async () => {
    await up();
    await h.settled(h.api.suspend('worker'));
    expect(await codeOf(h.api.drain('worker'))).toMatchObject({ code: 'session-not-active' });
    expect(await codeOf(h.api.drain('nobody'))).toMatchObject({ code: 'session-not-found' });
    expect(await codeOf(h.api.drainState('nobody'))).toMatchObject({ code: 'session-not-found' });
  });
});

describe('what an earlier life says', () => {
  it('is refused, and what it was asked is over', async () => {
    await up();
    const earlier = { instance_token: tokenOf('worker') };
    await h.settled(h.api.kill('worker'));
    await h.running(2);
    for (const work of [
      () => h.api.acknowledgeDrain('worker', earlier),
      () => h.api.requestRestart('worker', earlier),
      () => h.api.handoff('worker', { ...earlier, from: 'worker', subject: 's', body: '', by: 'session' }),
    ])
      expect(await codeOf(work())).toMatchObject({ code: 'session-replaced' });
    await h.settled(h.api.drain('worker'));
    expect((await h.api.drainState('worker', earlier)).draining).toBe(false);
    await h.settled(h.api.undrain('worker'));
    await h.provider.setMeta('worker', 'GC_DRAIN_ACK', '1');
    await h.provider.setMeta('worker', 'GC_DRAIN_GENERATION', '2');
    await h.provider.setMeta(
      'worker',
      'GC_RESTART_REQUESTED',
      String(Math.floor(h.clock.now() / 1_000) - 3_600),
    );
    await h.pass(60_000);
    expect(h.starts('worker')).toBe(2);
    expect(await h.city.db.beads.list({ type: 'message' })).toEqual([]);
  });
});

describe('the agent of a session that is drained for another reason', () => {
  it('says that it is done and comes back with the new config', async () => {
    await up();
    h.provider.busyUntil.set('worker', Number.POSITIVE_INFINITY);
    h.writeConfig(yaml.replace('run-worker', 'run-worker-new'));
    h.touchConfig();
    await h.until(async () => (await h.api.drainState('worker')).draining);
    await h.settled(h.api.acknowledgeDrain('worker', { instance_token: tokenOf('worker') }));
    await h.until(() => h.provider.sessions.get('worker')?.config.command === 'run-worker-new', 10_000);
    expect(await stops()).toEqual([['worker', 'config-drift']]);
  });

  it('is let go for good when a person says so meanwhile', async () => {
    await up();
    h.provider.busyUntil.set('worker', Number.POSITIVE_INFINITY);
    h.writeConfig(yaml.replace('run-worker', 'run-worker-new'));
    h.touchConfig();
    await h.until(async () => (await h.api.drainState('worker')).draining);
    expect((await h.settled(h.api.drain('worker'))).detail).toContain('drained by a person');
    await h.pass(90_000);
    expect((await h.records('drained')).map((record) => record.sessionName)).toEqual(['worker']);
  });
});

const resuming = `${yaml}providers:
  keeps: { command: 'true', session_id_flag: --id, resume_flag: --resume, resume_style: flag }
`
  .replace('start_command: run-worker', 'provider: keeps')
  .replace('start_command: run-other', 'provider: keeps\n    wake_mode: fresh');

describe('a new life that the agent asks for', () => {
  const keyOf = async (name: string) =>
    (await h.records()).find((record) => record.sessionName === name)?.sessionKey;

  it.each([
    ['worker', true],
    ['other', false],
  ] as const)('of %s keeps its conversation: %s', async (name, keeps) => {
    await up(resuming);
    const key = await keyOf(name);
    expect(key).not.toBe('');
    await h.settled(h.api.requestRestart(name, { instance_token: tokenOf(name) }));
    await h.until(() => h.starts(name) === 2);
    await h.running(2);
    expect((await keyOf(name)) === key).toBe(keeps);
    expect(await stops()).toEqual([[name, 'restart requested']]);
    const asked = await h.city.db.events.list({ type: 'session.draining' });
    expect(asked).toMatchObject([{ subject: name, message: 'restart requested by session' }]);
    await h.pass(60_000);
    expect(h.starts(name)).toBe(2);
  });

  it('is no crash when the agent leaves before it is ended', async () => {
    await up();
    h.provider.stopErrors.set('worker', new Error('not now'));
    await h.settled(h.api.requestRestart('worker', {}));
    h.provider.crash('worker', { code: 1 });
    h.provider.stopErrors.delete('worker');
    await h.until(() => h.starts('worker') === 2);
    expect(await h.eventTypes()).not.toContain('session.crashed');
  });

  it('survives a controller that is killed before it acts', async () => {
    await up();
    await h.down();
    const api = await h.visitor();
    await h.settled(api.requestRestart('worker', { instance_token: tokenOf('worker') }));
    await h.city.close();
    await h.up();
    await h.until(() => h.starts('worker') === 2);
    await h.running(2);
  });

  it('is an answer to a drain that is under way', async () => {
    await up();
    await h.settled(h.api.drain('worker'));
    await h.settled(h.api.requestRestart('worker', {}));
    await h.pass(90_000);
    expect(h.starts('worker')).toBe(1);
    expect(await stops()).toEqual([['worker', 'drain acknowledged by agent']]);
  });
});

describe('a handoff', () => {
  const letters = () => h.city.db.beads.list({ type: 'message' });

  it('to oneself is a letter and a life without the conversation, in one step', async () => {
    await up(resuming);
    const key = (await h.records()).find((record) => record.sessionName === 'worker')?.sessionKey;
    const life = { instance_token: tokenOf('worker') };
    const request = {
      ...life,
      from: 'worker',
      subject: 'half done',
      body: 'tests fail',
      by: 'session',
    } as const;
    const reply = await h.settled(h.api.handoff('worker', request));
    expect(reply).toMatchObject({ to: 'worker', stops: true });
    await h.until(() => h.starts('worker') === 2);
    await h.running(2);
    const now = (await h.records()).find((record) => record.sessionName === 'worker');
    expect(now?.sessionKey).not.toBe(key);
    expect(now?.metadata['session_key_history']).toContain(key);
    expect(await letters()).toMatchObject([
      {
        id: reply.mail_id,
        title: 'half done',
        description: 'tests fail',
        from: 'worker',
        assignee: 'worker',
        labels: ['gc:message', expect.stringMatching(/^thread:thread-[0-9a-f]{12}$/)],
      },
    ]);
    const events = await h.city.db.events.list({});
    expect(events.filter(({ type }) => type === 'mail.sent')).toMatchObject([
      { actor: 'worker', subject: reply.mail_id, message: 'worker' },
    ]);
    expect(events.some(({ type, message }) => type === 'session.draining' && message === 'handoff')).toBe(
      true,
    );
  });

  it('to another ends it before it returns; one that is down finds the letter at its start', async () => {
    await up();
    const request = { from: 'human', subject: 'new plan', body: '', by: 'other' } as const;
    expect(await h.settled(h.api.handoff('worker', request))).toMatchObject({ to: 'worker', stops: true });
    expect(await stops()).toEqual([['worker', 'restart requested']]);
    await h.running(2);
    expect(h.starts('worker')).toBe(2);
    await h.settled(h.api.suspend('worker'));
    expect(await h.settled(h.api.handoff('worker', request))).toMatchObject({ stops: false });
    await h.pass(30_000);
    expect(h.starts('worker')).toBe(2);
    expect(await letters()).toHaveLength(2);
    expect(await codeOf(h.api.handoff('nobody', request))).toMatchObject({ code: 'session-not-found' });
  });
});

describe('the end of a pool session', () => {
  it('is told once', async () => {
    h = new CityHarness(
      'workspace: { name: test }\nagents:\n  - { name: p, start_command: run-p, max_active_sessions: 2 }\n',
    );
    await h.up();
    h.provider.waitForIdleErrors.set('p-1', undefined);
    const bead = await h.city.db.beads.create({ title: 'work', metadata: { 'gc.routed_to': 'p' } });
    h.runtime.poke();
    await h.running(1);
    await h.city.db.beads.close(bead.id);
    h.runtime.poke();
    await h.until(async () => (await h.records()).length === 0);
    expect(await stops()).toEqual([['p-1', 'no-wake-reason']]);
    const told = await h.city.db.events.list({ type: 'session.updated' });
    expect(told).toMatchObject([{ subject: 'p-1', message: 'closed: scaled down' }]);
  });
});
