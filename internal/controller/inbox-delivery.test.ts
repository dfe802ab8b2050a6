import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NudgeOptions, NudgeOutcome } from '../runtime/provider.ts';
import { LEASE_MS } from '../session/inbox.ts';
import type { NudgeReply } from './city-api.ts';
import { CityHarness, cityYaml } from './testing/city-harness.ts';
import { cityRuntimeDir } from './turn-flags.ts';

let h: CityHarness;
beforeEach(() => {
  h = new CityHarness(cityYaml([['mayor', 'ready_prompt_prefix: "> "'], 'worker']));
});
afterEach(() => h.end());

const ASLEEP = `${cityYaml(['mayor'])}  - { template: helper, mode: on_demand }
`.replace('named_sessions:', '  - { name: helper, start_command: run-helper }\nnamed_sessions:');

const told = (name: string): readonly string[] => h.provider.sessions.get(name)?.messages ?? [];
const flagOf = (name: string) => join(cityRuntimeDir(h.dir), 'turns', name, 'nudge');
const codeOf = (work: Promise<unknown>) =>
  h.settled(work.then(() => undefined)).catch((error: { code: string; message: string }) => error);

async function up(count = 2): Promise<void> {
  await h.up();
  await h.running(count);
}

function say(text: string, more: object = {}, to = 'mayor'): Promise<NudgeReply> {
  return h.settled(h.api.nudge(to, { text, wait_idle_ms: 2_000, ...more }));
}

const busy = (name = 'mayor') =>
  h.provider.nudgeOutcomes.set(name, { kind: 'busy', detail: 'runs a command for 4m' });

async function queue(name = 'mayor') {
  const [found] = await h.settled(h.api.nudgeQueues(name));
  if (!found) throw new Error('no queue');
  return found;
}

describe('an agent that is up', () => {
  it('is told at once, once, also when the request is repeated', async () => {
    await up();
    const first = await say('hello', { id: 'nudge-1' });
    expect(first).toMatchObject({ session: 'mayor', outcome: { kind: 'delivered', verified: true } });
    expect(await say('hello', { id: 'nudge-1' })).toMatchObject({ outcome: { kind: 'delivered' } });
    expect(told('mayor')).toEqual(['hello']);
    expect((await h.eventTypes()).filter((type) => type.startsWith('nudge.'))).toEqual([]);
  });

  it('NDG-01, NDG-07 that stays busy gets it later; the sender hears why, each try is on record', async () => {
    await up();
    busy();
    const reply = await say('one');
    expect(reply.outcome).toMatchObject({
      kind: 'queued',
      why: expect.stringMatching(/^busy for 2.*\(runs a command for 4m\)$/),
    });
    await say('two', { delivery: 'queue' });
    await h.pass(60_000);
    const { pending, waiting } = await queue();
    expect(waiting).toBe(2);
    expect(pending[0]).toMatchObject({ message: 'one', last_error: 'runs a command for 4m' });
    expect(pending[0]?.attempts).toBeGreaterThan(3);
    expect(pending[1]).toMatchObject({ message: 'two', attempts: 0 });
    h.provider.nudgeOutcomes.delete('mayor');
    await h.until(async () => (await queue()).waiting === 0, 120_000);
    expect(told('mayor')).toEqual(['one', 'two']);
    const types = (await h.eventTypes()).filter((type) => type.startsWith('nudge.'));
    expect(types).toEqual(['nudge.queued', 'nudge.queued', 'nudge.delivered', 'nudge.delivered']);
  });

  it('is tried as soon as it falls silent; NDG-06 without that notice a little later', async () => {
    await up();
    busy();
    await say('one');
    await h.pass(100_000);
    h.provider.nudgeOutcomes.delete('mayor');
    h.provider.touch('mayor');
    await h.until(() => told('mayor').length === 1, 4_000);
    h.provider.deliver = () => [];
    busy();
    await say('two');
    h.provider.nudgeOutcomes.delete('mayor');
    await h.until(() => told('mayor').length === 2, 61_000);
  });

  it('raises the flag of its hooks while something waits, and takes it down', async () => {
    await up();
    busy();
    await say('one');
    expect(existsSync(flagOf('mayor'))).toBe(true);
    const { items } = await h.settled(h.api.takeNudges('mayor'));
    expect(items).toMatchObject([{ message: 'one', sender: 'human', source: 'session' }]);
    await h.settled(h.api.acknowledgeNudges('mayor', items));
    expect(existsSync(flagOf('mayor'))).toBe(false);
    h.provider.nudgeOutcomes.delete('mayor');
    await h.pass(LEASE_MS);
    expect(told('mayor')).toEqual([]);
    busy();
    await say('two');
    h.provider.nudgeOutcomes.delete('mayor');
    await h.until(() => told('mayor').length === 1);
    await h.until(() => !existsSync(flagOf('mayor')));
  });

  it('is told what does not wait before what waits, and never in the middle of anything', async () => {
    await up();
    busy();
    await say('waits');
    h.provider.nudgeOutcomes.delete('mayor');
    expect(await say('now', { delivery: 'immediate' })).toMatchObject({ outcome: { kind: 'delivered' } });
    await h.until(() => told('mayor').length === 2);
    expect(told('mayor')).toEqual(['now', 'waits']);
  });
});

