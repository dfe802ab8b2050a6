import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { LocalCityApi } from './local-city-api.ts';
import { CityHarness, cityYaml } from './testing/city-harness.ts';

let h: CityHarness;

afterEach(() => h.end());

const mixed = `${cityYaml(['mayor', 'worker'])}  - { template: helper, mode: on_demand }\n`.replace(
  'named_sessions:',
  '  - { name: helper, start_command: run-helper, idle_timeout: 1h }\n  - { name: pair, start_command: run-pair, max_active_sessions: 1 }\nnamed_sessions:',
);

async function up(yaml = mixed): Promise<void> {
  h = new CityHarness(yaml);
  await h.up();
  await h.running(2);
}

const codeOf = async (work: Promise<unknown>) => {
  const error = await h.settled(
    work.then(
      () => undefined,
      (e: unknown) => e,
    ),
  );
  return error as { code?: string; message?: string; next?: string } | undefined;
};

describe('the board', () => {
  it('shows who is up, in the order of the file, with numbers', async () => {
    await up();
    const status = await h.api.status();
    expect(status).toMatchObject({
      city_name: 'test',
      city_path: h.dir,
      provider: { name: 'fake', chosen_by: 'GC_SESSION' },
      controller: { running: true },
      summary: {
        total_agents: 4,
        running_agents: 2,
        running_sessions: 2,
        wanted_sessions: 2,
        unknown_sessions: 0,
      },
      problems: [],
    });
    expect(status.sessions.map((s) => s.display_name)).toEqual(['mayor', 'worker']);
    expect(status.agents.find((agent) => agent.name === 'helper')).toMatchObject({
      running: false,
      suspended: false,
    });
  });

  it('tells working, idle and asking apart by the screen and by activity', async () => {
    await up();
    await h.pass(10_000);
    h.provider.peekOutput.set('mayor', 'All quiet in town.');
    expect(await h.api.session('mayor')).toMatchObject({ condition: 'idle', detail: 'All quiet in town.' });
    h.provider.peekOutput.set('mayor', '✻ Pondering… (3s · esc to interrupt)');
    h.provider.touch('mayor');
    await h.pass(1_100);
    expect(await h.api.session('mayor')).toMatchObject({ condition: 'working' });
    h.provider.peekOutput.set('mayor', 'Do you want to run it?\n❯ 1. Yes\n  2. No');
    h.provider.touch('mayor');
    await h.pass(1_100);
    expect(await h.api.session('mayor')).toMatchObject({
      condition: 'waits',
      detail: 'Do you want to run it?',
    });
  });

  it('does not capture a screen again that has not changed', async () => {
    await up();
    await h.pass(10_000);
    await h.api.status();
    const peeks = h.provider.log.count('Peek');
    for (let i = 0; i < 5; i += 1) {
      await h.pass(3_000);
      await h.api.status();
    }
    expect(h.provider.log.count('Peek')).toBe(peeks);
  });

  it('REC-18 shows what could not be told as unknown, never as stopped', async () => {
    await up();
    h.provider.broken = true;
    await h.pass(1_000);
    const status = await h.api.status();
    expect(status.summary).toMatchObject({ unknown_sessions: 2, running_sessions: 0 });
    expect(status.sessions.map((s) => s.condition)).toEqual(['unknown', 'unknown']);
    expect(status.problems.join()).toContain('could not be asked');
  });
});

