import { describe, expect, it } from 'vitest';
import { cityFact, event, lifecycle, textMessage } from '../../protocol/events.ts';
import {
  EventKind,
  Mediation,
  ModelCallSchema,
  ToolResultSchema,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { ModelResultSchema } from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { ChainWalk } from '../../protocol/hash-chain.ts';
import { create } from '../../protocol/protobuf.ts';
import { LogConflictError, StaleFenceError } from '../log/errors.ts';
import { echoHarness } from './builtin/echo-harness.ts';
import { echoModel } from './builtin/echo-model.ts';
import { runTurn } from './run-turn.ts';
import { harnessOf, modelCall, never, scripted, TurnRig, toolCall } from './testing/turn-rig.ts';

const failure = (name: string) => expect.objectContaining({ failure: name });

describe('a turn', () => {
  it('of the echo harness leaves the published records', async () => {
    const rig = new TurnRig(echoHarness, { name: 'echo' });
    const context = { ...(await rig.context()), model: echoModel };
    const inputs = [textMessage('user', 'hi')];
    const invocation = { inputs, config: new Uint8Array(), resumeFromSeq: 0n, expected: 0 };
    expect(await runTurn(context, invocation, never)).toEqual({ kind: 'completed' });
    expect(await rig.kinds()).toEqual(['EXECUTION_START', 'INPUT', 'MODEL_CALL', 'OUTPUT', 'END']);
    const [start, , call, output] = await rig.records();
    expect(start?.event.executionId).toMatch(/^[0-9a-f]{16}$/);
    expect(start?.event.body.value).toMatchObject({ inputCount: 1n, harness: 'echo', harnessVersion: '1' });
    expect(call?.event.body.value).toMatchObject({
      model: 'echo',
      inputHash: '479bbea34c77bd4f413f938e6c7990e1deb2e3e7cadd21d3933c8bada10e61e1',
      id: expect.stringMatching(/^[0-9a-f]{16}$/),
      messages: [],
    });
    expect(output?.event.body.value).toMatchObject({ parts: [{ part: { value: { text: 'echo:hi' } } }] });
  });

  it('gets everything before it as history, and nothing of its own', async () => {
    const histories: string[][] = [];
    const rig = new TurnRig(
      harnessOf(async ({ history }) => {
        histories.push(history.map(({ kind }) => EventKind[kind]));
      }),
    );
    await rig.run('one');
    await rig.store.append(rig.uid, [lifecycle(2)]);
    await rig.run('two');
    expect(histories).toEqual([[], ['EVENT_EXECUTION_START', 'EVENT_INPUT', 'EVENT_END', 'EVENT_LIFECYCLE']]);
  });

  it('I4 a harness with a memory of its own gets no history', async () => {
    let given = -1;
    const rig = new TurnRig(
      harnessOf(
        async ({ history }) => {
          given = history.length;
        },
        { resumability: 2 },
      ),
    );
    await rig.run('one');
    await rig.run('two');
    expect(given).toBe(0);
  });

  it('a second one with a stale place in the log is refused and records nothing', async () => {
    const rig = new TurnRig(scripted([{ do: 'model', ask: 'a' }]));
    await rig.run('one');
    const before = await rig.kinds();
    await expect(rig.run('two', { expected: 0 })).rejects.toThrow(LogConflictError);
    expect(await rig.kinds()).toEqual(before);
  });

  it('a harness that does not describe itself is given up, and nothing is recorded', async () => {
    const rig = new TurnRig({ ...scripted([]), describe: () => new Promise(() => undefined) });
    const run = rig.run('one');
    const refused = expect(run).rejects.toMatchObject({ code: 'harness-unavailable' });
    await rig.clock.advance(10_000);
    await refused;
    expect(await rig.kinds()).toEqual([]);
  });

  it('a failed harness leaves an error and no end; a new turn may follow', async () => {
    const rig = new TurnRig(harnessOf(() => Promise.reject(new Error('no luck'))));
    await expect(rig.run('one')).rejects.toEqual(failure('harness-failed'));
    expect(await rig.kinds()).toEqual(['EXECUTION_START', 'INPUT', 'ERROR']);
    rig.harness = scripted([{ do: 'output', text: 'x' }]);
    expect(await rig.run('two')).toEqual({ kind: 'completed' });
  });

  it('a failed model leaves the call unanswered, and the turn is over even if the harness goes on', async () => {
    const rig = new TurnRig(
      harnessOf(async (_, sink) => {
        await sink.model(modelCall('a')).catch(() => undefined);
        await sink.output(textMessage('assistant', 'never mind')).catch(() => undefined);
      }),
    );
    rig.model.complete = () => Promise.reject(new Error('overloaded'));
    await expect(rig.run('one')).rejects.toThrow(/overloaded/);
    expect(await rig.kinds()).toEqual(['EXECUTION_START', 'INPUT', 'MODEL_CALL', 'ERROR']);
  });

  it('a call after the turn is over, and one that nobody waited for, harm nothing', async () => {
    let late: Promise<unknown> = Promise.resolve();
    const rig = new TurnRig(
      harnessOf(async (_, sink) => {
        void sink.output(textMessage('assistant', 'not awaited'));
        late = Promise.resolve().then(async () => {
          for (let i = 0; i < 50; i += 1) await Promise.resolve();
          await sink.output(textMessage('assistant', 'late'));
        });
        late.catch(() => undefined);
        await sink.output(textMessage('assistant', 'awaited'));
      }),
    );
    await rig.run('one');
    await expect(late).rejects.toEqual(failure('invalid-call'));
    expect(await rig.kinds()).toEqual(['EXECUTION_START', 'INPUT', 'OUTPUT', 'OUTPUT', 'END']);
  });
});

describe('tool calls', () => {
  it('are carried out by the host, between intent and result', async () => {
    const rig = new TurnRig(scripted([{ do: 'tool', id: 'a' }]));
    await rig.run('one');
    expect(await rig.kinds()).toEqual(['EXECUTION_START', 'INPUT', 'TOOL_CALL', 'TOOL_RESULT', 'END']);
    const result = (await rig.records())[3]?.event.body.value;
    expect(result).toMatchObject({ id: 'a', output: { nth: 1 }, isError: false });
  });

  it.each([
    ['without a key', toolCall('a', Mediation.CONTROLLER_MEDIATED, ''), 'invalid-call'],
    ['without mediation', toolCall('a', Mediation.UNSPECIFIED), 'invalid-call'],
    ['that the harness should report', toolCall('a', Mediation.IN_HARNESS_REPORTED), 'invalid-call'],
    ['gated and without an id', toolCall('', Mediation.REQUIRES_APPROVAL), 'invalid-call'],
    ['gated and without a key', toolCall('a', Mediation.REQUIRES_APPROVAL, ''), 'invalid-call'],
  ])('%s is refused before anything is recorded', async (_, call, why) => {
    const rig = new TurnRig(harnessOf(async (__, sink) => void (await sink.toolCall(call))));
    await expect(rig.run('one')).rejects.toEqual(failure(why));
    expect(await rig.kinds()).toEqual(['EXECUTION_START', 'INPUT', 'ERROR']);
  });

  it('with arguments that JSON does not have is refused before anything is recorded', async () => {
    const call = { ...toolCall('a'), args: { n: Number.NaN } };
    const rig = new TurnRig(harnessOf(async (_, sink) => void (await sink.toolCall(call))));
    await expect(rig.run('one')).rejects.toMatchObject({ code: 'not-canonical' });
    expect(await rig.kinds()).toEqual(['EXECUTION_START', 'INPUT', 'ERROR']);
    expect(rig.tools.asked).toEqual([]);
  });

  it('a failing executor is an error for the harness, which may go on', async () => {
    const rig = new TurnRig(
      harnessOf(async (_, sink) => {
        await sink.toolCall(toolCall('a')).catch(() => undefined);
        await sink.output(textMessage('assistant', 'without it'));
      }),
    );
    rig.tools.fail = 'disk full';
    await rig.run('one');
    expect(await rig.kinds()).toEqual(['EXECUTION_START', 'INPUT', 'TOOL_CALL', 'OUTPUT', 'END']);
  });

  it('a gated call whose id was used before, or whose id comes again, is refused', async () => {
    const refused: unknown[] = [];
    const rig = new TurnRig(
      harnessOf(async (_, sink) => {
        await sink.toolCall(toolCall('a'));
        await sink.toolCall(toolCall('a', Mediation.REQUIRES_APPROVAL)).catch((error) => refused.push(error));
      }),
    );
    await rig.run('one');
    expect(refused).toEqual([failure('invalid-call')]);
  });

  it('a report that claims a decision is refused, as is one for a call of the host', async () => {
    const refused: unknown[] = [];
    const rig = new TurnRig(
      harnessOf(async (_, sink) => {
        await sink.toolCall(toolCall('a'));
        for (const init of [{ id: 'x', approvalDecisionSeq: 4n }, { id: 'x', code: 1 }, { id: 'a' }])
          await sink.report(create(ToolResultSchema, init)).catch((error) => refused.push(error.failure));
      }),
    );
    await rig.run('one');
    expect(refused).toEqual(['forged-receipt', 'forged-receipt', 'invalid-call']);
  });

  it('a gate is refused to a harness that needs its memory back', async () => {
    const rig = new TurnRig(
      harnessOf(async (_, sink) => void (await sink.toolCall(toolCall('a', Mediation.REQUIRES_APPROVAL))), {
        resumability: 2,
      }),
    );
    await expect(rig.run('one')).rejects.toEqual(failure('approval-unavailable'));
    expect(await rig.kinds()).toEqual(['EXECUTION_START', 'INPUT', 'ERROR']);
  });
});

it('effects that a harness makes at once are made one after the other', async () => {
  const rig = new TurnRig(
    harnessOf(async (_, sink) => {
      await Promise.all([
        sink.toolCall(toolCall('a')),
        sink.model(modelCall('x')),
        sink.toolCall(toolCall('b')),
        sink.output(textMessage('assistant', 'y')),
      ]);
    }),
  );
  await rig.run('one');
  expect((await rig.kinds()).slice(2, -1)).toEqual([
    ...['TOOL_CALL', 'TOOL_RESULT', 'MODEL_CALL', 'OUTPUT', 'TOOL_CALL', 'TOOL_RESULT', 'OUTPUT'],
  ]);
});

describe('other writers', () => {
  it('DUR-05 a note or a fact of the city appended meanwhile does not end the turn', async () => {
    const rig = new TurnRig(
      harnessOf(async (_, sink) => {
        for (const ask of ['a', 'b']) {
          await sink.model(modelCall(ask));
          await rig.store.append(rig.uid, [cityFact({ note: ask })]);
        }
        await sink.toolCall(toolCall('t'));
      }),
    );
    expect(await rig.run('one')).toEqual({ kind: 'completed' });
    const walk = new ChainWalk();
    for (const record of await rig.records()) walk.check(record);
    expect((await rig.kinds()).filter((kind) => kind === 'LIFECYCLE')).toHaveLength(2);
  });

  it('a takeover stops the turn, which then records nothing more', async () => {
    const rig = new TurnRig(
      harnessOf(async (_, sink) => {
        await sink.model(modelCall('a'));
        await rig.store.newFence(rig.uid);
        await sink.output(textMessage('assistant', 'x')).catch(() => undefined);
        await sink.report(create(ToolResultSchema, { id: 'r' })).catch(() => undefined);
      }),
    );
    await expect(rig.run('one')).rejects.toThrow(StaleFenceError);
    expect(await rig.kinds()).toEqual(['EXECUTION_START', 'INPUT', 'MODEL_CALL', 'OUTPUT']);
  });
});

describe('two hosts on one session', () => {
  it('the newer one goes on, the older one stops, and the turn ends once', async () => {
    const rig = new TurnRig(scripted([{ do: 'model', ask: 'a' }]));
    const first = new Error('down');
    rig.model.complete = () => Promise.reject(first);
    await expect(rig.run('one')).rejects.toThrow(/down/);
    let newer: Promise<unknown> = Promise.resolve();
    const answer = create(ModelResultSchema, { message: textMessage('assistant', 'x') });
    rig.model.complete = async () => {
      rig.model.complete = async () => answer;
      newer = rig.resume();
      await newer;
      return answer;
    };
    await expect(rig.resume()).rejects.toThrow(StaleFenceError);
    expect(await newer).toEqual({ kind: 'completed' });
    expect((await rig.kinds()).slice(2)).toEqual(['MODEL_CALL', 'ERROR', 'OUTPUT', 'END']);
  });
});

describe('cancelling', () => {
  it('ends a harness that does not listen, leaves an error, and the turn can be gone on with', async () => {
    const stop = new AbortController();
    const rig = new TurnRig(
      harnessOf(async (_, sink) => {
        await sink.output(textMessage('assistant', 'begun'));
        stop.abort(new Error('the person left'));
        await new Promise(() => undefined);
      }),
    );
    await expect(rig.run('one', {}, stop.signal)).rejects.toEqual(failure('canceled'));
    expect(await rig.kinds()).toEqual(['EXECUTION_START', 'INPUT', 'OUTPUT', 'ERROR']);
    rig.harness = scripted([{ do: 'output', text: 'begun' }]);
    expect(await rig.resume()).toEqual({ kind: 'completed' });
    expect((await rig.kinds()).at(-1)).toBe('END');
  });

  it('a model that does not listen either is not waited for', async () => {
    const stop = new AbortController();
    const rig = new TurnRig(scripted([{ do: 'model', ask: 'a' }]));
    rig.model.complete = () => {
      stop.abort(new Error('enough'));
      return new Promise(() => undefined);
    };
    await expect(rig.run('one', {}, stop.signal)).rejects.toEqual(failure('canceled'));
    expect((await rig.kinds()).at(-1)).toBe('ERROR');
  });

  it('before the start nothing is recorded', async () => {
    const rig = new TurnRig(scripted([]));
    await expect(rig.run('one', {}, AbortSignal.abort(new Error('x')))).rejects.toEqual(failure('canceled'));
    expect(await rig.kinds()).toEqual([]);
  });

  it('DUR-18 a turn that was stopped before its first event can be continued', async () => {
    const stop = new AbortController();
    const rig = new TurnRig(
      harnessOf(async () => {
        stop.abort(new Error('at once'));
        await new Promise(() => undefined);
      }),
    );
    await expect(rig.run('one', {}, stop.signal)).rejects.toEqual(failure('canceled'));
    rig.harness = scripted([{ do: 'model', ask: 'one' }]);
    expect(await rig.resume()).toEqual({ kind: 'completed' });
    expect(await rig.run('two')).toEqual({ kind: 'completed' });
  });
});

describe('what is being said', () => {
  it('streaming does not change the journal', async () => {
    const steps = [{ do: 'model', ask: 'a' } as const];
    const plain = new TurnRig(scripted(steps));
    const streaming = new TurnRig(scripted(steps));
    streaming.model.streams = true;
    await plain.run('one');
    await streaming.run('one');
    const hashes = async (rig: TurnRig) => (await rig.records()).map(({ contentHash }) => contentHash);
    expect(await hashes(streaming)).toEqual(await hashes(plain));
    expect(plain.deltas).toEqual([]);
    expect(streaming.deltas).toEqual([
      { chunk: 'answer', done: false },
      { chunk: '1', done: false },
      { chunk: '', done: true },
    ]);
  });
});

describe('a log that is not one', () => {
  it.each([
    ['a start that is not the first of its turn', ['i:x', 's:x']],
    ['a record without an id after turns', ['s:x', 'e:x', 'i:']],
    ['a turn with an id inside one without', ['i:', 'i:x']],
  ])('%s is refused', async (_, marks) => {
    const rig = new TurnRig(scripted([]));
    const events = marks.map((mark) => {
      const [kind, id = ''] = mark.split(':');
      if (kind === 's')
        return event(id, EventKind.EVENT_EXECUTION_START, { case: 'executionStart', value: {} });
      if (kind === 'e') return event(id, EventKind.EVENT_END, { case: 'end', value: { state: 'COMPLETED' } });
      return event(id, EventKind.EVENT_INPUT, { case: 'message', value: textMessage('user', 'x') });
    });
    await rig.store.append(rig.uid, events);
    await expect(rig.run('one')).rejects.toEqual(failure('invalid-log'));
  });
});

it('a call of a model keeps nothing but its hash in the log', async () => {
  const call = create(ModelCallSchema, {
    model: 'm',
    params: { secret: 'x' },
    messages: [textMessage('user', 'q')],
  });
  const rig = new TurnRig(harnessOf(async (_, sink) => void (await sink.model(call))));
  await rig.run('one');
  expect((await rig.records())[2]?.event.body.value).toMatchObject({ params: {}, messages: [], model: 'm' });
});
