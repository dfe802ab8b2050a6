import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AgentRun, withFolder } from '../testing/agent-run.ts';

const tool = (fields: object) => ({ update: { sessionUpdate: 'tool_call', toolCallId: 't1', ...fields } });
const toolUpdate = (fields: object) => ({
  update: { sessionUpdate: 'tool_call_update', toolCallId: 't1', ...fields },
});

describe.concurrent('a turn', () => {
  it('takes one prompt at a time and tells how it ended', () =>
    AgentRun.with({ prompts: [{ steps: [{ waitForFile: 'go-on' }] }] }, async (run) => {
      await run.prompt('one');
      expect(run.agent.state()).toMatchObject({ busy: true, turn: 1 });
      const second = run.agent.prompt([{ type: 'text', text: 'two' }]);
      await expect(second).rejects.toMatchObject({ code: 'agent-busy', next: expect.any(String) });
      expect(await run.agent.wait('idle', 0)).toMatchObject({ busy: true });
      writeFileSync(join(run.dir, 'go-on'), '');
      expect(await run.idle()).toMatchObject({ busy: false, turn: 1, lastStop: 'end_turn' });
    }));

  it('shows what was said, thought, done and planned as plain text, chunks joined', () =>
    AgentRun.with(
      {
        prompts: [
          {
            steps: [
              { think: 'let me see' },
              { say: 'First line.\nSecond li', chunks: 4 },
              { say: 'ne.\n' },
              tool({ title: 'Run ls', kind: 'execute', status: 'pending' }),
              toolUpdate({ status: 'in_progress' }),
              toolUpdate({ status: 'completed', content: [] }),
              { update: { sessionUpdate: 'plan', entries: [{ content: 'Look', status: 'in_progress' }] } },
              { update: { sessionUpdate: 'of-tomorrow', anything: [1] } },
              { say: '\u001b[2J\u001b]0;title\u0007done\u0007' },
            ],
          },
        ],
      },
      async (run) => {
        await run.turn('look\naround');
        expect(run.text.split('\n').slice(1)).toEqual([
          '> look',
          '> around',
          '~ let me see',
          'First line.',
          'Second line.',
          '* Run ls',
          '* Run ls: done',
          '* plan: 0 of 1 done, now: Look',
          'done',
          '',
        ]);
      },
    ));

  it('ends with the error that the agent answers', () =>
    AgentRun.with(
      { prompts: [{ steps: [{ replyError: { code: -32_000, message: 'no credit' } }] }] },
      async (run) => {
        expect(await run.turn('x')).toMatchObject({
          phase: 'ready',
          lastStop: 'error: no credit (code -32000)',
        });
        expect(run.text).toContain('! error: no credit');
        expect(await run.turn('again')).toMatchObject({ turn: 2 });
      },
    ));

  it('hands over a megabyte byte for byte, and files by their name', () =>
    AgentRun.with({ prompts: [{ steps: [] }], record: '/dev/null' }, async (run) => {
      await run.ready();
      const text = `${'0123456789é'.repeat(100_000)}`;
      await run.agent.prompt([
        { type: 'text', text },
        { type: 'link', uri: 'file:///w/a.ts', name: 'a.ts' },
      ]);
      await run.idle();
      const parts = run.facts.filter((fact) => fact.kind === 'prompt');
      expect(parts.length).toBeGreaterThan(1);
      expect(parts.map((part) => part.text).join('')).toBe(`${text}\n[resource_link a.ts]`);
    }));

  it('is written down as whole facts in an owner-only file that outlives the session', () =>
    AgentRun.with(
      {
        conversation: 'c',
        prompts: [
          {
            steps: [
              { say: 'a b c', chunks: 5 },
              tool({ title: 'ls', rawInput: { command: 'ls' } }),
              toolUpdate({
                status: 'failed',
                content: [{ type: 'content', content: { type: 'text', text: 'no such' } }],
              }),
              { ask: { title: 'ls -l' } },
            ],
          },
        ],
      },
      async (run) => {
        await run.prompt('go');
        const { id } = await run.question();
        await run.agent.answer(id, 'no');
        await run.idle();
        run.agent.close();
        expect(statSync(join(run.dir, 'journal.jsonl')).mode & 0o777).toBe(0o600);
        expect(run.journal.map(({ seq }) => seq)).toEqual(run.journal.map((_, index) => index + 1));
        expect(run.journal[1]).toMatchObject({ conversation: 'c', cwd: run.dir, turn: 1 });
        expect(
          run.facts.filter((fact) => !('text' in fact) || fact.text.indexOf('[permission]') < 0),
        ).toEqual([
          { kind: 'opened', how: 'new', agent: 'scripted 1.2.3' },
          { kind: 'prompt', message: '1.1', text: 'go' },
          { kind: 'message', message: '1.2', text: 'a b c' },
          { kind: 'tool-started', call: 't1', title: 'ls', input: '{"command":"ls"}' },
          { kind: 'tool-finished', call: 't1', title: 'ls', failed: true, output: 'no such' },
          expect.objectContaining({ kind: 'asked', question: id, call: 'call-ask', title: 'ls -l' }),
          { kind: 'answered', question: id, by: 'client', option: 'no' },
          { kind: 'turn-ended', stop: 'end_turn' },
          { kind: 'closed', why: 'the session was removed' },
        ]);
      },
    ));

  it('begins the journal anew with another conversation of the same name', () =>
    withFolder(async (dir) => {
      await AgentRun.with({ conversation: 'one' }, async (run) => void (await run.turn('x')), { dir });
      await AgentRun.with(
        { conversation: 'two' },
        async (run) => {
          await run.ready();
          expect(run.journal.map(({ seq, conversation }) => [seq, conversation])).toEqual([[1, 'two']]);
        },
        { dir },
      );
    }));
});

