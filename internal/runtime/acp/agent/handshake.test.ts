import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { identityOf } from '../../../platform/process-identity.ts';
import { AgentRun, heldClock, type RunOptions, withFolder } from '../testing/agent-run.ts';
import type { AgentScript } from '../testing/scripted-agent.ts';

const RESUMES = { sessionCapabilities: { resume: {} } };
const LOADS = { loadSession: true };

/** What a handshake failed with. */
async function failureOf(script: AgentScript, options: RunOptions = {}) {
  let found: { code: string; message: string; next?: string } | undefined;
  await AgentRun.with(
    script,
    async (run) => {
      const state = await run.ready();
      expect(state.phase).toBe('failed');
      found = state.failure;
      expect(run.text).toContain(state.failure?.message.split('\n')[0]);
      await expect(run.agent.prompt([{ type: 'text', text: 'x' }])).rejects.toMatchObject({
        code: 'agent-gone',
      });
    },
    options,
  );
  expect(found?.next).toBeTruthy();
  return found;
}

describe.concurrent('the handshake', () => {
  it('greets with version, name and abilities and opens a conversation in the work dir', () =>
    AgentRun.with({ conversation: 'c-1', capabilities: LOADS }, async (run) => {
      expect(run.agent.state()).toMatchObject({ phase: 'connecting', conversation: '', busy: false });
      await expect(run.agent.prompt([{ type: 'text', text: 'x' }])).rejects.toMatchObject({
        code: 'agent-not-ready',
      });
      expect(await run.ready()).toMatchObject({
        phase: 'ready',
        agent: 'scripted 1.2.3',
        conversation: 'c-1',
        resumes: true,
        questions: [],
      });
      expect(run.changes).toBeGreaterThan(0);
    }));

  it('sends what the public protocol asks for', () =>
    withFolder(async (dir) => {
      const record = join(dir, 'lines');
      await AgentRun.with({ record }, async (run) => {
        await run.ready();
        const [initialize, open] = readFileSync(record, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line));
        expect(initialize.params).toMatchObject({
          protocolVersion: 1,
          clientInfo: { name: 'gc', version: '1.0.0' },
          clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
        });
        expect(open).toMatchObject({ method: 'session/new', params: { cwd: run.dir, mcpServers: [] } });
      });
    }));

  it('refuses another protocol version', async () => {
    expect(await failureOf({ protocolVersion: 7 })).toMatchObject({
      code: 'protocol-version',
      message: expect.stringMatching(/agent speaks version 7 .* this program speaks version 1/),
    });
  });

  it('leaves the process of a failed handshake to whoever started it', () =>
    AgentRun.with({ protocolVersion: 7 }, async (run) => {
      await run.ready();
      expect(identityOf(run.agent.process.pid)).toBeDefined();
      expect(run.exit).toBeUndefined();
    }));

  it.each(['initialize', 'session/new'])('names %s when it is never answered', async (method) => {
    const clock = heldClock(4_321);
    const steps = [{ stderr: 'waiting for the moon\n' }, { touch: 'asked' }, { never: true as const }];
    await AgentRun.with(
      { on: { [method]: steps } },
      async (run) => {
        await run.until('it was asked', () => existsSync(join(run.dir, 'asked')));
        // What it printed is in the pipe; two rounds of the event loop read it.
        for (let round = 0; round < 2; round += 1) await setImmediate();
        clock.release();
        expect((await run.ready()).failure).toMatchObject({
          code: 'handshake-timeout',
          message: `acp handshake for "a": the agent did not answer ${method} within 4.321 s\nagent stderr:\nwaiting for the moon`,
          next: expect.stringContaining('handshake_timeout'),
        });
      },
      { handshakeMs: 4_321, clock },
    );
  });

  it('shows a little of what a program says that does not speak the protocol', async () => {
    const clock = heldClock(1_000);
    const banner = `Welcome! ${'x'.repeat(5_000)}`;
    const steps = [{ raw: `${banner}\n` }, { touch: 'asked' }, { never: true as const }];
    await AgentRun.with(
      { on: { initialize: steps } },
      async (run) => {
        await run.until('its words are read', () => run.text.includes('Welcome!'));
        clock.release();
        const { failure } = await run.ready();
        expect(failure?.code).toBe('handshake-timeout');
        expect(failure?.message).toMatch(
          /within 1 s; what it printed is no protocol message.*"Welcome! x+…"$/,
        );
        expect(failure?.message.length).toBeLessThan(250);
      },
      { handshakeMs: 1_000, clock },
    );
  });

  it.each([
    ['before anything', { start: [{ stderr: 'no key\n' }, { exit: 3 }] }, 'initialize'],
    ['in initialize', { on: { initialize: [{ stderr: 'no key\n' }, { exit: 3 }] } }, 'initialize'],
    ['in session/new', { on: { 'session/new': [{ stderr: 'no key\n' }, { exit: 3 }] } }, 'session/new'],
  ] as const)('tells exit code, step and last words of an agent that dies %s', async (_, script, step) => {
    const failure = await failureOf(script);
    expect(failure?.code).toBe('agent-gone');
    expect(failure?.message).toBe(
      `acp handshake for "a": the agent ended (exit code 3) before it answered ${step}\nagent stderr:\nno key`,
    );
  });

  it('tells an output that was closed from an exit', async () => {
    const failure = await failureOf({ on: { initialize: [{ closeOutput: true }, { never: true }] } });
    expect(failure?.message).toContain('the agent closed its output before it answered initialize');
  });

  it.each([
    ['initialize', {}, 'a protocolVersion'],
    ['session/new', { sessionId: 7 }, 'a sessionId'],
    ['session/new', null, 'a sessionId'],
  ])('refuses an answer to %s that is not of the protocol (%j)', async (method, reply, missing) => {
    const failure = await failureOf({ on: { [method]: [{ reply }] } });
    expect(failure).toMatchObject({ code: 'bad-answer', message: expect.stringContaining(missing) });
  });

  it("passes on the agent's own refusal", async () => {
    const error = { code: -32_603, message: 'Internal error', data: { details: 'no model is set' } };
    const failure = await failureOf({ on: { 'session/new': [{ replyError: error }] } });
    expect(failure).toMatchObject({
      code: 'agent-refused',
      message: expect.stringContaining('refused session/new: Internal error: no model is set (code -32603)'),
    });
  });

  it('says how to log in when the agent wants that', async () => {
    const failure = await failureOf({
      authMethods: [{ id: 'web', name: 'Log in', description: 'opens a browser' }],
      on: { 'session/new': [{ replyError: { code: -32_000, message: 'Authentication required' } }] },
    });
    expect(failure).toMatchObject({
      code: 'login-required',
      message: expect.stringContaining('It offers: Log in (opens a browser).'),
      next: expect.stringContaining('log in once'),
    });
  });

  it.each([
    [{ AGENT_KEY: 'k' }, 1],
    [{}, 0],
  ])('logs in by itself when the environment alone is enough for it (%j)', (env, logins) =>
    withFolder(async (dir) => {
      const record = join(dir, 'lines');
      const authMethods = [{ type: 'env_var', id: 'key', name: 'Key', vars: [{ name: 'AGENT_KEY' }] }];
      const wants = { replyError: { code: -32_000, message: 'Authentication required' } };
      await AgentRun.with(
        { authMethods, record, on: { 'session/new': [wants] } },
        async (run) => {
          expect((await run.ready()).failure?.code).toBe('login-required');
          const asked = readFileSync(record, 'utf8').match(/"authenticate","params":\{"methodId":"key"\}/g);
          expect(asked?.length ?? 0).toBe(logins);
        },
        { env },
      );
    }),
  );

  it('reads past a banner and broken JSON, and shows it once', () =>
    AgentRun.with({ start: [{ raw: 'Welcome!\n{"jsonrpc":\n[1,2]\n\n' }] }, async (run) => {
      expect((await run.ready()).phase).toBe('ready');
      expect(run.text.match(/no protocol message/g)).toHaveLength(1);
      expect(run.text).toContain('"Welcome!"');
    }));

  it('is not misled by an answer that comes twice', () =>
    AgentRun.with(
      { on: { initialize: [{ reply: { protocolVersion: 1 } }, { reply: { protocolVersion: 9 } }] } },
      async (run) => {
        expect((await run.ready()).phase).toBe('ready');
        await run.until('it is said', () => run.text.includes('answered a request twice'));
      },
    ));
});

