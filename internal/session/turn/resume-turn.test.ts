import { describe, expect, it } from 'vitest';
import { executionStart, input, textMessage } from '../../protocol/events.ts';
import { EventSchema } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { toBinary } from '../../protocol/protobuf.ts';
import { harnessOf, modelCall, scripted, TurnRig, toolCall } from './testing/turn-rig.ts';

const failure = (name: string) => expect.objectContaining({ failure: name });
const END = ['END'];

describe('recovery', () => {
  it('I0 a re-issued model request must hash to the recorded one', async () => {
    const rig = new TurnRig(scripted([{ do: 'model', ask: 'a' }]));
    await rig.run('one');
    const cut = await rig.cutAfter(3);
    cut.harness = scripted([{ do: 'model', ask: 'another' }]);
    await expect(cut.resume()).rejects.toEqual(failure('diverged'));
    expect(cut.model.calls).toEqual([]);
    expect((await cut.kinds()).slice(2)).toEqual(['MODEL_CALL', 'ERROR']);
  });

  it('a turn cut after the model answered ends without asking the model again', async () => {
    const rig = new TurnRig(scripted([{ do: 'model', ask: 'a' }]));
    await rig.run('one');
    const cut = await rig.cutAfter(4);
    expect(await cut.resume()).toEqual({ kind: 'completed' });
    expect(cut.model.calls).toEqual([]);
    expect((await cut.kinds()).filter((kind) => kind === 'OUTPUT')).toHaveLength(1);
  });

  it('a cut model call is answered after the recorded intent, which stays the only one', async () => {
    const rig = new TurnRig(scripted([{ do: 'model', ask: 'a' }]));
    await rig.run('one');
    const cut = await rig.cutAfter(3);
    await cut.resume();
    expect((await cut.kinds()).slice(2)).toEqual(['MODEL_CALL', 'OUTPUT', 'END']);
    expect(cut.model.calls).toHaveLength(1);
  });

  it('a cut tool call is carried out again under its key, and has one effect', async () => {
    const rig = new TurnRig(scripted([{ do: 'tool', id: 'a' }]));
    await rig.run('one');
    const cut = await rig.cutAfter(3);
    for (const [key, nth] of rig.tools.effects) cut.tools.effects.set(key, nth);
    await cut.resume();
    expect(cut.tools.asked.map(({ idempotencyKey }) => idempotencyKey)).toEqual(['key-a']);
    expect(cut.tools.effects.size).toBe(1);
    expect((await cut.kinds()).slice(2)).toEqual(['TOOL_CALL', 'TOOL_RESULT', 'END']);
  });

  it('a tool call without a result is not repeated once the turn went on after it', async () => {
    const steps = harnessOf(async (_, sink) => {
      await sink.toolCall(toolCall('a')).catch(() => undefined);
      await sink.output(textMessage('assistant', 'without it'));
      await sink.model(modelCall('x'));
    });
    const rig = new TurnRig(steps);
    rig.tools.fail = 'no';
    await rig.run('one');
    const cut = await rig.cutAfter(4);
    expect(await cut.resume()).toEqual({ kind: 'completed' });
    expect(cut.tools.asked).toEqual([]);
  });

  it('without an executor a cut tool call waits, and no error piles up', async () => {
    const rig = new TurnRig(scripted([{ do: 'tool', id: 'a' }]));
    await rig.run('one');
    const cut = await rig.cutAfter(3, { noTools: true });
    await expect(cut.resume()).rejects.toEqual(failure('missing-executor'));
    expect((await cut.kinds()).at(-1)).toBe('TOOL_CALL');
  });

  it('a harness that swallows its divergence gets nothing done any more', async () => {
    const rig = new TurnRig(
      scripted([
        { do: 'output', text: 'a' },
        { do: 'output', text: 'b' },
      ]),
    );
    await rig.run('one');
    const cut = await rig.cutAfter(3);
    cut.harness = harnessOf(async (_, sink) => {
      await sink.output(textMessage('assistant', 'other')).catch(() => undefined);
      await sink.model(modelCall('x')).catch(() => undefined);
      await sink.toolCall(toolCall('t')).catch(() => undefined);
    });
    await expect(cut.resume()).rejects.toEqual(failure('diverged'));
    expect([cut.model.calls, cut.tools.asked]).toEqual([[], []]);
    expect((await cut.kinds()).slice(3)).toEqual(['ERROR']);
    cut.harness = rig.harness;
    expect(await cut.resume()).toEqual({ kind: 'completed' });
  });

  it('a harness that leaves recorded effects out has diverged', async () => {
    const rig = new TurnRig(scripted([{ do: 'output', text: 'a' }]));
    await rig.run('one');
    const cut = await rig.cutAfter(3);
    cut.harness = scripted([]);
    await expect(cut.resume()).rejects.toEqual(failure('diverged'));
  });

  it.each([
    ['another tool', { tool: 'other' }],
    ['another key', { idempotencyKey: 'k' }],
    ['other arguments', { args: { id: 'b' } }],
  ])('a tool call with %s has diverged', async (_, change) => {
    const rig = new TurnRig(scripted([{ do: 'tool', id: 'a' }]));
    await rig.run('one');
    const cut = await rig.cutAfter(4);
    cut.harness = harnessOf(async (__, sink) => void (await sink.toolCall({ ...toolCall('a'), ...change })));
    await expect(cut.resume()).rejects.toEqual(failure('diverged'));
  });

  it('a failed turn is gone on with: the same model call, once more', async () => {
    const rig = new TurnRig(scripted([{ do: 'model', ask: 'a' }]));
    const { complete } = rig.model;
    rig.model.complete = () => Promise.reject(new Error('down'));
    await expect(rig.run('one')).rejects.toThrow(/down/);
    await expect(rig.resume()).rejects.toThrow(/down/);
    rig.model.complete = complete;
    expect(await rig.resume()).toEqual({ kind: 'completed' });
    expect(await rig.kinds()).toEqual([
      ...['EXECUTION_START', 'INPUT', 'MODEL_CALL', 'ERROR', 'ERROR', 'OUTPUT', 'END'],
    ]);
  });

  it('nothing to resume is said, not done', async () => {
    const rig = new TurnRig(scripted([]));
    expect(await rig.resume()).toEqual({ kind: 'nothing' });
    await rig.run('one');
    expect(await rig.resume()).toEqual({ kind: 'nothing' });
    expect((await rig.kinds()).slice(-1)).toEqual(END);
  });

  it('config, cursor, inputs and history are those that were recorded', async () => {
    const starts: unknown[] = [];
    const rig = new TurnRig(
      harnessOf(async (start, sink) => {
        starts.push(start);
        await sink.model(modelCall('x'));
      }),
    );
    await rig.run('one');
    const config = new Uint8Array([0, 255, 32, 10, 9]);
    await rig.run('two', { config, resumeFromSeq: 9_007_199_254_740_993n });
    const cut = await rig.cutAfter(8);
    await cut.resume();
    expect(starts[2]).toEqual(starts[1]);
  });

  it('DUR-09 the state that a harness rebuilds is the one before, whatever was recorded between', async () => {
    const rig = new TurnRig(
      scripted([
        { do: 'model', ask: 'a' },
        { do: 'tool', id: 't' },
        { do: 'usage', tokens: 1 },
        { do: 'output', text: 'done' },
      ]),
    );
    await rig.run('one');
    const served: Uint8Array[][] = [];
    const watching = harnessOf(async (start, sink, signal) => {
      served.push(start.history.map((each) => toBinary(EventSchema, each)));
      await rig.harness.run(start, sink, signal);
    });
    const cut = await rig.cutAfter((await rig.records()).length);
    cut.harness = watching;
    await cut.run('two');
    expect(served[0]).toEqual((await rig.records()).map(({ event }) => toBinary(EventSchema, event)));
  });
});