/** Where the controller is killed: before anything is typed, after it said so, after the agent has it. */
type Cut = 'waits' | 'typing' | 'typed' | 'arrived';

function cutOff(cut: Cut): void {
  const { provider } = h;
  const nudge = provider.nudge.bind(provider);
  const dies = () => {
    h.kill();
    return new Promise<NudgeOutcome>(() => undefined);
  };
  provider.nudge = async (name, content, options: NudgeOptions = {}) => {
    provider.nudge = nudge;
    if (cut === 'waits') return dies();
    if (cut === 'typing') {
      const peek = provider.peek.bind(provider);
      provider.peek = () => {
        provider.peek = peek;
        return dies() as Promise<never>;
      };
      return nudge(name, content, options);
    }
    if (cut === 'typed') {
      await options.beforeTyping?.();
      return dies();
    }
    await nudge(name, content, options);
    return dies();
  };
}

async function killedAt(cut: Cut): Promise<void> {
  await up();
  h.provider.peekOutput.set('mayor', 'welcome\n> ');
  await h.pass(5_000);
  cutOff(cut);
  const lost = h.api.nudge('mayor', { text: 'the message', wait_idle_ms: 1_000, id: 'nudge-x' });
  lost.catch(() => undefined); // its controller is gone
  await h.until(() => h.killed);
}

describe('a controller that is killed', () => {
  it.each(['waits', 'typing'] as const)('before anything was typed (%s): it arrives once', async (cut) => {
    await killedAt(cut);
    await up();
    await h.until(() => told('mayor').length > 0);
    await h.pass(LEASE_MS);
    expect(told('mayor')).toEqual(['the message']);
  });

  it('after it said so, and the screen proves that nothing was typed: it arrives once', async () => {
    await killedAt('typed');
    await up();
    await h.until(() => told('mayor').length > 0);
    await h.pass(LEASE_MS);
    expect(told('mayor')).toEqual(['the message']);
  });

  it('with the text left in the input box: it arrives once', async () => {
    await killedAt('typed');
    h.provider.touch('mayor');
    h.provider.peekOutput.set('mayor', 'welcome\n> the message');
    await up();
    await h.until(() => told('mayor').length > 0);
    expect(told('mayor')).toEqual(['the message']);
  });

  it('after it arrived, which the screen shows: it is known as delivered', async () => {
    await killedAt('arrived');
    h.provider.peekOutput.set('mayor', 'welcome\n> the message\nthinking about it\n> ');
    await up();
    await h.until(async () => (await queue()).waiting === 0);
    expect(told('mayor')).toEqual(['the message']);
    expect(await say('the message', { id: 'nudge-x' })).toMatchObject({ outcome: { kind: 'delivered' } });
    expect(told('mayor')).toEqual(['the message']);
  });

  it('without any proof: it is told as uncertain and never typed again', async () => {
    await killedAt('arrived');
    h.provider.peekOutput.set('mayor', 'something else');
    await up();
    await h.until(async () => (await queue()).dead.length === 1);
    await h.pass(LEASE_MS);
    expect(told('mayor')).toEqual(['the message']);
    const error = await codeOf(h.api.nudge('mayor', { text: 'the message', wait_idle_ms: 0, id: 'nudge-x' }));
    expect(error).toMatchObject({ code: 'nudge-uncertain' });
    const [event] = await h.city.db.events.list({ type: 'nudge.dead' });
    expect(event).toMatchObject({ subject: 'mayor', message: expect.stringContaining('uncertain') });
  });

  it('NDG-02 with five in the queue: all arrive, in order', async () => {
    await up();
    busy();
    for (let n = 1; n <= 5; n += 1) await say(`m${n}`, { delivery: 'queue' });
    h.provider.nudgeOutcomes.delete('mayor');
    cutOff('waits');
    await h.until(() => h.killed);
    await up();
    await h.until(() => told('mayor').length === 5);
    expect(told('mayor')).toEqual(['m1', 'm2', 'm3', 'm4', 'm5']);
  });
});