describe('verbs with a controller', () => {
  it('kill ends it, forgets its strikes, and policy brings it back', async () => {
    await up();
    const before = await h.api.session('mayor');
    await h.settled(h.api.kill('mayor'));
    await h.running(2);
    const after = await h.api.session('mayor');
    expect(after.restarts).toBe(before.restarts + 1);
    const stopped = await h.city.db.events.list({ type: 'session.stopped' });
    expect(stopped).toMatchObject([{ subject: 'mayor', message: 'killed by a person' }]);
    expect(await h.eventTypes()).not.toContain('session.crashed');
  });

  it('suspend holds it down until wake', async () => {
    await up();
    expect(await h.settled(h.api.suspend('mayor'))).toMatchObject({ condition: 'suspended', wanted: false });
    await h.pass(60_000);
    expect(h.starts('mayor')).toBe(1);
    await h.api.wake('mayor');
    await h.running(2);
    expect(h.starts('mayor')).toBe(2);
  });

  it('suspend and wake while it starts end where the person wanted', async () => {
    h = new CityHarness(cityYaml(['mayor']));
    h.provider.scripts.fallback = { delayMs: 5_000 };
    await h.up();
    await h.until(() => h.provider.sessions.has('mayor'));
    expect(await h.settled(h.api.suspend('mayor'))).toMatchObject({ condition: 'suspended' });
    expect(h.provider.sessions.has('mayor')).toBe(false);
    await h.api.wake('mayor');
    await h.running(1);
  });

  it('an on-demand session comes when it is woken or nudged, and stays after a crash', async () => {
    await up();
    const reply = await h.settled(h.api.nudge('helper', { text: 'hello', wait_idle_ms: 0 }));
    expect(reply).toMatchObject({ session: 'helper', outcome: { kind: 'delivered', verified: true } });
    expect(h.provider.sessions.get('helper')?.messages).toEqual(['hello']);
    h.provider.crash('helper', { code: 1 });
    await h.until(() => h.starts('helper') === 2);
    await h.running(3);
    h.provider.crash('helper', { code: 0 });
    await h.pass(60_000);
    expect(h.starts('helper')).toBe(2);
    expect(await h.api.session('helper')).toMatchObject({ condition: 'asleep' });
  });

  it('new makes a session of a template, within its limit, and close ends it for good', async () => {
    await up();
    const made = await h.api.newSession({ template: 'pair', alias: 'mine', title: 'Two of us' });
    expect(made).toMatchObject({
      alias: 'mine',
      title: 'Two of us',
      template: 'pair',
      condition: 'starting',
    });
    await h.running(3);
    expect(await codeOf(h.api.newSession({ template: 'pair' }))).toMatchObject({
      code: 'max-sessions',
      next: expect.stringMatching(/^gc agent scale pair --max \d+, or close one/),
    });
    // What is wrong with the name does not wait for a place.
    expect(await codeOf(h.api.newSession({ template: 'pair', alias: '.x' }))).toMatchObject({
      code: 'invalid-session-alias',
    });
    expect(await h.settled(h.api.close('mine'))).toMatchObject({ condition: 'closed' });
    await h.pass(60_000);
    expect(h.provider.sessions.has(made.session_name)).toBe(false);
    expect((await h.api.sessions({ state: 'closed' })).map((s) => s.id)).toEqual([made.id]);
  });

  it('a closed named session comes back as a new one', async () => {
    await up();
    const before = await h.api.session('mayor');
    await h.settled(h.api.close('mayor'));
    await h.running(2);
    const after = await h.api.session('mayor');
    expect(after.id).not.toBe(before.id);
    expect(after).toMatchObject({ display_name: 'mayor', session_name: 'mayor' });
  });

  it('rename changes the title only', async () => {
    await up();
    expect(await h.api.rename('mayor', 'The boss')).toMatchObject({
      title: 'The boss',
      display_name: 'mayor',
    });
  });

  it('peek shows the last screen of an agent that ended, which takes no message', async () => {
    await up();
    h.provider.peekOutput.set('mayor', 'last words');
    h.provider.crash('mayor', { code: 1 }, 'You have reached your usage limit. Try again in 2 hours');
    await h.until(async () => (await h.api.session('mayor')).condition === 'backing-off');
    expect(await h.api.peek('mayor', 10)).toBe('last words');
    expect(await codeOf(h.api.nudge('mayor', { text: 'x', wait_idle_ms: 0 }))).toMatchObject({
      code: 'session-not-active',
    });
  });

  it('a nudge that was not delivered is an error that says so, one that can wait is queued', async () => {
    await up();
    h.provider.nudgeOutcomes.set('mayor', { kind: 'busy', detail: 'runs a command for 4m' });
    const error = await codeOf(h.api.nudge('mayor', { text: 'x', wait_idle_ms: 0 }));
    expect(error).toMatchObject({ code: 'session-busy' });
    expect(error?.message).toContain('nothing was sent');
    const waits = await h.settled(h.api.nudge('mayor', { text: 'y', wait_idle_ms: 1_000 }));
    expect(waits.outcome).toMatchObject({ kind: 'queued', why: expect.stringContaining('busy for 1') });
    h.provider.nudgeOutcomes.set('mayor', { kind: 'unsubmitted', detail: 'still in the box' });
    expect(await codeOf(h.api.nudge('mayor', { text: 'x', wait_idle_ms: 0 }))).toMatchObject({
      code: 'nudge-unsubmitted',
    });
    expect(await codeOf(h.api.nudge('mayor', { text: '', wait_idle_ms: 0 }))).toMatchObject({
      code: 'nudge-empty',
    });
  });

  it('offers the nearest name', async () => {
    await up();
    const error = await codeOf(h.api.kill('mayr'));
    expect(error).toMatchObject({ code: 'session-not-found' });
    expect(error?.message).toContain('"mayor"');
    expect(await codeOf(h.api.newSession({ template: 'helpr' }))).toMatchObject({ code: 'agent-not-found' });
  });

  it('suspends an agent in its file, and gives the file back as it was', async () => {
    await up(`# my city\n${mixed}`);
    const file = join(h.dir, 'city.yaml');
    const before = readFileSync(file, 'utf8');
    h.provider.waitForIdleErrors.set('worker', undefined);
    await h.settled(h.api.setAgentSuspended('worker', true));
    await h.until(() => !h.provider.sessions.has('worker'));
    expect(await h.api.session('worker')).toMatchObject({ condition: 'suspended' });
    await h.settled(h.api.setAgentSuspended('worker', false));
    expect(readFileSync(file, 'utf8')).toBe(before);
    await h.running(2);
  });

  it('explains what was decided, with what it saw and what helps', async () => {
    await up();
    h.provider.crash('mayor', { code: 1 }, 'boom');
    await h.until(() => h.starts('mayor') === 2);
    await h.running(2);
    const { decisions, helps } = await h.api.explain('mayor');
    expect(decisions.map((d) => d.what)).toEqual(['start', 'started', 'ended', 'start', 'started']);
    expect(decisions[2]).toMatchObject({
      why: expect.stringMatching(/^exit 1 after .*, by itself$/),
      lines: ['boom'],
    });
    expect(helps[0]?.command).toBe('gc nudge mayor "text"');
  });

  it('stop ends all and says so to everyone who asks', async () => {
    await up();
    const [one, two] = await h.settled(Promise.all([h.api.stop(), h.api.stop()]));
    expect(one).toEqual(two);
    expect(one.left).toEqual([]);
    expect(h.provider.sessions.size).toBe(0);
  });
});