describe('which turns can be gone on with', () => {
  it('one whose inputs were cut off cannot', async () => {
    const rig = new TurnRig(scripted([]));
    await rig.store.append(rig.uid, [
      executionStart('x', { inputCount: 2, harness: 'script', harnessVersion: '1' }),
      input('x', textMessage('user', 'only one')),
    ]);
    await expect(rig.resume()).rejects.toEqual(failure('incomplete-invocation'));
    expect(await rig.kinds()).toEqual(['EXECUTION_START', 'INPUT']);
  });

  it.each([
    ['another name', { harness: 'other', harnessVersion: '1' }],
    ['another version', { harness: 'script', harnessVersion: '0' }],
  ])('one of a harness of %s cannot', async (_, fields) => {
    const rig = new TurnRig(scripted([]));
    await rig.store.append(rig.uid, [executionStart('x', { inputCount: 0, ...fields })]);
    await expect(rig.resume()).rejects.toEqual(failure('harness-mismatch'));
    expect(await rig.kinds()).toEqual(['EXECUTION_START']);
  });

  it('one that does not say its version can', async () => {
    const rig = new TurnRig(scripted([]));
    await rig.store.append(rig.uid, [executionStart('x', { inputCount: 0, harness: 'script' })]);
    expect(await rig.resume()).toEqual({ kind: 'completed' });
  });

  it('one without a start record can, with no config', async () => {
    let config: Uint8Array | undefined;
    const rig = new TurnRig(
      harnessOf(async (start) => {
        config = start.config;
      }),
    );
    await rig.store.append(rig.uid, [input('x', textMessage('user', 'a'))]);
    expect(await rig.resume()).toEqual({ kind: 'completed' });
    expect(config).toEqual(new Uint8Array());
  });
});

describe('a fork', () => {
  it('shares hashes with its parent, goes on by itself, and leaves the parent alone', async () => {
    const rig = new TurnRig(scripted([{ do: 'model', ask: 'a' }]));
    await rig.run('one');
    const before = await rig.records();
    const child = await rig.forkAt(3);
    expect(await child.resume()).toEqual({ kind: 'completed' });
    expect(child.model.calls).toHaveLength(1);
    expect(await rig.records()).toEqual(before);
    const shared = (records: readonly ChainedRecord[]) =>
      records.slice(0, 3).map(({ contentHash }) => contentHash);
    expect(shared(await child.records())).toEqual(shared(before));
  });

  it('never carries out a call of its parent', async () => {
    const rig = new TurnRig(scripted([{ do: 'tool', id: 'a' }]));
    await rig.run('one');
    const child = await rig.forkAt(3);
    await expect(child.resume()).rejects.toEqual(failure('inherited-intent'));
    expect(child.tools.asked).toEqual([]);
    expect((await child.kinds()).at(-1)).toBe('LIFECYCLE');
    expect(await child.run('instead')).toEqual({ kind: 'completed' });
  });

  it('is served a pair that its parent completed', async () => {
    const rig = new TurnRig(scripted([{ do: 'tool', id: 'a' }]));
    await rig.run('one');
    const child = await rig.forkAt(4);
    expect(await child.resume()).toEqual({ kind: 'completed' });
    expect(child.tools.asked).toEqual([]);
  });
});