describe.concurrent('an earlier conversation', () => {
  it.each([
    ['loaded', LOADS, true],
    ['resumed', { ...LOADS, ...RESUMES }, false],
  ])('is %s by an agent that can', (how, capabilities, replays) =>
    withFolder(async (dir) => {
      const script = { store: join(dir, 'store'), capabilities };
      let conversation = '';
      await AgentRun.with(
        script,
        async (run) => {
          ({ conversation } = await run.turn('remember 7'));
        },
        { dir },
      );
      await AgentRun.with(
        script,
        async (run) => {
          expect(await run.ready()).toMatchObject({ phase: 'ready', conversation });
          expect(run.text.includes('you said: remember 7')).toBe(replays);
          await run.turn('and now?');
          const kinds = run.facts.map(({ kind }) => kind);
          expect(kinds.filter((kind) => kind === 'opened')).toHaveLength(2);
          expect(run.facts.filter(({ kind }) => kind === 'message')).toHaveLength(2);
          expect(run.facts.findLast(({ kind }) => kind === 'opened')).toMatchObject({ how });
          expect(run.journal.map(({ seq }) => seq)).toEqual(run.journal.map((_, index) => index + 1));
        },
        { dir, conversation },
      );
    }),
  );

  it('that the agent does not know is proven stale', async () => {
    const failure = await failureOf({ capabilities: LOADS }, { conversation: 'gone' });
    expect(failure).toMatchObject({
      code: 'conversation-lost',
      message: expect.stringContaining('does not have the conversation "gone" any more'),
    });
  });

  it('is proven stale by a refusal together with a whole list that lacks it', async () => {
    const refusal = { replyError: { code: -32_603, message: 'service failure' } };
    const lists = { loadSession: true, sessionCapabilities: { list: {} } };
    const script = { capabilities: lists, on: { 'session/load': [refusal] } };
    expect((await failureOf(script, { conversation: 'x' }))?.code).toBe('conversation-lost');
    const listed = [{ sessionId: 'x', cwd: tmpdir() }];
    const known = await failureOf({ ...script, listed }, { conversation: 'x', cwd: tmpdir() });
    expect(known?.code).toBe('agent-refused');
  });

  it('is not proven stale by any other failure', async () => {
    const broken = { replyError: { code: -32_603, message: 'disk full' } };
    const script = { capabilities: LOADS, on: { 'session/load': [broken] } };
    expect((await failureOf(script, { conversation: 'x' }))?.code).toBe('agent-refused');
    const dies = { capabilities: LOADS, on: { 'session/load': [{ exit: 1 }] } };
    expect((await failureOf(dies, { conversation: 'x' }))?.code).toBe('agent-gone');
  });

  it('cannot be had from an agent that only begins new ones', async () => {
    expect((await failureOf({}, { conversation: 'x' }))?.code).toBe('cannot-resume');
  });

  it('DUR-20 of another folder is refused, by the agent’s list and by our own notes', () =>
    withFolder(async (dir) => {
      const lists = { loadSession: true, sessionCapabilities: { list: {} } };
      const listed = [{ sessionId: 'x', cwd: '/elsewhere' }];
      const failure = await failureOf({ capabilities: lists, listed }, { conversation: 'x' });
      expect(failure).toMatchObject({
        code: 'wrong-folder',
        message: expect.stringContaining('belongs to the folder /elsewhere'),
      });
      const script = { store: join(dir, 'store'), capabilities: LOADS, conversation: 'noted' };
      await AgentRun.with(script, async (run) => void (await run.ready()), { dir });
      const moved = await failureOf(script, { dir, cwd: '/', conversation: 'noted' });
      expect(moved?.code).toBe('wrong-folder');
    }));
});