describe('an agent that is down', () => {
  it('NDG-05 suspended: it is only queued, says so, and arrives after wake; immediate is refused', async () => {
    await up();
    await h.settled(h.api.suspend('mayor'));
    expect((await say('hi')).outcome).toMatchObject({
      kind: 'queued',
      why: 'it is suspended until gc session wake',
    });
    await h.pass(70_000);
    expect(h.starts('mayor')).toBe(1);
    expect(await codeOf(h.api.nudge('mayor', { text: 'x', wait_idle_ms: 0 }))).toMatchObject({
      code: 'session-not-active',
    });
    await h.settled(h.api.wake('mayor'));
    await h.until(() => told('mayor').length === 1);
    expect(told('mayor')).toEqual(['hi']);
  });

  it('NDG-05 asleep: it is woken for what waits for it, not for what is only left in its queue', async () => {
    h.writeConfig(ASLEEP);
    await up(1);
    expect((await say('later', { delivery: 'queue' }, 'helper')).outcome).toMatchObject({ kind: 'queued' });
    await h.pass(70_000);
    expect(h.starts('helper')).toBe(0);
    expect((await say('now', {}, 'helper')).outcome).toMatchObject({ kind: 'delivered' });
    expect(h.starts('helper')).toBe(1);
    expect(told('helper')).toEqual(['later', 'now']);
  });

  it('NDG-03 closed: its successor gets what was for the name; what was for its id is given up with a reason', async () => {
    await up();
    const { id } = await h.api.session('mayor');
    await h.settled(h.api.suspend('mayor'));
    await say('for the name');
    await say('for this one', {}, id);
    await h.settled(h.api.close('mayor'));
    await h.until(() => told('mayor').length === 1);
    expect(told('mayor')).toEqual(['for the name']);
    const { dead } = await queue();
    expect(dead).toMatchObject([
      { message: 'for this one', last_error: expect.stringContaining('is closed') },
    ]);
  });

  it('closed for good: what waits is given up with a reason', async () => {
    h.writeConfig(ASLEEP);
    await up(1);
    const made = await h.api.newSession({ template: 'helper', alias: 'mine' });
    await h.running(2);
    await h.settled(h.api.suspend('mine'));
    await say('hi', {}, 'mine');
    await h.settled(h.api.close('mine'));
    await h.until(async () => (await queue(made.session_name)).dead.length === 1);
    expect((await queue(made.session_name)).dead[0]?.last_error).toContain('no other one takes its name');
  });

  it('NAM-02 is the one that was named, whoever else has a longer name', async () => {
    h.writeConfig(cityYaml(['a', 'a-2']));
    await up();
    await h.settled(h.api.suspend('a'));
    expect((await say('hi', {}, 'a')).outcome).toMatchObject({ kind: 'queued' });
    await h.pass(30_000);
    expect(told('a-2')).toEqual([]);
    expect((await queue('a-2')).waiting).toBe(0);
  });
});

it('NDG-04 every spelling of a name shows the queue that delivery reads', async () => {
  mkdirSync(join(h.dir, 'packs', 'p'), { recursive: true });
  writeFileSync(join(h.dir, 'packs', 'p', 'pack.toml'), PACK);
  h.writeConfig('workspace: { name: test }\nimports: { p: { source: ./packs/p } }\n');
  await up(1);
  const [view] = await h.api.sessions();
  expect(view).toMatchObject({ display_name: 'p.a', session_name: 'p__a' });
  const names = ['p.a', 'p__a', 'a', view?.id ?? ''];
  busy('p__a');
  await say('hi', {}, 'p.a');
  for (const name of names) expect(await queue(name), name).toMatchObject({ waiting: 1 });
  h.provider.nudgeOutcomes.clear();
  await h.until(() => told('p__a').length === 1);
  for (const name of names) expect(await queue(name), name).toMatchObject({ waiting: 0, dead: [] });
});

const PACK = [
  '[pack]',
  'name = "p"',
  'schema = 2',
  '[[agent]]',
  'name = "a"',
  'start_command = "run-a"',
  '[[named_session]]',
  'template = "a"',
  'mode = "always"',
  '',
].join('\n');

describe('when the clock is set back', () => {
  it('what was to be looked at again soon is looked at soon', async () => {
    await up();
    h.provider.nudgeOutcomes.set('mayor', { kind: 'unsubmitted', detail: 'it was not taken' });
    await say('one', { delivery: 'queue' });
    await h.until(async () => (await queue()).in_flight.length === 1);
    h.clock.jumpWall(-3_600_000);
    h.runtime.inbox.delivery.kick('mayor');
    await h.until(async () => (await queue()).waiting === 0, 60_000);
  });
});

describe('without a controller', () => {
  it('delivers to who is up, and keeps the rest for the next start', async () => {
    await up();
    await h.settled(h.api.suspend('worker'));
    await h.down();
    const api = await h.visitor();
    const direct = await h.settled(api.nudge('mayor', { text: 'one', wait_idle_ms: 1_000 }));
    expect(direct.outcome).toMatchObject({ kind: 'delivered' });
    busy();
    const waits = await h.settled(api.nudge('mayor', { text: 'two', wait_idle_ms: 1_000 }));
    expect(waits.outcome).toMatchObject({ kind: 'queued' });
    expect((await h.settled(api.deliverNudges('mayor'))).pending).toMatchObject([{ message: 'two' }]);
    expect(
      await h.settled(api.nudge('worker', { text: 'three', wait_idle_ms: 0, delivery: 'queue' })),
    ).toMatchObject({
      outcome: { kind: 'queued' },
    });
    h.provider.nudgeOutcomes.delete('mayor');
    await h.down();
    await up(1);
    await h.until(() => told('mayor').length === 2);
    expect(told('mayor')).toEqual(['one', 'two']);
    await h.settled(h.api.wake('worker'));
    await h.until(() => told('worker').length === 1);
  });
});
