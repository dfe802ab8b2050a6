import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { META_CONVERSATION, META_START_PHASE, type RuntimeEvent } from '../provider.ts';
import { until } from '../subprocess/host-fixture.ts';
import { AcpFixture } from './testing/acp-fixture.ts';

let acp: AcpFixture;
beforeAll(() => {
  acp = new AcpFixture();
});
afterAll(async () => acp.dispose());

const text = (value: string) => [{ type: 'text', text: value } as const];
const WORKING = [{ when: 'work', steps: [{ say: 'working' }, { untilCancelled: true as const }] }];
const ASKING = [{ when: 'ask', steps: [{ ask: { title: 'touch file.txt' } }] }];

describe.concurrent('an agent of the Agent Client Protocol', () => {
  it('is ready when its conversation is open, and gets its prompt first and once', async () => {
    const result = await acp.start(
      'first',
      { conversation: 'c-1', capabilities: { loadSession: true } },
      { promptSuffix: `'You are '\\''mayor'\\''.'`, promptFlag: '--prompt', nudge: '[beacon] go' },
    );
    expect(result).toEqual({ kind: 'ready', answered: [], warnings: [] });
    expect(acp.prompts('first')).toEqual(["You are 'mayor'.\n\n---\n\n[beacon] go"]);
    expect(await acp.provider.getMeta('first', META_CONVERSATION)).toBe('c-1');
    expect(await acp.provider.getMeta('first', META_START_PHASE)).toBe('ready');
    expect(acp.provider.sleepCapability('first')).toBe('full');
    await until('the answer', async () => (await acp.provider.peek('first', 20)).includes('you said'));
  });

  it('takes texts and files as one message, in the order of the senders', async () => {
    await acp.start('files');
    const path = join(acp.folder('files'), 'plan.md');
    writeFileSync(path, 'step one\n');
    const content = [...text('read this'), { type: 'file_path', path } as const];
    const outcome = await acp.provider.nudge('files', content);
    expect(outcome).toMatchObject({ kind: 'delivered', verified: true });
    const visitor = acp.open({}, 'visitor');
    const bodies = ['one', 'two', 'three', 'four'];
    const outcomes = await Promise.all(
      bodies.map((body, index) => (index % 2 ? visitor : acp.provider).nudge('files', text(body))),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(bodies.map(() => 'delivered'));
    expect(acp.prompts('files')[0]).toBe('read this|--- plan.md ---\nstep one\n');
    expect([...acp.prompts('files').slice(1)].sort()).toEqual([...bodies].sort());
    expect(await acp.provider.nudge('files', text(''))).toEqual({ kind: 'empty' });
  });

  it('NDG-01 is told of no message while a turn is open, and takes it once the turn was cancelled', async () => {
    await acp.start('busy', { prompts: WORKING });
    const hasty = acp.open({ nudgeBusyTimeoutMs: 150 });
    expect(await hasty.nudge('busy', text('work'))).toMatchObject({ kind: 'delivered' });
    let announced = 0;
    const beforeTyping = async () => {
      announced += 1;
    };
    const busy = await hasty.nudge('busy', text('next'), { beforeTyping });
    expect(busy).toEqual({ kind: 'busy', detail: 'it works on an earlier message' });
    expect(announced).toBe(0);
    expect(await hasty.waitForIdle('busy', 50)).toBe(false);

    const waiting = hasty.nudge('busy', text('next'), { beforeTyping, waitIdleMs: 10_000 });
    await hasty.sendKeys('busy', ['Up']);
    expect(acp.heard('busy', 'session/cancel')).toEqual([]);
    await hasty.sendKeys('busy', ['Escape']);
    expect(await waiting).toMatchObject({ kind: 'delivered' });
    expect(announced).toBe(1);
    expect(acp.prompts('busy')).toEqual(['work', 'next']);
    expect(await hasty.waitForIdle('busy', 5_000)).toBe(true);
  });

  it('gets nothing when the sender could not write down that it is being told', async () => {
    await acp.start('unsaid');
    const refused = { beforeTyping: () => Promise.reject(new Error('no record')) };
    const outcome = await acp.provider.nudge('unsaid', text('hello'), refused);
    expect(outcome).toEqual({ kind: 'failed', detail: 'no record' });
    expect(acp.prompts('unsaid')).toEqual([]);
  });

  it('asks for permission: anybody sees it, the first answer counts, and the next one is told so', async () => {
    await acp.start('asks', { prompts: ASKING });
    await acp.provider.nudge('asks', text('ask'));
    const visitor = acp.open({}, 'visitor');
    const asked = await until('a question', () => visitor.pending('asks'));
    expect(asked).toMatchObject({
      kind: 'approval',
      prompt: expect.stringContaining('touch file.txt'),
      options: ['Allow once', 'Always allow', 'Reject'],
    });
    const { request_id } = asked;
    await expect(visitor.respond('asks', { request_id, action: 'maybe' })).rejects.toMatchObject({
      code: 'unknown-action',
    });
    const answers = await Promise.allSettled([
      visitor.respond('asks', { request_id, action: 'approve' }),
      acp.provider.respond('asks', { request_id, action: 'deny' }),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    const late = acp.provider.respond('asks', { request_id, action: 'approve' });
    await expect(late).rejects.toMatchObject({ code: 'already-answered' });
    await until('the answer', async () => (await visitor.peek('asks', 20)).includes('[permission]'));
    expect(await acp.provider.pending('asks')).toBeUndefined();
    expect((await visitor.peek('asks', 0)).split('[permission]')).toHaveLength(2);
  });

  it('DUR-20 a cancelled turn takes its question back', async () => {
    await acp.start('withdrawn', { prompts: ASKING });
    await acp.provider.nudge('withdrawn', text('ask'));
    const asked = await until('a question', () => acp.provider.pending('withdrawn'));
    const hasty = acp.open({ nudgeBusyTimeoutMs: 50 });
    const waits = await hasty.nudge('withdrawn', text('next'));
    expect(waits).toEqual({ kind: 'busy', detail: expect.stringContaining('it asks: ') });
    await acp.provider.interrupt('withdrawn');
    expect(await acp.provider.waitForIdle('withdrawn', 5_000)).toBe(true);
    expect(await acp.provider.pending('withdrawn')).toBeUndefined();
    const late = acp.provider.respond('withdrawn', { request_id: asked.request_id, action: 'approve' });
    await expect(late).rejects.toMatchObject({ code: expect.stringMatching(/already-answered|changed/) });
  });

  it('DUR-19 that ends in the middle of a turn is seen to end, and takes no more messages', async () => {
    await acp.start('dies', { prompts: [{ steps: [{ say: 'last words' }, { exit: 3 }] }] });
    expect(await acp.provider.nudge('dies', text('hello'))).toMatchObject({ kind: 'delivered' });
    await until('its end', async () => (await acp.provider.isRunning('dies')) === 'no');
    expect(await acp.provider.nudge('dies', text('again'))).toEqual({ kind: 'no-session' });
    const survey = await acp.provider.observe();
    const seen = survey.kind === 'seen' ? survey.sessions.get('dies')?.liveness : undefined;
    expect(seen).toMatchObject({ kind: 'exited', exit: { code: 3 } });
    expect(await acp.provider.pending('dies')).toBeUndefined();
    await acp.provider.interrupt('dies');
    expect(acp.prompts('dies')).toEqual(['hello']);
  });

  it('whose conversation breaks while its process lives on counts as ended, with the reason, and can be started again', async () => {
    const over = new AbortController();
    const events: RuntimeEvent[] = [];
    const watching = (async () => {
      for await (const event of acp.provider.watch(over.signal)) events.push(event);
    })();
    const prompts = [{ steps: [{ closeOutput: true as const }, { never: true as const }] }];
    await acp.start('broken', { prompts, outlivesInput: true });
    await acp.provider.nudge('broken', text('hello'));
    const exited = () => events.find((event) => event.kind === 'exited' && event.name === 'broken');
    expect(await until('its end', exited)).toMatchObject({
      lastLines: expect.stringContaining('closed its output'),
    });
    over.abort();
    await watching;
    expect(await acp.provider.isRunning('broken')).toBe('no');
    await acp.start('broken');
    expect(await acp.provider.isRunning('broken')).toBe('yes');
  });

  it('that refuses a message is not said to have taken it', async () => {
    const steps = [{ replyError: { code: -32_603, message: 'usage limit reached' } }];
    await acp.start('refuses', { prompts: [{ steps }] });
    const outcome = await acp.provider.nudge('refuses', text('hello'));
    expect(outcome).toEqual({ kind: 'failed', detail: expect.stringContaining('usage limit reached') });
  });

  it('has no terminal, and it is said what to use instead', async () => {
    await acp.start('plain');
    await expect(acp.provider.attach('plain')).rejects.toMatchObject({
      code: 'attach-unsupported',
      message: 'acp provider does not support attach',
      next: 'gc session peek plain, gc session logs plain -f',
    });
    expect(await acp.provider.processAlive('plain', ['some-agent'])).toBe('yes');
    expect(await acp.provider.isAttached('plain')).toBe('no');
  });
});
