import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { InteractionStore } from '../session/interaction-store.ts';
import { actingFor } from './acting.ts';
import { CityHarness, cityYaml } from './testing/city-harness.ts';

let h: CityHarness;
afterEach(() => h.end());

const BASH = {
  request_id: 'tmux-1',
  kind: 'approval',
  prompt: 'Bash: git status',
  options: ['Yes', 'Yes, and always allow access', 'No'],
  metadata: { tool_name: 'Bash', tool_input: 'git status', source: 'tmux' },
};

async function up(more = '', agents: readonly string[] = ['mayor', 'coder']): Promise<void> {
  h = new CityHarness(cityYaml(agents, more));
  await h.up();
  await h.running(agents.length);
  await h.pass(3_000);
}

/** The agent draws a question. */
function asks(name: string, over: Partial<typeof BASH> = {}): void {
  h.provider.pendingInteractions.set(name, { ...BASH, ...over });
  h.provider.touch(name);
}

const rows = async () => {
  const store = new InteractionStore(h.city.db);
  const found = await Promise.all([1, 2, 3, 4, 5].map((num) => store.find(num)));
  return found.filter((row) => row !== undefined);
};
const row = async (num = 1) => {
  const found = (await rows()).find((each) => each.num === num);
  if (!found) throw new Error(`no question q${num}`);
  return found;
};
const noticed = (num = 1) => h.until(async () => (await rows()).some((each) => each.num === num));
const given = (name: string) => h.provider.responses.get(name) ?? [];
const answer = (target: string, action: string, more: object = {}) =>
  h.settled(h.api.answer(target, { action, ...more }));
const messages = async () => (await h.city.db.events.list({ type: 'session.updated' })).map((e) => e.message);
const looks = () => h.provider.log.count('Pending');

describe('a question', () => {
  it('is noticed once its screen comes to rest, written down once, and shown with its id', async () => {
    await up();
    asks('coder');
    await noticed();
    await h.pass(5_000);
    expect(await rows()).toMatchObject([
      {
        sessionName: 'coder',
        source: 'screen',
        kind: 'permission',
        tool: 'Bash',
        input: 'git status',
        state: 'pending',
      },
    ]);
    expect(await messages()).toContain('asks q1: Bash: git status');
    const status = await h.settled(h.api.status());
    expect(status.sessions.find(({ display_name: name }) => name === 'coder')).toMatchObject({
      condition: 'waits',
      detail: 'permission: Bash(git status)',
      question_id: 'q1',
    });
    const { items } = await h.settled(h.api.questions());
    expect(items).toMatchObject([
      { id: 'q1', session: 'coder', tool: 'Bash', input: 'git status', kind: 'approval' },
    ]);
  });

  it('costs nothing while nothing moves', async () => {
    await up();
    await h.pass(60_000);
    const before = looks();
    await h.pass(600_000);
    expect(looks()).toBe(before);
  });

  it('that stands open costs nothing either, nor does a session that sleeps beside it', async () => {
    const agents = ['a', 'b', 'c', 'd', 'e'];
    await up('', [...agents, 'f', 'g']);
    await h.settled(h.api.suspend('f'));
    await h.settled(h.api.suspend('g'));
    for (const name of agents) asks(name);
    await h.until(async () => (await rows()).length === agents.length);
    await h.pass(60_000);
    const before = { looks: looks(), peeks: h.provider.log.count('Peek') };
    await h.pass(600_000);
    expect({ looks: looks(), peeks: h.provider.log.count('Peek') }).toEqual(before);
    expect((await rows()).map(({ state }) => state)).toEqual(agents.map(() => 'pending'));
  });

  it('is answered once, by its id or its session, and a second answer is told who was first', async () => {
    await up();
    asks('coder');
    await noticed();
    expect(await answer('q1', 'yes')).toMatchObject({ id: 'q1', session: 'coder', choice: 'Yes' });
    await expect(answer('q1', 'no')).rejects.toMatchObject({
      code: 'already-answered',
      message: expect.stringMatching(/q1 of coder was answered already: Yes, by human/),
    });
    expect(given('coder')).toMatchObject([{ request_id: 'tmux-1', action: '1' }]);
    expect(await row()).toMatchObject({ state: 'applied', verdict: 'allow', byKind: 'user', byId: 'human' });
    asks('coder');
    await noticed(2);
    expect(await answer('coder', '3')).toMatchObject({ id: 'q2', choice: 'No' });
    expect(given('coder')).toHaveLength(2);
  });

  it('of two answers at the same time takes one', async () => {
    await up();
    asks('coder');
    const both = await h.settled(
      Promise.allSettled([h.api.answer('coder', { action: '1' }), h.api.answer('coder', { action: '3' })]),
    );
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(given('coder')).toHaveLength(1);
  });

  it('that is unknown, of another session, or has no such answer is refused, and nothing is pressed', async () => {
    await up();
    asks('coder');
    await noticed();
    await expect(answer('q9', '1')).rejects.toMatchObject({ code: 'interaction-not-found' });
    await expect(answer('mayor', '1', { request_id: 'q1' })).rejects.toMatchObject({
      code: 'foreign-interaction',
    });
    await expect(answer('coder', '1', { request_id: 'q8' })).rejects.toMatchObject({
      code: 'interaction-not-found',
    });
    await expect(answer('mayor', '1')).rejects.toMatchObject({ code: 'session-no-pending' });
    await expect(answer('q1', '4')).rejects.toMatchObject({ code: 'unknown-action' });
    expect([given('coder'), (await row()).state]).toEqual([[], 'pending']);
  });

  it('that is answered at the terminal is no question any more', async () => {
    await up();
    asks('coder');
    await noticed();
    h.provider.pendingInteractions.delete('coder');
    h.provider.touch('coder');
    await h.until(async () => (await row()).state === 'withdrawn');
    await expect(answer('q1', '1')).rejects.toMatchObject({ code: 'interaction-withdrawn' });
  });

  it('ends with the life that asked it', async () => {
    await up();
    asks('coder');
    await noticed();
    h.provider.pendingInteractions.delete('coder');
    h.provider.crash('coder', { code: 1 });
    await h.until(async () => (await row()).state === 'withdrawn');
    expect(await row()).toMatchObject({ cause: 'closed' });
  });

  it('keeps its session from being ended for its silence', async () => {
    await up('', ['mayor']);
    h.writeConfig(cityYaml([['mayor', 'idle_timeout: 20s']]));
    h.touchConfig();
    asks('mayor');
    await noticed();
    await h.pass(90_000);
    expect(h.provider.sessions.has('mayor')).toBe(true);
    expect(h.provider.log.count('Stop', 'mayor')).toBe(0);
  });

  it('is not for sessions to answer', async () => {
    await up();
    asks('coder');
    await noticed();
    const byAgent = (work: () => Promise<unknown>) => h.settled(actingFor('coder', work));
    await expect(byAgent(() => h.api.answer('q1', { action: '1' }))).rejects.toMatchObject({
      code: 'answered-by-agent',
    });
    await expect(
      byAgent(() => h.api.rules.add({ effect: 'allow', scope: 'city', tool: '*' })),
    ).rejects.toMatchObject({ code: 'answered-by-agent' });
    expect(given('coder')).toEqual([]);
  });

  it('that was denied with a text has its agent told', async () => {
    await up();
    asks('coder');
    await noticed();
    await answer('q1', 'deny', { text: 'use git mv' });
    await h.until(() =>
      h.provider.sessions.get('coder')?.messages.some((said) => said.includes('use git mv')),
    );
  });
});

