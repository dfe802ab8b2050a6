import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentRun } from '../testing/agent-run.ts';
import { MAX_MESSAGE_BYTES } from './message-lines.ts';

const MIB = 1_048_576;
const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);

beforeAll(() => void process.on('unhandledRejection', note));
afterAll(() => {
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

/** Another agent of the same host goes on while the first one misbehaves. */
async function staysPrompt(bad: AgentRun, misbehave: () => Promise<unknown>): Promise<void> {
  await AgentRun.with({}, async (good) => {
    await good.ready();
    const done = misbehave();
    done.catch(() => undefined); // told below
    expect((await good.turn('still there?')).lastStop).toBe('end_turn');
    await done;
    expect(bad.agent.state().busy).toBe(false);
  });
}

describe.concurrent('DUR-19 when the connection ends', () => {
  it('everything that waits is settled at once, with the cause', () =>
    AgentRun.with(
      { prompts: [{ steps: [{ ask: {} }, { terminal: { command: 'sleep 300' } }] }] },
      async (run) => {
        await run.prompt('x');
        const { id } = await run.question();
        const waits = [run.idle(), run.agent.cancel()];
        process.kill(run.agent.process.pid, 'SIGKILL');
        await Promise.all(waits);
        const state = await run.until('it has failed', () => {
          const now = run.agent.state();
          return now.phase === 'failed' && now;
        });
        expect(state).toMatchObject({
          phase: 'failed',
          busy: false,
          questions: [],
          failure: { code: 'agent-gone', message: expect.stringContaining('SIGKILL') },
        });
        await expect(run.agent.answer(id, 'yes')).rejects.toMatchObject({ code: 'already-answered' });
        await run.until('the end of the output is told', () => run.outputEnds === 1);
        expect(run.exit).toEqual({ signal: 'SIGKILL' });
      },
    ));

  it('an agent that dies in a turn ends the turn, with its exit code and last words', () =>
    AgentRun.with(
      { prompts: [{ steps: [{ say: 'half a' }, { stderr: 'out of memory\n' }, { exit: 9 }] }] },
      async (run) => {
        const state = await run.turn('x');
        expect(state.lastStop).toBe('error: the agent ended (exit code 9) in the middle of a turn');
        expect(state.failure?.message).toContain('agent stderr:\nout of memory');
        expect(run.text).toContain('half a\n! ');
        expect(run.facts.slice(-3)).toEqual([
          { kind: 'message', message: '1.2', text: 'half a' },
          { kind: 'turn-ended', stop: state.lastStop },
          { kind: 'closed', why: 'the agent ended (exit code 9) in the middle of a turn' },
        ]);
      },
    ));

  it('a frame over the limit is one clear end, and nobody else is delayed', () =>
    AgentRun.with(
      { prompts: [{ steps: [{ bigLine: MAX_MESSAGE_BYTES }, { never: true }] }] },
      async (run) => {
        await staysPrompt(run, async () => {
          const state = await run.turn('x');
          expect(state.failure).toMatchObject({
            code: 'message-too-long',
            message: `it sent a message of more than ${MAX_MESSAGE_BYTES} bytes`,
            next: expect.stringContaining('start the session again'),
          });
        });
      },
    ));

  it('a prompt that is not read yet is not waited for when the agent dies', () =>
    AgentRun.with(
      { on: { 'session/new': [{ reply: { sessionId: 's' } }, { stopReading: true }] } },
      async (run) => {
        await run.ready();
        const taken = run.agent.prompt([{ type: 'text', text: 'x'.repeat(4 * MIB) }]);
        process.kill(run.agent.process.pid, 'SIGKILL');
        await expect(taken).rejects.toMatchObject({ code: 'agent-gone' });
      },
    ));

  it('what an agent said before its exit is not lost', () =>
    AgentRun.with({ prompts: [{ steps: [{ say: 'bye', chunks: 3 }, { exit: 0 }] }] }, async (run) => {
      await run.turn('x');
      expect(run.text).toContain('bye');
    }));
});

describe.concurrent('an agent that misbehaves', () => {
  it('may send a message of 2 MiB', () =>
    AgentRun.with({ prompts: [{ steps: [{ say: 'x', times: 2 * MIB }] }] }, async (run) => {
      expect((await run.turn('x')).lastStop).toBe('end_turn');
      expect(run.outputBytes).toBeGreaterThan(2 * MIB);
    }));

  it('loses an update that is larger, and no more', () =>
    AgentRun.with(
      { prompts: [{ steps: [{ say: 'x', times: MAX_MESSAGE_BYTES }, { say: 'then this' }] }] },
      async (run) => {
        expect((await run.turn('x')).lastStop).toBe('end_turn');
        expect(run.text).toContain('! an update of more than');
        expect(run.text).toContain('then this');
      },
    ));

  it('is told what it prints when it floods with something else', () =>
    AgentRun.with(
      { on: { initialize: [{ flood: { count: 4_000, line: 'no protocol at all '.repeat(30) } }] } },
      async (run) => {
        await staysPrompt(run, async () => {
          expect((await run.ready()).failure).toMatchObject({
            code: 'not-the-protocol',
            message: expect.stringContaining('no protocol at all'),
            next: expect.stringContaining('check the command'),
          });
        });
        expect(run.outputBytes).toBeLessThan(10_000);
      },
    ));

  it('is held up, not read into memory, while what it says is not taken', () =>
    AgentRun.with(
      { prompts: [{ steps: [{ flood: { count: 20_000, say: 'word '.repeat(20) } }, { touch: 'said' }] }] },
      async (run) => {
        await run.prompt('x');
        await run.until('it says something', () => run.outputBytes > 0);
        run.agent.process.pauseOutput();
        await new Promise(setImmediate);
        const before = run.outputBytes;
        await AgentRun.with({}, async (good) => void (await good.turn('time passes')));
        // What was read already may still be shown.
        expect(run.outputBytes - before).toBeLessThan(MIB / 4);
        run.agent.process.resumeOutput();
        expect((await run.idle()).lastStop).toBe('end_turn');
        expect(run.outputBytes).toBeGreaterThan(20_000 * 100);
      },
    ));

  it('may ask for unknown things and gets errors', () =>
    AgentRun.with(
      {
        prompts: [
          {
            steps: [
              { request: { method: 'fs/delete' } },
              { request: { method: 'fs/read_text_file', params: { path: 7 } } },
              {
                request: {
                  method: 'session/request_permission',
                  params: { toolCall: { toolCallId: 'c' }, options: [] },
                },
              },
            ],
          },
        ],
      },
      async (run) => {
        await run.turn('x');
        expect(run.text).toContain('[fs/delete] error -32601');
        expect(run.text).toContain('[fs/read_text_file] error -32602');
        expect(run.text).toContain(
          '[session/request_permission] error -32602 a question has 1 to 32 options',
        );
      },
    ));

  it('has a bounded number of questions open', () =>
    AgentRun.with(
      {
        prompts: [
          {
            steps: Array.from({ length: 40 }, () => ({
              requestUnanswered: {
                method: 'session/request_permission',
                params: {
                  toolCall: { toolCallId: 'c', title: 't' },
                  options: [{ optionId: 'y', name: 'Yes', kind: 'allow_once' }],
                },
              },
            })).concat([{ say: 'asked all' }, { untilCancelled: true }] as never[]),
          },
        ],
      },
      async (run) => {
        await run.prompt('x');
        await run.until('all was asked', () => run.text.includes('asked all'));
        expect(run.agent.state().questions).toHaveLength(32);
        await run.agent.cancel();
        expect(run.agent.state()).toMatchObject({ lastStop: 'cancelled', questions: [] });
        expect(run.facts.filter(({ kind }) => kind === 'asked')).toHaveLength(32);
      },
    ));

  it('cannot be typed at: its input is the protocol’s', () =>
    AgentRun.with({}, async (run) => {
      await run.ready();
      expect(() => run.agent.process.writeSome(Buffer.from('x'))).toThrow(/no terminal/);
      expect((await run.turn('x')).lastStop).toBe('end_turn');
    }));

  it('is refused clearly when its program is not there', async () => {
    const start = AgentRun.with({}, async () => undefined, { argv: ['/nowhere/agent'] });
    await expect(start).rejects.toMatchObject({ code: 'spawn-failed' });
  });
});
