import { afterEach, describe, expect, it } from 'vitest';
import { submitIntent } from './submit.ts';
import { CityHarness, cityYaml } from './testing/city-harness.ts';

const CITY = cityYaml(['mayor']).replace(
  'named_sessions:',
  '  - { name: helper, start_command: run-helper }\nnamed_sessions:\n  - { template: helper, mode: on_demand }',
);

let h: CityHarness;

async function up(): Promise<void> {
  h = new CityHarness(CITY);
  for (const name of ['mayor', 'helper']) h.provider.waitForIdleErrors.set(name, undefined);
  await h.up();
  await h.running(1);
}

const submit = (target: string, message: string, intent?: string) =>
  h.settled(h.api.upkeep.submit(target, { message, ...(intent === undefined ? {} : { intent }) }));
const failure = (work: Promise<unknown>) =>
  work.then(
    () => ({}),
    (error: unknown) => error,
  );
const heard = (name: string) => h.provider.sessions.get(name)?.messages ?? [];
const busyFor = (name: string, ms: number) => h.provider.busyUntil.set(name, h.clock.monotonic() + ms);

describe('intents', () => {
  it('have two spellings, and no others', () => {
    expect([undefined, '', 'default'].map(submitIntent)).toEqual(['default', 'default', 'default']);
    expect(['follow_up', 'follow-up'].map(submitIntent)).toEqual(['follow_up', 'follow_up']);
    expect(['interrupt_now', 'interrupt-now'].map(submitIntent)).toEqual(['interrupt_now', 'interrupt_now']);
    for (const word of ['now', 'Default', 'x'.repeat(200)]) {
      expect(() => submitIntent(word)).toThrow('want default, follow_up, or interrupt_now');
    }
  });
});

describe('a submitted message', () => {
  afterEach(() => h.end());

  it('is given to an idle agent at once', async () => {
    await up();
    expect(await submit('mayor', 'hello')).toMatchObject({
      session: 'mayor',
      intent: 'default',
      queued: false,
      interrupted: false,
    });
    expect(heard('mayor')).toContain('hello');
  });

  it('wakes who sleeps, and who has never been started', async () => {
    await up();
    expect(await submit('helper', 'first')).toMatchObject({ session: 'helper', queued: false });
    expect(heard('helper')).toContain('first');
    await h.settled(h.api.drain('helper'));
    await h.settled(h.api.acknowledgeDrain('helper'));
    await h.until(() => !h.provider.sessions.has('helper'));
    await h.until(async () => (await h.records('active')).length === 1);
    expect(await submit('helper', 'second', 'follow_up')).toMatchObject({
      intent: 'follow_up',
      queued: false,
    });
    expect(heard('helper')).toContain('second');
  });

  it('ends the hold of a wait, and no hold of a person', async () => {
    await up();
    await h.settled(h.api.suspend('mayor'));
    expect(await failure(submit('mayor', 'x'))).toMatchObject({
      code: 'session-not-active',
      message: expect.stringContaining('suspended'),
      next: 'gc session wake mayor',
    });
    await submit('helper', 'first');
    const record = (await h.records()).find(({ sessionName }) => sessionName === 'helper');
    h.provider.sessions.delete('helper');
    await h.city.store.apply(record?.id ?? '', {
      state: 'asleep',
      last_woke_at: '',
      pending_create_claim: '',
      wait_hold: 'true',
      sleep_reason: 'wait-hold',
    });
    expect(await submit('helper', 'go on')).toMatchObject({ queued: false });
    expect(heard('helper')).toContain('go on');
  });

  it('takes the drain of a person back', async () => {
    await up();
    await h.settled(h.api.drain('mayor'));
    await submit('mayor', 'one more');
    expect((await h.records('active')).map(({ sessionName }) => sessionName)).toEqual(['mayor']);
    expect(heard('mayor')).toContain('one more');
  });

  it('is refused while a question is open, unless it interrupts', async () => {
    await up();
    h.provider.pendingInteractions.set('mayor', { request_id: 'q1', kind: 'approval', prompt: 'Run rm?' });
    for (const intent of ['default', 'follow_up']) {
      expect(await failure(submit('mayor', 'x', intent))).toMatchObject({
        code: 'pending-interaction',
        message: expect.stringContaining('Run rm?'),
        next: 'gc session pending mayor',
      });
    }
    busyFor('mayor', 2_000);
    expect(await submit('mayor', 'stop', 'interrupt_now')).toMatchObject({ interrupted: true });
  });

  it('as a follow-up waits for the end of the turn', async () => {
    await up();
    h.provider.nudgeOutcomes.set('mayor', { kind: 'busy', detail: 'it works' });
    const reply = await submit('mayor', 'next', 'follow-up');
    expect(reply).toMatchObject({ queued: true, intent: 'follow_up', outcome: { kind: 'queued' } });
    expect(heard('mayor')).not.toContain('next');
    h.provider.nudgeOutcomes.delete('mayor');
    await h.until(() => heard('mayor').includes('next'));
  });

  it('that interrupts ends the turn, and only a turn', async () => {
    await up();
    const interrupts = () => h.provider.log.count('Interrupt', 'mayor');
    expect(await submit('mayor', 'idle', 'interrupt_now')).toMatchObject({ interrupted: false });
    expect(interrupts()).toBe(0);
    busyFor('mayor', 3_000);
    expect(await submit('mayor', 'now', 'interrupt-now')).toMatchObject({ interrupted: true, queued: false });
    expect(interrupts()).toBe(1);
    expect(heard('mayor')).toEqual(expect.arrayContaining(['idle', 'now']));
  });

  it('leaves a turn by Escape where that is the way of the program', async () => {
    await up();
    const [record] = await h.records('active');
    await h.city.store.apply(record?.id ?? '', { provider_kind: 'claude' });
    busyFor('mayor', 3_000);
    await submit('mayor', 'now', 'interrupt_now');
    const keys = h.provider.log.calls.filter(({ method }) => method === 'SendKeys');
    expect([keys.map(({ message }) => message), h.provider.log.count('Interrupt')]).toEqual([['Escape'], 0]);
  });

  it('is refused when it says nothing, and for nobody', async () => {
    await up();
    expect(await failure(submit('mayor', '  \n'))).toMatchObject({ code: 'nudge-empty' });
    expect(await failure(submit('mayr', 'x'))).toMatchObject({ code: 'session-not-found' });
    expect(await failure(submit('mayor', 'x', 'soon'))).toMatchObject({ code: 'invalid-intent' });
  });
});
