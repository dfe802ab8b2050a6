import { describe, expect, it } from 'vitest';
import { ComputeState, ExecState } from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { ChainWalk } from '../../protocol/hash-chain.ts';
import {
  codeOfCall,
  echoModel,
  gatedCall,
  kindsOf,
  openBench,
  say,
  scripted,
  sessionIn,
  uidOf,
  wordOf,
} from './testing/service-bench.ts';

const gated = scripted(async ({ inputs }, sink) => {
  if (inputs.length === 0) return;
  await sink.toolCall(gatedCall());
});

describe('the worked examples of the protocol', () => {
  it('an echo turn on a new session is told as session and five records', async () => {
    const bench = await openBench();
    const { frames, error } = await bench.call.exec({ inputs: [say('hi')] });
    expect(error).toBeUndefined();
    expect(frames.map(wordOf)).toEqual([
      'session@0',
      '1:EXECUTION_START',
      '2:INPUT',
      '3:MODEL_CALL',
      '4:OUTPUT',
      '5:END',
    ]);
    expect(sessionIn(frames[0])).toMatchObject({
      lastSeq: 0n,
      harness: 'echo',
      execState: ExecState.EXEC_PENDING,
      computeState: ComputeState.COMPUTE_NONE,
    });
    const uid = uidOf(sessionIn(frames[0]));
    expect(uid).toMatch(/^sess-[0-9a-f]{24}$/);
    expect(await bench.call.get(uid)).toMatchObject({
      lastSeq: 5n,
      execState: ExecState.EXEC_COMPLETED,
      computeState: ComputeState.COMPUTE_LIVE,
    });
    expect(await bench.call.suspend(uid)).toMatchObject({
      lastSeq: 6n,
      computeState: ComputeState.COMPUTE_COLD,
    });
    expect(await bench.call.resume(uid)).toMatchObject({
      lastSeq: 7n,
      computeState: ComputeState.COMPUTE_LIVE,
    });

    const { children } = await bench.call.fork({ session: uid, atSeq: 5n, count: 1 });
    const [child] = children;
    expect(child).toMatchObject({
      lastSeq: 6n,
      forkSeq: 5n,
      parentUid: uid,
      computeState: ComputeState.COMPUTE_COLD,
      execState: ExecState.EXEC_COMPLETED,
      metadata: { name: '', project: 'default' },
    });
    const hashes = async (of: string): Promise<string[]> =>
      (await bench.store.read(of, { to: 5 })).map((record) => record.contentHash);
    expect(await hashes(uidOf(child))).toEqual(await hashes(uid));
    const again = await bench.call.exec({
      session: uidOf(child),
      inputs: [say('and now')],
      expectedLastSeq: 6n,
    });
    expect(again.frames.map(wordOf).slice(0, 2)).toEqual(['session@6', '7:EXECUTION_START']);
    const walk = new ChainWalk();
    for (const record of await bench.store.read(uidOf(child), {})) walk.check(record);
    expect(walk.seq).toBe(11);
  });

  it('a turn that needs approval parks, is answered, and goes on', async () => {
    const bench = await openBench({ harnesses: { gated } });
    const first = await bench.call.exec({ harness: 'gated', inputs: [say('deploy')] });
    expect(first.error).toBeUndefined();
    expect(first.frames.map(wordOf)).toEqual([
      'session@0',
      '1:EXECUTION_START',
      '2:INPUT',
      '3:TOOL_CALL',
      '4:APPROVAL_REQUEST',
      '5:SUSPEND',
      'session@5',
    ]);
    const parked = sessionIn(first.frames.at(-1));
    expect(parked).toMatchObject({
      execState: ExecState.EXEC_AWAITING,
      computeState: ComputeState.COMPUTE_COLD,
      pendingApproval: { toolCallId: 'call-1', requestSeq: 4n },
    });
    const uid = uidOf(parked);
    const executionId = parked?.pendingApproval?.executionId ?? '';
    const { session, decision } = await bench.call.approve({
      session: uid,
      executionId,
      toolCallId: 'call-1',
      requestSeq: 4n,
      approved: true,
    });
    expect(decision?.seq).toBe(6n);
    expect(session).toMatchObject({
      execState: ExecState.EXEC_COMPLETED,
      computeState: ComputeState.COMPUTE_COLD,
    });
    expect(session?.pendingApproval).toBeUndefined();
    const blocked = await bench.call.exec({ session: uid, inputs: [say('more')] });
    expect(blocked.frames).toEqual([]);
    expect(blocked.error?.status).toBe('FAILED_PRECONDITION');
    expect(bench.tools.done).toEqual([]);
    await bench.call.resume(uid);
    expect((await kindsOf(bench.store, uid)).slice(5)).toEqual([
      'APPROVAL_RESULT',
      'TOOL_RESULT',
      'END',
      'RESUME',
    ]);
    expect(bench.tools.done).toEqual(['key-call-1']);
  });

  it('a turn that failed stays unfinished: Resume asks the model again, a new Exec leaves it behind', async () => {
    const model = echoModel();
    const answers = model.complete.bind(model);
    let isDown = true;
    model.complete = async (...given) => {
      if (isDown) throw new Error('the model is down');
      return await answers(...given);
    };
    const bench = await openBench({ model });
    const { frames, error } = await bench.call.exec({ inputs: [say('hi')] });
    expect(error?.status).toBe('INTERNAL');
    expect(frames.map(wordOf)).toEqual([
      'session@0',
      '1:EXECUTION_START',
      '2:INPUT',
      '3:MODEL_CALL',
      '4:ERROR',
    ]);
    const uid = uidOf(sessionIn(frames[0]));
    expect((await bench.call.get(uid)).execState).toBe(ExecState.EXEC_COMPLETED);
    isDown = false;
    const { children } = await bench.call.fork({ session: uid });
    await bench.call.resume(uid);
    expect((await kindsOf(bench.store, uid)).slice(4)).toEqual(['OUTPUT', 'END', 'RESUME']);

    const child = uidOf(children[0]);
    const next = await bench.call.exec({ session: child, inputs: [say('new')] });
    expect(next.frames.map(wordOf)).toEqual([
      'session@5',
      '6:EXECUTION_START',
      '7:INPUT',
      '8:MODEL_CALL',
      '9:OUTPUT',
      '10:END',
    ]);
    const calls = model.calls;
    expect(await codeOfCall(bench.call.resume(child))).toBe('OK');
    expect(model.calls).toBe(calls);
    expect((await kindsOf(bench.store, child)).slice(10)).toEqual(['RESUME']);
  });
});
