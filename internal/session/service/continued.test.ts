import { describe, expect, it } from 'vitest';
import { seededIds } from '../../platform/ids.ts';
import { cityFact, textOf } from '../../protocol/events.ts';
import type { Event } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { continueSession } from '../log/continue.ts';
import { chatHarness } from '../turn/builtin/chat-harness.ts';
import type { ModelProvider } from '../turn/harness.ts';
import { replayTurns } from '../turn/replay-turns.ts';
import {
  type Bench,
  echoModel,
  gatedCall,
  kindOf,
  openBench,
  say,
  scripted,
  sessionIn,
  uidOf,
} from './testing/service-bench.ts';

const never = new AbortController().signal;
const chat = chatHarness({ model: 'm' });

/** Everything that a model was told, call by call. */
function hearing(): { readonly told: string[]; readonly model: ReturnType<typeof echoModel> } {
  const told: string[] = [];
  const complete: ModelProvider['complete'] = async (call, options) => {
    told.push(call.messages.map(textOf).join(' | '));
    return await echoModel().complete(call, options);
  };
  return { told, model: { ...echoModel(), complete } };
}

async function started(bench: Bench, harness: string, ...texts: string[]): Promise<string> {
  const uid = uidOf(await bench.call.create({ harness }));
  for (const text of texts) await said(bench, uid, text);
  return uid;
}

async function said({ call }: Bench, session: string, text: string): Promise<void> {
  expect((await call.exec({ session, inputs: [say(text)] })).error).toBeUndefined();
}

const carriedOn = async ({ store }: Bench, source: string, at?: number): Promise<string> =>
  (await continueSession(store, source, { ids: seededIds(source), ...(at ? { at } : {}) })).uid;

describe('a session that continues another', () => {
  it('carries its conversation: a model is told of it first, in every turn, over several sessions', async () => {
    const { told, model } = hearing();
    const bench = await openBench({ harnesses: { chat }, model });
    const first = await started(bench, 'chat', 'one', 'two');
    const second = await carriedOn(bench, first);
    await said(bench, second, 'three');
    const third = await carriedOn(bench, second);
    told.length = 0;
    await said(bench, third, 'four');
    await said(bench, third, 'five');
    const before = 'one | echo:one | two | echo:two | three | echo:three | ';
    expect(told).toEqual([`${before}four`, `${before}four | echo:four | five`]);
    expect(
      (await replayTurns({ ...bench, log: bench.store, uid: third, harnessOf: () => chat }, never)).turns,
    ).toBe(2);
  });

  it('ends where it was continued, whatever the source says later, and so does a fork of it', async () => {
    const { told, model } = hearing();
    const bench = await openBench({ harnesses: { chat }, model });
    const first = await started(bench, 'chat', 'one', 'two');
    const second = await carriedOn(bench, first, 5);
    await said(bench, first, 'later');
    const { children } = await bench.call.fork({ session: second });
    told.length = 0;
    await said(bench, uidOf(children[0]), 'mine');
    expect(told).toEqual(['one | echo:one | mine']);
  });

  it('a turn that is gone on with, and one that is run again, get the same history', async () => {
    const histories: (readonly Event[])[] = [];
    const asking = scripted(async ({ history }, sink) => {
      histories.push(history);
      await sink.toolCall(gatedCall());
    });
    const bench = await openBench({ harnesses: { chat, asking } });
    const first = await started(bench, 'chat', 'one');
    await bench.store.append(first, [cityFact({ native: { conversation: 'c1' } })]);
    const second = await carriedOn(bench, first);
    const { frames } = await bench.call.exec({ session: second, harness: 'asking', inputs: [say('two')] });
    const {
      executionId = '',
      toolCallId = '',
      requestSeq = 0n,
    } = sessionIn(frames.at(-1))?.pendingApproval ?? {};
    await bench.call.approve({ session: second, executionId, toolCallId, requestSeq, approved: true });
    await bench.call.resume(second);
    await replayTurns({ ...bench, log: bench.store, uid: second, harnessOf: () => asking }, never);
    expect(histories[0]?.map(kindOf)).toEqual([
      'EXECUTION_START',
      'INPUT',
      'MODEL_CALL',
      'OUTPUT',
      'END',
      'UNSPECIFIED',
      'UNSPECIFIED',
    ]);
    expect(histories.slice(1)).toEqual([histories[0], histories[0]]);
  });
});
