import { describe, expect, it } from 'vitest';
import { textMessage } from '../../protocol/events.ts';
import { Mediation, MessageSchema } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { ModelResultSchema } from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { create, toBinary } from '../../protocol/protobuf.ts';
import { cancelTurn } from './cancel-turn.ts';
import { replayTurns } from './replay-turns.ts';
import { counterHarness } from './testing/counter-harness.ts';
import { harnessOf, modelCall, never, type Step, scripted, TurnRig, toolCall } from './testing/turn-rig.ts';

const failure = (name: string) => expect.objectContaining({ failure: name });
const replay = (rig: TurnRig) => rig.replay();

const STEPS: readonly Step[] = [
  { do: 'model', ask: 'a' },
  { do: 'tool', id: 't' },
  { do: 'output', text: 'x' },
  { do: 'report', id: 'r' },
  { do: 'usage', tokens: 4 },
  { do: 'model', ask: 'b' },
];

describe('the verification path', () => {
  it('I1 replay never calls the model, runs no tool, says nothing and writes nothing', async () => {
    const rig = new TurnRig(scripted(STEPS));
    rig.model.streams = true;
    await rig.run('one');
    await rig.run('two');
    const before = await rig.records();
    const [models, tools, deltas] = [rig.model.calls.length, rig.tools.asked.length, rig.deltas.length];
    expect(await replay(rig)).toEqual({ turns: 2, leftOut: [] });
    expect(await rig.records()).toEqual(before);
    expect([rig.model.calls.length, rig.tools.asked.length, rig.deltas.length]).toEqual([
      models,
      tools,
      deltas,
    ]);
  });

  it('I2 opaque reasoning is stored and served again as it was', async () => {
    const opaque = new Uint8Array([0, 255, 128, 10]);
    const message = create(MessageSchema, {
      role: 'assistant',
      parts: [
        {
          part: {
            case: 'reasoning',
            value: {
              provider: 'p',
              modelId: 'm',
              opaque: { case: 'opaqueBytes', value: opaque },
              summary: [{ part: { case: 'text', value: { text: 's' } } }],
              itemId: 'rs_1',
              ordinal: 2,
              validityScope: 'session',
            },
          },
        },
        { part: { case: 'text', value: { text: 'answer' } } },
      ],
    });
    const got: Uint8Array[] = [];
    const rig = new TurnRig(
      harnessOf(async (_, sink) => {
        const result = await sink.model(modelCall('a'));
        got.push(toBinary(MessageSchema, result.message ?? create(MessageSchema)));
      }),
    );
    rig.model.complete = async () => create(ModelResultSchema, { message });
    await rig.run('one');
    await replay(rig);
    expect(got).toEqual([toBinary(MessageSchema, message), toBinary(MessageSchema, message)]);
  });

  it('I5 replay is byte-identical: the harness gets the same answers, usage of the provider or not', async () => {
    const got: Uint8Array[] = [];
    const rig = new TurnRig(
      harnessOf(async (_, sink) => {
        got.push(toBinary(ModelResultSchema, await sink.model(modelCall('a'))));
      }),
    );
    const usage = { model: 'm', inputTokens: 3n };
    rig.model.complete = async () =>
      create(ModelResultSchema, {
        message: textMessage('assistant', 'x'),
        usage,
        modelCallId: 'of the provider',
      });
    await rig.run('one');
    await replay(rig);
    const cut = await rig.cutAfter(4);
    await cut.resume();
    expect(got[1]).toEqual(got[0]);
    expect(got[2]).toEqual(got[0]);
  });

  it('DUR-10 two runs of the same session have the same hashes, whenever they run', async () => {
    const hashes: string[][] = [];
    for (const hours of [0, 5]) {
      const rig = new TurnRig(scripted(STEPS));
      await rig.clock.advance(hours * 3_600_000);
      await rig.run('one');
      hashes.push((await rig.records()).map(({ contentHash }) => contentHash));
    }
    expect(hashes[1]).toEqual(hashes[0]);
  });

  it.each<[string, readonly Step[]]>([
    ['another question', [{ do: 'model', ask: 'z' }, ...STEPS.slice(1)]],
    ['another output', [...STEPS.slice(0, 2), { do: 'output', text: 'y' }, ...STEPS.slice(3)]],
    ['other usage', [...STEPS.slice(0, 4), { do: 'usage', tokens: 5 }, ...STEPS.slice(5)]],
    ['another report', [...STEPS.slice(0, 3), { do: 'report', id: 'q' }, ...STEPS.slice(4)]],
    ['less', STEPS.slice(0, 4)],
    ['more', [...STEPS, { do: 'model', ask: 'c' }]],
    ['another order', [...STEPS].reverse()],
  ])('%s has diverged', async (_, steps) => {
    const rig = new TurnRig(scripted(STEPS));
    await rig.run('one');
    rig.harness = scripted(steps);
    await expect(replay(rig)).rejects.toEqual(failure('diverged'));
  });

  it('a gated call is served with its decision', async () => {
    const told: boolean[] = [];
    const rig = new TurnRig(
      harnessOf(async (_, sink) => {
        const call = toolCall('g', Mediation.REQUIRES_APPROVAL);
        const result = await sink.toolCall(call, ({ approved }) => told.push(approved));
        told.push(result.isError);
      }),
    );
    await rig.decide(await rig.run('one'), true);
    await rig.resume();
    await replay(rig);
    expect(told).toEqual([true, false, true, false]);
    expect(rig.tools.asked).toHaveLength(1);
  });

  it('a harness of another version is refused before it runs', async () => {
    let runs = 0;
    const counting = async () => {
      runs += 1;
    };
    const rig = new TurnRig(harnessOf(counting));
    await rig.run('one');
    rig.harness = harnessOf(counting, { version: '2' });
    await expect(replay(rig)).rejects.toEqual(failure('harness-mismatch'));
    rig.harness = harnessOf(counting, { version: '' });
    await expect(replay(rig)).rejects.toEqual(failure('harness-mismatch'));
    expect(runs).toBe(1);
  });

  it('turns of harnesses that act by themselves, or that nobody knows, are left out and named', async () => {
    const acting = harnessOf((_, sink) => sink.observed(toolCall('a')), { observes: true });
    const rig = new TurnRig(acting);
    await rig.run('one');
    rig.harness = scripted([]);
    await rig.run('two');
    const { uid, log, clock, harness } = await rig.context();
    expect(await replay(rig)).toEqual({
      turns: 1,
      leftOut: [{ harness: 'script', seq: 1, why: 'observed' }],
    });
    const unknown = { uid, log, clock, harnessOf: () => undefined };
    expect((await replayTurns(unknown, never)).leftOut.map(({ why }) => why)).toEqual([
      'observed',
      'unknown',
    ]);
    const reports = { ...unknown, harnessOf: () => ({ ...harness, observes: true }) };
    expect((await replayTurns(reports, never)).leftOut.map(({ why }) => why)).toEqual([
      'observed',
      'observed',
    ]);
  });

  it('unfinished turns are left out, canceled ones are run as far as they came', async () => {
    const stop = new AbortController();
    const rig = new TurnRig(
      harnessOf(async (_, sink) => {
        await sink.model(modelCall('a'));
        stop.abort(new Error('stop'));
        await sink.output(textMessage('assistant', 'not reached'));
      }),
    );
    await expect(rig.run('one', {}, stop.signal)).rejects.toEqual(failure('canceled'));
    expect(await replay(rig)).toEqual({ turns: 0, leftOut: [] });
    await cancelTurn(await rig.context(), 'enough');
    expect(await replay(rig)).toEqual({ turns: 1, leftOut: [] });
  });

  it('a harness that counts in its memory does not repeat itself, and that is found', async () => {
    const rig = new TurnRig(counterHarness());
    await rig.run('one');
    await rig.run('two');
    await expect(replay(rig)).rejects.toEqual(failure('diverged'));
    rig.harness = counterHarness();
    expect(await replay(rig)).toEqual({ turns: 2, leftOut: [] });
  });
});
