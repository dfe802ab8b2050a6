import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { META_START_PHASE } from '../provider.ts';
import { until } from '../subprocess/host-fixture.ts';
import { META_RESUMES } from './start.ts';
import { AcpFixture } from './testing/acp-fixture.ts';

let acp: AcpFixture;
beforeAll(() => {
  acp = new AcpFixture();
});
afterAll(async () => acp.dispose());

const NEVER = new AbortController().signal;
const failure = (
  work: Promise<unknown>,
): Promise<Error & { code: string; next: string; lastLines: string }> =>
  work.then(
    () => Promise.reject(new Error('it succeeded')),
    (error) => error,
  );

describe.concurrent('a start that cannot come to a conversation leaves nothing and says why', () => {
  it('without a command', async () => {
    const error = await failure(acp.start('nothing', {}, { command: ' ' }));
    expect(error).toMatchObject({ code: 'command-missing', message: 'acp provider requires a command' });
  });

  it('with a program that does not speak the protocol', async () => {
    const hasty = acp.open({ handshakeTimeoutMs: 300 });
    const command = 'echo welcome; echo no api key >&2; exec sleep 300';
    const error = await failure(acp.start('silent', {}, { command }, hasty));
    expect(error.code).toBe('handshake-timeout');
    expect(error.message).toContain('acp handshake for "silent": ');
    expect(error.message).toContain('initialize within 0.3 s');
    expect(error.message).toContain('no api key');
    expect(error.next).toContain('Agent Client Protocol');
    expect(await acp.provider.listRunning('silent')).toEqual([]);
  });

  it('with one that ends', async () => {
    const error = await failure(acp.start('ends', {}, { command: 'echo bad option >&2; exit 4' }));
    expect(error).toMatchObject({ code: 'died-during-startup', exit: { code: 4 } });
    expect(error.lastLines).toContain('bad option');
    expect(await acp.provider.listRunning('ends')).toEqual([]);
  });

  it('with one that wants a login', async () => {
    const on = { 'session/new': [{ replyError: { code: -32_000, message: 'Authentication required' } }] };
    const error = await failure(acp.start('login', { on }));
    expect(error).toMatchObject({ code: 'login-required', next: expect.stringContaining('log in') });
    expect(await acp.provider.listRunning('login')).toEqual([]);
  });

  it('with a conversation that the agent does not have any more: its own words are told', async () => {
    const noise = 'at some line of its program\n'.repeat(40);
    const script = {
      capabilities: { loadSession: true },
      store: acp.folder('store-empty'),
      on: { 'session/load': [{ stderr: noise }, { sleepMs: 100 }] },
    };
    const error = await failure(acp.start('lost', script, { conversation: 'c-lost' }));
    expect(error.code).toBe('conversation-lost');
    expect(error.message).toContain('agent stderr:\nat some line');
    expect(error.lastLines.split('\n').at(-1)).toContain('does not have the conversation "c-lost" any more');
    expect(await acp.provider.listRunning('lost')).toEqual([]);
  });

  it('when it is called off in the middle', async () => {
    const cancel = new AbortController();
    const config = acp.config('called-off', { on: { initialize: [{ never: true }] } });
    const starting = failure(acp.provider.start('called-off', config, { signal: cancel.signal }));
    await until('the greeting', () => acp.heard('called-off', 'initialize').length > 0);
    cancel.abort(new Error('not wanted'));
    expect((await starting).message).toBe('not wanted');
    expect(await acp.provider.isRunning('called-off')).toBe('no');
  });

  it('when somebody stops it in the middle', async () => {
    const config = acp.config('stopped', { on: { initialize: [{ never: true }] } });
    const starting = failure(acp.provider.start('stopped', config, { signal: NEVER }));
    await until('the greeting', () => acp.heard('stopped', 'initialize').length > 0);
    await acp.provider.stop('stopped');
    expect((await starting).code).toBe('start-cancelled');
    expect(await acp.provider.isRunning('stopped')).toBe('no');
  });
});

describe.concurrent('a later life', () => {
  it('goes on with the conversation of the one before', async () => {
    const script = { capabilities: { loadSession: true }, store: acp.folder('store') };
    await acp.start('again', { ...script, conversation: 'c-7' }, { nudge: 'remember me' });
    expect(await acp.provider.getMeta('again', META_RESUMES)).toBe('yes');
    await acp.provider.waitForIdle('again', 5_000);
    await acp.provider.stop('again');
    await acp.start('again', script, { conversation: 'c-7' });
    expect(acp.heard('again', 'session/load')[0]?.['params']).toMatchObject({ sessionId: 'c-7' });
    expect(acp.prompts('again')).toEqual(['remember me']);
  });
});

describe.concurrent('a start whose controller was killed is taken up', () => {
  const cut = async (name: string, phase: string, prompted: boolean) => {
    await acp.start(name, {}, { nudge: prompted ? 'go' : '' });
    await acp.provider.setMeta(name, META_START_PHASE, phase);
    return acp.provider.continueStart(name, acp.config(name, {}, { nudge: 'go' }), { signal: NEVER });
  };

  it.each([
    ['created', false],
    ['prompting', false],
    ['prompting', true],
    ['prompted', true],
    ['ready', true],
  ] as const)(
    'at %s (its prompt had arrived: %s), and the agent is prompted once',
    async (phase, prompted) => {
      const name = `cut-${phase}-${prompted}`;
      expect(await cut(name, phase, prompted)).toMatchObject({ kind: 'ready' });
      expect(acp.prompts(name)).toEqual(['go']);
      expect(await acp.provider.getMeta(name, META_START_PHASE)).toBe('ready');
    },
  );

  it('and until then no message slips in before the prompt', async () => {
    await acp.start('between');
    await acp.provider.setMeta('between', META_START_PHASE, 'prompting');
    const outcome = await acp.provider.nudge('between', [{ type: 'text', text: 'hello' }]);
    expect(outcome).toMatchObject({ kind: 'busy' });
    expect(acp.prompts('between')).toEqual([]);
  });

  it('a session that is gone cannot be taken up', async () => {
    const config = acp.config('gone', {});
    const error = await failure(acp.provider.continueStart('gone', config, { signal: NEVER }));
    expect(error.code).toBe('session-not-found');
  });
});

it('set-up commands know the session, and their failures are told', async () => {
  const note = join(acp.folder('setup'), 'notes');
  const result = await acp.start(
    'setup',
    {},
    { sessionSetup: [`printf %s "$GC_SESSION" > ${note}`, 'echo broken >&2; exit 2'] },
  );
  expect(result.warnings).toEqual([expect.stringContaining('session_setup[1] warning')]);
  expect(readFileSync(note, 'utf8')).toBe('setup');
});