describe.concurrent('a permission question', () => {
  const asks = { prompts: [{ steps: [{ ask: { title: 'touch x' } }] }] };

  it('stays open until it is answered, once, with an option that was offered', () =>
    AgentRun.with(asks, async (run) => {
      await run.prompt('x');
      const question = await run.question();
      expect(question).toMatchObject({ kind: 'permission', title: 'touch x' });
      expect(question.options[1]).toEqual({ id: 'always', name: 'Always allow', kind: 'allow_always' });
      const wrong = run.agent.answer(question.id, 'maybe');
      await expect(wrong).rejects.toMatchObject({
        code: 'no-such-option',
        next: expect.stringContaining('yes'),
      });
      await expect(run.agent.answer('other', 'yes')).rejects.toMatchObject({ code: 'no-such-question' });
      const answers = ['yes', 'no'].map((option) => run.agent.answer(question.id, option));
      const [first, second] = await Promise.allSettled(answers);
      expect(first?.status).toBe('fulfilled');
      expect(second).toMatchObject({ reason: { code: 'already-answered' } });
      expect((await run.idle()).questions).toEqual([]);
      expect(run.text).toContain('[permission] {"outcome":{"outcome":"selected","optionId":"yes"}}');
    }));

  it('tells what would be done: the command, the file, the difference', () =>
    AgentRun.with(
      {
        prompts: [
          {
            steps: [
              {
                ask: {
                  title: 'Edit a.ts',
                  toolCall: {
                    locations: [{ path: '/w/src/a.ts' }],
                    content: [{ type: 'diff', path: '/w/src/a.ts', oldText: 'one\n', newText: 'two\n' }],
                  },
                },
              },
            ],
          },
        ],
      },
      async (run) => {
        await run.prompt('x');
        expect((await run.question()).detail).toBe('/w/src/a.ts\n/w/src/a.ts\n-one\n+two\n');
      },
    ));

  it.each<[string, object, string | undefined, string]>([
    [
      'what a terminal would hide',
      { rawInput: { command: 'ls \x1b]0;; rm x\x07' } },
      'ls \x1b]0;; rm x\x07',
      'ls \\x1b]0;; rm x\\x07',
    ],
    ['the same in its title alone', { title: 'ls \x1b]0;; rm x\x07' }, undefined, 'ls \\x1b]0;; rm x\\x07'],
    ['words beside the command', { rawInput: { command: 'git', args: ['push'] } }, undefined, 'push'],
    [
      'a command in pieces beside a path',
      { rawInput: { command: ['rm', 'x'], path: '/w' } },
      'Do it',
      '["rm","x"]',
    ],
  ])('shows %s, and has no input that is less than that', (_, toolCall, input, shown) =>
    AgentRun.with(
      { prompts: [{ steps: [{ ask: { toolCall: { toolCallId: 'c', ...toolCall } } }] }] },
      async (run) => {
        await run.prompt('x');
        const question = await run.question();
        expect(question.input).toBe(input);
        expect(question.detail).toContain(shown);
      },
    ),
  );

  it('is taken back when the agent ends its turn without an answer', () =>
    AgentRun.with(
      {
        prompts: [
          {
            steps: [
              {
                requestUnanswered: {
                  method: 'session/request_permission',
                  params: {
                    toolCall: { toolCallId: 'c' },
                    options: [{ optionId: 'y', name: 'Yes', kind: 'allow_once' }],
                  },
                },
              },
            ],
          },
        ],
      },
      async (run) => {
        const { questions } = await run.turn('x');
        expect(questions).toEqual([]);
        const asked = run.facts.find((fact) => fact.kind === 'asked');
        const id = asked?.kind === 'asked' ? asked.question : '';
        await expect(run.agent.answer(id, 'y')).rejects.toMatchObject({
          code: 'already-answered',
          message: expect.stringContaining('the agent ended its turn'),
        });
      },
    ));

  it('never has the id of a question of another life', async () => {
    const ids: string[] = [];
    for (let life = 0; life < 2; life += 1) {
      await AgentRun.with(asks, async (run) => {
        await run.prompt('x');
        ids.push((await run.question()).id);
      });
    }
    expect(new Set(ids).size).toBe(2);
  });
});