describe('between the decision and its delivery', () => {
  it('a killed controller loses nothing and gives nothing twice', async () => {
    await up();
    asks('coder');
    await noticed();
    const store = new InteractionStore(h.city.db);
    await store.resolve(1, {
      action: '1',
      label: 'Yes',
      verdict: 'allow',
      by: { kind: 'user', id: 'human', channel: 'cli' },
      cause: 'user',
      scope: 'once',
      text: '',
    });
    h.kill();
    await h.up();
    await h.until(async () => (await row()).state === 'applied');
    await h.pass(20_000);
    expect(given('coder')).toEqual([{ request_id: 'tmux-1', action: '1' }]);
  });

  it('keys that may have been pressed are not pressed again: it is asked anew', async () => {
    await up();
    asks('coder');
    await noticed();
    const store = new InteractionStore(h.city.db);
    const resolution = {
      action: '1',
      label: 'Yes',
      verdict: 'allow',
      cause: 'user',
      scope: 'once',
      text: '',
    } as const;
    await store.resolve(1, { ...resolution, by: { kind: 'user', id: 'human', channel: 'cli' } });
    expect(await store.sending(await row())).toBe(true);
    expect(await store.sending(await row())).toBe(false);
    h.kill();
    await h.up();
    await noticed(2);
    expect([(await row()).state, (await row(2)).state, given('coder')]).toEqual(['failed', 'pending', []]);
  });

  it('an answer to what is not asked any more is superseded', async () => {
    await up();
    asks('coder');
    await noticed();
    asks('coder', { request_id: 'tmux-2', prompt: 'Bash: rm -rf /' });
    await expect(answer('q1', '1')).rejects.toMatchObject({ code: 'interaction-withdrawn' });
    await noticed(2);
    expect([(await row()).state, (await row(2)).state, given('coder')]).toEqual(['withdrawn', 'pending', []]);
  });
});

describe('a question with a time limit', () => {
  const LIMIT = 'daemon: { answer_timeout: 60s }';

  it('is answered by itself, also when nobody ran at that time', async () => {
    await up(LIMIT);
    asks('coder');
    await noticed();
    expect((await h.settled(h.api.questions())).items[0]?.expires_at).toBeDefined();
    await h.down();
    await h.clock.advance(120_000);
    await h.up();
    await h.until(async () => (await row()).state === 'applied');
    expect(await row()).toMatchObject({ cause: 'expired', verdict: 'deny', choice: 'No' });
    expect(given('coder')).toMatchObject([{ action: '3' }]);
    await expect(answer('q1', '1')).rejects.toMatchObject({ code: 'interaction-expired' });
  });

  it('is answered when its time comes', async () => {
    await up(LIMIT);
    asks('coder');
    await noticed();
    await h.pass(55_000);
    expect((await row()).state).toBe('pending');
    await h.until(async () => (await row()).state === 'applied', 10_000);
  });
});

