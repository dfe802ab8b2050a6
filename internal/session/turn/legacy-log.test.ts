import { describe, expect, it } from 'vitest';
import { errorEvent, event, executionEnd, input, output, textMessage } from '../../protocol/events.ts';
import { type Event, EventKind, Mediation } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { modelInputHash } from '../../protocol/model-input-hash.ts';
import { harnessOf, modelCall, scripted, TurnRig, toolCall } from './testing/turn-rig.ts';

const failure = (name: string) => expect.objectContaining({ failure: name });
const asked = (ask: string): Event =>
  event('', EventKind.EVENT_MODEL_CALL, {
    case: 'model',
    value: { model: 'm', inputHash: modelInputHash(modelCall(ask)) },
  });
const said = (text: string): Event => output('', textMessage('assistant', text));
const heard = (text: string): Event => input('', textMessage('user', text));
const used = event('', EventKind.EVENT_USAGE, { case: 'usage', value: { model: 'm' } });
const TURN = [heard('one'), asked('a'), said('A'), used, executionEnd('')];

/** Asks once for each input it gets. */
const asking = (...asks: string[]) => scripted(asks.map((ask) => ({ do: 'model', ask })));

async function rigWith(events: readonly Event[], harness = asking('b')): Promise<TurnRig> {
  const rig = new TurnRig(harness);
  await rig.store.append(rig.uid, events);
  return rig;
}

describe('a log without execution ids', () => {
  it('is replayed as one turn with all inputs, ended or not', async () => {
    const rig = await rigWith([...TURN, heard('two'), asked('b'), said('B')], asking('a', 'b'));
    expect(await rig.replay()).toEqual({ turns: 1, leftOut: [] });
    rig.harness = asking('a');
    await expect(rig.replay()).rejects.toEqual(failure('diverged'));
  });

  it('is replayed without its usage', async () => {
    const steps: Parameters<typeof scripted>[0] = [
      { do: 'model', ask: 'a' },
      { do: 'usage', tokens: 1 },
      { do: 'model', ask: 'b' },
      { do: 'usage', tokens: 1 },
    ];
    const rig = await rigWith([...TURN, heard('two'), asked('b'), said('B'), used], scripted(steps));
    expect(await rig.replay()).toEqual({ turns: 1, leftOut: [] });
  });

  it('is replayed up to its last end when turns with ids follow', async () => {
    const rig = await rigWith([...TURN, heard('two'), errorEvent('', 'cut')], asking('a'));
    await rig.run('three');
    expect(await rig.replay()).toEqual({ turns: 2, leftOut: [] });
  });

  it('is gone on with from its last input, and stays without ids', async () => {
    let id = '';
    const rig = await rigWith(
      [...TURN, heard('two'), asked('b'), said('B')],
      harnessOf(async (start, sink) => {
        id = start.executionId;
        expect([start.inputs.length, start.history.length]).toEqual([1, 5]);
        await sink.model(modelCall('b'));
        await sink.model(modelCall('c'));
      }),
    );
    expect(await rig.resume()).toEqual({ kind: 'completed' });
    const added = (await rig.records())
      .slice(8)
      .map(({ event: { executionId, kind } }) => [executionId, EventKind[kind]]);
    expect(added).toEqual([
      ['', 'EVENT_MODEL_CALL'],
      ['', 'EVENT_OUTPUT'],
      ['', 'EVENT_END'],
    ]);
    expect(id).toMatch(/^legacy-[0-9a-f]{64}$/);
    expect(await rig.resume()).toEqual({ kind: 'nothing' });
  });

  it.each([
    ['an end', executionEnd('')],
    ['an error', errorEvent('', 'x')],
  ])('is finished after %s', async (_, last) => {
    const rig = await rigWith([heard('one'), asked('b'), last]);
    expect(await rig.resume()).toEqual({ kind: 'nothing' });
  });

  it('a bare model call is not made again', async () => {
    const rig = await rigWith([heard('one'), asked('b')]);
    await expect(rig.resume()).rejects.toEqual(failure('diverged'));
    expect(rig.model.calls).toEqual([]);
  });

  it('cannot wait for a person', async () => {
    const call = toolCall('g', Mediation.REQUIRES_APPROVAL);
    const rig = await rigWith(
      [heard('one')],
      harnessOf(async (_, sink) => void (await sink.toolCall(call))),
    );
    await expect(rig.resume()).rejects.toEqual(failure('approval-unavailable'));
  });

  it('a new turn on top of it has an id', async () => {
    const rig = await rigWith(TURN);
    expect(await rig.run('two')).toEqual({ kind: 'completed' });
    expect((await rig.records()).at(-1)?.event.executionId).toMatch(/^[0-9a-f]{16}$/);
  });
});