describe('without a controller', () => {
  const visitor = async (): Promise<LocalCityApi> => {
    await up();
    await h.down();
    return h.visitor();
  };

  it('shows what lives, and that nobody looks after it', async () => {
    const api = await visitor();
    const status = await api.status();
    expect(status.controller).toEqual({ running: false });
    expect(status.sessions.map((s) => s.condition)).toEqual(['working', 'working']);
    expect(status.provider).toMatchObject({ name: 'fake', chosen_by: 'record' });
  });

  it('acts directly: kill, wake, new, nudge, close', async () => {
    const api = await visitor();
    expect(await h.settled(api.kill('mayor'))).toMatchObject({ condition: 'stopped', wanted: true });
    expect(h.provider.sessions.has('mayor')).toBe(false);
    expect(await h.settled(api.wake('mayor'))).toMatchObject({ condition: 'working' });
    const made = await h.settled(api.newSession({ template: 'helper' }));
    expect(made.session_name).toMatch(/^helper-adhoc-[0-9a-f]{10}$/);
    await h.settled(api.nudge(made.session_name, { text: 'hello', wait_idle_ms: 0 }));
    expect(h.provider.sessions.get(made.session_name)?.messages).toEqual(['hello']);
    expect(await h.settled(api.close(made.id))).toMatchObject({ condition: 'closed' });
    expect(h.provider.sessions.has(made.session_name)).toBe(false);
  });

  it('a start that fails says how', async () => {
    const api = await visitor();
    h.provider.scripts.set('helper', {
      outcome: { kind: 'dies', exit: { code: 127 }, lastLines: 'not found' },
    });
    const error = await codeOf(api.wake('helper'));
    expect(error).toMatchObject({ code: 'start-failed' });
    expect(error?.message).toContain('exit 127');
  });

  it('stop ends the sessions', async () => {
    const api = await visitor();
    expect(await h.settled(api.stop())).toEqual({
      stopped: expect.arrayContaining(['mayor', 'worker']),
      left: [],
    });
    expect(h.provider.sessions.size).toBe(0);
  });

  it('CFG-09 works on what runs, whatever is wrong with the file', async () => {
    await up();
    await h.down();
    h.writeConfig('agents: [');
    const api = await h.visitor();
    const status = await api.status();
    expect(status.config.error).toContain('city.yaml');
    expect(status.summary.running_sessions).toBe(2);
    expect((await h.settled(api.stop())).left).toEqual([]);
  });
});