describe('a rule', () => {
  it('answers without a person, is named, and a denial counts before it', async () => {
    await up();
    const allowed = await h.settled(
      h.api.rules.add({ effect: 'allow', scope: 'city', agent: 'coder', tool: 'Bash', input: 'git status*' }),
    );
    asks('coder');
    await h.until(async () => (await rows())[0]?.state === 'applied');
    expect(await row()).toMatchObject({ cause: 'rule', byKind: 'rule', byId: allowed.id, verdict: 'allow' });
    expect(given('coder')).toMatchObject([{ action: '1' }]);
    await h.settled(h.api.rules.add({ effect: 'deny', scope: 'always', tool: 'Bash' }));
    asks('coder', { request_id: 'tmux-2' });
    await h.until(async () => (await rows())[1]?.state === 'applied');
    expect(await row(2)).toMatchObject({ byId: 'u1', verdict: 'deny', choice: 'No' });
    asks('mayor', { metadata: { ...BASH.metadata, tool_name: 'Edit' } });
    await noticed(3);
    expect((await row(3)).state).toBe('pending');
  });

  it('that is made while a question waits answers it', async () => {
    await up();
    asks('coder');
    await noticed();
    await h.settled(h.api.rules.add({ effect: 'allow', scope: 'city', tool: 'Bash' }));
    await h.until(async () => (await row()).state === 'applied');
  });

  it.each(['session', 'city', 'project', 'always'] as const)(
    'comes with an answer for the %s',
    async (scope) => {
      await up();
      asks('coder');
      await noticed();
      const { rule } = await answer('q1', 'yes', { scope });
      expect(rule).toMatchObject({ effect: 'allow', scope, tool: 'Bash', input: 'git status' });
      asks('coder');
      await h.until(async () => (await rows())[1]?.state === 'applied');
      expect(await row(2)).toMatchObject({ byKind: 'rule', byId: rule?.id });
      asks('coder', { request_id: 'tmux-3', metadata: { ...BASH.metadata, tool_input: 'git push' } });
      await noticed(3);
      expect((await row(3)).state).toBe('pending');
      const rules = await h.settled(h.api.rules.list());
      expect(rules.map(({ id }) => id)).toEqual([rule?.id]);
      await h.settled(h.api.rules.remove(rule?.id ?? ''));
      await expect(h.settled(h.api.rules.remove(rule?.id ?? ''))).rejects.toMatchObject({
        code: 'rule-not-found',
      });
    },
  );

  it('is not made of an input that is not known to the letter', async () => {
    await up();
    asks('coder', { metadata: { ...BASH.metadata, tool_input_cut: 'true' } as never });
    await noticed();
    await expect(answer('q1', 'yes', { scope: 'city' })).rejects.toMatchObject({ code: 'invalid-rule' });
    expect((await row()).state).toBe('pending');
  });

  it.each([
    ['damaged', '{ "version": 1, "ru', 0o600],
    ['of another version', '{ "version": 2, "next": 1, "rules": [] }', 0o600],
    ['written by anybody', '{ "version": 1, "next": 1, "rules": [] }', 0o666],
  ])(
    'of a file that is %s allows nothing, nor does any other; denials of the city count',
    async (_, text, mode) => {
      await up();
      const file = join(h.dir, '.gc', 'permission-rules.json');
      await h.settled(h.api.rules.add({ effect: 'allow', scope: 'city', tool: 'Bash' }));
      await h.settled(h.api.rules.add({ effect: 'deny', scope: 'city', tool: 'Edit' }));
      writeFileSync(file, text);
      chmodSync(file, mode);
      asks('coder');
      asks('mayor', { metadata: { ...BASH.metadata, tool_name: 'Edit' } });
      await noticed(2);
      await h.until(async () => (await rows()).some(({ verdict }) => verdict === 'deny'));
      expect((await rows()).find(({ sessionName }) => sessionName === 'coder')?.state).toBe('pending');
      expect((await h.settled(h.api.status())).problems.join()).toContain(
        'permission-rules.json is not used',
      );
      await expect(h.settled(h.api.rules.list())).rejects.toMatchObject({ code: 'rules-unreadable' });
      await expect(
        h.settled(h.api.rules.add({ effect: 'allow', scope: 'always', tool: 'Bash' })),
      ).rejects.toMatchObject({ code: 'rules-unreadable' });
    },
  );

  it.each([
    ['rig', { rig: 'nowhere' }, 'rig-not-found'],
    ['agent', { agent: 'nobody' }, 'agent-not-found'],
    ['session', { session: 'nobody' }, 'session-not-found'],
  ])('of an unknown %s is refused', async (_, over, code) => {
    await up();
    const wanted = { effect: 'allow', scope: 'city', tool: 'Bash', ...over } as const;
    await expect(h.settled(h.api.rules.add(wanted))).rejects.toMatchObject({ code });
  });
});