describe.concurrent('DUR-20 cancelling', () => {
  it('ends the turn as cancelled, and is fine without one', () =>
    AgentRun.with({ prompts: [{ steps: [{ say: 'working' }, { untilCancelled: true }] }] }, async (run) => {
      await run.ready();
      await run.agent.cancel();
      await run.prompt('x');
      await run.agent.cancel();
      expect(run.agent.state()).toMatchObject({ busy: false, lastStop: 'cancelled' });
    }));

  it('answers open questions as cancelled before the agent is told', () =>
    AgentRun.with(
      { record: 'lines', prompts: [{ steps: [{ ask: {} }, { untilCancelled: true }] }] },
      async (run) => {
        await run.prompt('x');
        const { id } = await run.question();
        await Promise.all([run.agent.cancel(), run.agent.cancel()]);
        expect(run.agent.state()).toMatchObject({ lastStop: 'cancelled', questions: [] });
        expect(run.text).toContain('[permission] {"outcome":{"outcome":"cancelled"}}');
        await expect(run.agent.answer(id, 'yes')).rejects.toMatchObject({ code: 'already-answered' });
        const fact = run.facts.find((one) => one.kind === 'answered');
        expect(fact).toEqual({ kind: 'answered', question: id, by: 'cancel' });
      },
    ));

  it('reaches the first prompt of a conversation that was loaded', () =>
    withFolder(async (dir) => {
      const script = {
        store: 'store',
        capabilities: { loadSession: true },
        prompts: [{ when: 'wait', steps: [{ untilCancelled: true as const }] }],
      };
      let conversation = '';
      const hello = async (run: AgentRun) => {
        ({ conversation } = await run.turn('hello'));
      };
      await AgentRun.with(script, hello, { dir });
      await AgentRun.with(
        script,
        async (run) => {
          await run.prompt('wait');
          await run.agent.cancel();
          expect(run.agent.state().lastStop).toBe('cancelled');
        },
        { dir, conversation },
      );
    }));

  it('counts an error that comes after it as its end', () =>
    AgentRun.with(
      {
        prompts: [
          {
            steps: [
              { untilCancelled: true },
              { replyError: { code: -32_800, message: 'Request cancelled' } },
            ],
          },
        ],
      },
      async (run) => {
        await run.prompt('x');
        await run.agent.cancel();
        expect(run.agent.state().lastStop).toBe('cancelled');
      },
    ));

  it('ends the command that an agent waits for all the same', () =>
    AgentRun.with(
      {
        ignoresCancel: true,
        prompts: [{ steps: [{ terminal: { command: 'sleep 300', steps: ['wait'] } }] }],
      },
      async (run) => {
        await run.prompt('x');
        await run.until('the command runs', () => run.text.includes('* sleep 300'));
        await run.agent.cancel();
        expect(run.agent.state().lastStop).toBe('cancelled');
        expect(run.text).toMatch(/\[wait\] \{"exitCode":(143,"signal":null|null,"signal":"SIGTERM")\}/);
      },
    ));
});
