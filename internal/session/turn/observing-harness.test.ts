import { describe, expect, it } from 'vitest';
import { cityFact, textMessage } from '../../protocol/events.ts';
import {
  EventKind,
  Mediation,
  MessageSchema,
  ToolResultSchema,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import { harnessOf, TurnRig, toolCall } from './testing/turn-rig.ts';

const failure = (name: string) => expect.objectContaining({ failure: name });

describe('a harness that acts by itself', () => {
  it('tells its calls, results and facts as they happen, and gets them back when it goes on', async () => {
    const recorded: string[][] = [];
    const harness = harnessOf(
      async (start, sink) => {
        recorded.push(start.recorded.map(({ kind }) => EventKind[kind]));
        if (start.recorded.length > 0) return await sink.output(textMessage('assistant', 'done'));
        await sink.fact(cityFact({ conversation: 'c1' }));
        await sink.observed(toolCall('a', Mediation.UNSPECIFIED));
        await sink.report(create(ToolResultSchema, { id: 'a' }));
        sink.delta('do');
        sink.delta('');
        throw new Error('its program died');
      },
      { observes: true },
    );
    const rig = new TurnRig(harness);
    await expect(rig.run('one')).rejects.toThrow(/its program died/);
    expect(await rig.resume()).toEqual({ kind: 'completed' });
    expect(recorded).toEqual([
      [],
      ['EVENT_LIFECYCLE', 'EVENT_TOOL_CALL', 'EVENT_TOOL_RESULT', 'EVENT_ERROR'],
    ]);
    expect(await rig.kinds()).toEqual([
      ...['EXECUTION_START', 'INPUT', 'LIFECYCLE', 'TOOL_CALL', 'TOOL_RESULT', 'ERROR', 'OUTPUT', 'END'],
    ]);
    const call = (await rig.records())[3]?.event.body.value;
    expect(call).toMatchObject({ mediation: Mediation.IN_HARNESS_REPORTED });
    expect(rig.deltas).toEqual([
      { chunk: 'do', done: false },
      { chunk: '', done: true },
    ]);
  });

  it('keeps all parts of an output; others say text only', async () => {
    const message = create(MessageSchema, {
      role: 'assistant',
      parts: [
        { part: { case: 'text', value: { text: 'a' } } },
        { part: { case: 'data', value: { data: { b: 1 } } } },
      ],
    });
    const parts = async (observes: boolean) => {
      const rig = new TurnRig(harnessOf((_, sink) => sink.output(message), { observes }));
      await rig.run('one');
      const body = (await rig.records())[2]?.event.body;
      return body?.case === 'message' ? body.value.parts.length : 0;
    };
    expect([await parts(true), await parts(false)]).toEqual([2, 1]);
  });

  it('what is only for it is refused to others', async () => {
    const refused: unknown[] = [];
    const rig = new TurnRig(
      harnessOf(async (_, sink) => {
        await sink.observed(toolCall('a')).catch((error) => refused.push(error));
        await sink.fact(cityFact({ a: 1 })).catch((error) => refused.push(error));
      }),
    );
    await rig.run('one');
    expect(refused).toEqual([failure('invalid-call'), failure('invalid-call')]);
  });
});
