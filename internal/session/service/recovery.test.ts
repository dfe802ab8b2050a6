import { describe, expect, it } from 'vitest';
import { textMessage } from '../../protocol/events.ts';
import {
  Mediation,
  ModelCallSchema,
  ToolCallSchema,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { type ChainedRecord, ChainWalk } from '../../protocol/hash-chain.ts';
import { create } from '../../protocol/protobuf.ts';
import { MemoryLogStore } from '../log/testing/memory-log-store.ts';
import {
  type Bench,
  codeOfCall,
  gatedCall,
  kindOf,
  openBench,
  say,
  scripted,
  sessionIn,
  uidOf,
} from './testing/service-bench.ts';

/** A model call, a call that the host carries out, a call that a person is asked about, and a last word. */
const worker = scripted(async (_start, sink) => {
  await sink.model(create(ModelCallSchema, { model: 'echo', messages: [textMessage('user', 'plan')] }));
  await sink.toolCall(
    create(ToolCallSchema, {
      id: 'build',
      tool: 'build',
      mediation: Mediation.CONTROLLER_MEDIATED,
      idempotencyKey: 'key-build',
    }),
  );
  const deployed = await sink.toolCall(gatedCall('deploy'));
  await sink.output(textMessage('assistant', deployed.isError ? 'refused' : 'deployed'));
});

const open = (store: MemoryLogStore): Promise<Bench> => openBench({ store, harnesses: { worker } });

/** Answers every question with yes and goes on until the session is idle. */
async function untilDone({ call }: Bench, session: string): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    const { pendingApproval } = await call.resume(session);
    if (pendingApproval === undefined) return;
    const { executionId, toolCallId, requestSeq } = pendingApproval;
    await call.approve({ session, executionId, toolCallId, requestSeq, approved: true });
  }
}

/** The log of one whole life of a session: parked, answered, gone on with. */
async function wholeLog(): Promise<readonly ChainedRecord[]> {
  const bench = await open(new MemoryLogStore());
  const { frames } = await bench.call.exec({ harness: 'worker', inputs: [say('ship it')] });
  const session = uidOf(sessionIn(frames[0]));
  await untilDone(bench, session);
  return await bench.store.read(session, {});
}

async function cutAfter(
  records: readonly ChainedRecord[],
  count: number,
): Promise<{ bench: Bench; session: string }> {
  const bench = await open(new MemoryLogStore());
  const session = uidOf(await bench.call.create({ harness: 'worker' }));
  await bench.store.append(
    session,
    records.slice(0, count).map(({ event }) => event),
  );
  return { bench, session };
}

describe('a crash between any two records', () => {
  it('DUR-09 Resume brings the session to the same end, effects at most once more', async () => {
    const whole = await wholeLog();
    const wanted = whole.map(({ event }) => kindOf(event)).filter(isEffect);
    expect(wanted).toEqual([
      'EXECUTION_START',
      'INPUT',
      'MODEL_CALL',
      'OUTPUT',
      'TOOL_CALL',
      'TOOL_RESULT',
      'TOOL_CALL',
      'APPROVAL_REQUEST',
      'APPROVAL_RESULT',
      'TOOL_RESULT',
      'OUTPUT',
      'END',
    ]);
    for (let count = 2; count <= whole.length; count += 1) {
      const { bench, session } = await cutAfter(whole, count);
      const before = whole.slice(0, count).map(({ event }) => kindOf(event));
      await untilDone(bench, session);
      const log = await bench.store.read(session, {});
      expect(log.map(({ event }) => kindOf(event)).filter(isEffect), `after ${count}`).toEqual(wanted);
      expect(log.slice(0, count).map(({ event }) => event)).toEqual(
        whole.slice(0, count).map(({ event }) => event),
      );
      const walk = new ChainWalk();
      for (const record of log) walk.check(record);
      const results = before.filter((kind) => kind === 'TOOL_RESULT').length;
      expect(bench.tools.done, `after ${count}`).toEqual(['key-build', 'key-deploy'].slice(results));
      expect(bench.model.calls, `after ${count}`).toBe(before.includes('OUTPUT') ? 0 : 1);
      const { fence } = await bench.store.head(session);
      expect(fence).toBeGreaterThan(0);
    }
  });

  it('a turn whose inputs are not all there is not run; a new Exec is', async () => {
    const whole = await wholeLog();
    const { bench, session } = await cutAfter(whole, 1);
    expect(await codeOfCall(bench.call.resume(session))).toBe('FAILED_PRECONDITION');
    expect(bench.model.calls).toBe(0);
    expect(
      (await bench.call.exec({ session, harness: 'echo', inputs: [say('again')] })).error,
    ).toBeUndefined();
  });

  it('what cannot go on is refused: other effects than recorded, or a call inherited without its result', async () => {
    const whole = await wholeLog();
    const { bench, session } = await cutAfter(whole, 5);
    const { children } = await bench.call.fork({ session });
    expect(await codeOfCall(bench.call.resume(uidOf(children[0])))).toBe('FAILED_PRECONDITION');
    expect(bench.tools.done).toEqual([]);
    const other = scripted(async (_start, sink) => {
      await sink.output(textMessage('assistant', 'something else'));
    });
    const changed = await bench.another({ harnesses: { worker: other } });
    expect(await codeOfCall(changed.call.resume(session))).toBe('INTERNAL');
    await bench.call.resume(session);
    expect(bench.tools.done).toEqual(['key-build']);
  });

  it('an unknown session, or none, has nothing to go on with', async () => {
    const { call } = await openBench();
    expect(await codeOfCall(call.resume(''))).toBe('INVALID_ARGUMENT');
    expect(await codeOfCall(call.resume('sess-unknown'))).toBe('NOT_FOUND');
    expect(await codeOfCall(call.suspend(''))).toBe('INVALID_ARGUMENT');
    expect(await codeOfCall(call.suspend('sess-unknown'))).toBe('NOT_FOUND');
  });

  it('DUR-14 a session that was suspended and resumed, here or elsewhere, still knows everything', async () => {
    const known: number[] = [];
    const looking = scripted(async ({ history }, sink) => {
      known.push(history.length);
      await sink.output(textMessage('assistant', 'noted'));
    });
    const bench = await openBench({ harnesses: { looking } });
    const session = uidOf(await bench.call.create({ harness: 'looking' }));
    const turn = async ({ call }: Bench) =>
      expect((await call.exec({ session, inputs: [say('more')] })).error).toBeUndefined();
    await turn(bench);
    await bench.call.suspend(session);
    await turn(bench);
    await bench.call.suspend(session);
    const restarted = await bench.another();
    await restarted.call.resume(session);
    await turn(restarted);
    expect(known).toEqual([0, 5, 11]);
  });

  it('DUR-14 suspending and resuming an empty session, twice, keeps notes of it and nothing else', async () => {
    const { call, store } = await openBench();
    const session = uidOf(await call.create());
    for (const _ of [1, 2]) await call.suspend(session);
    await call.resume(session);
    expect((await store.read(session, {})).map(({ event }) => kindOf(event))).toEqual([
      'SUSPEND',
      'SUSPEND',
      'RESUME',
    ]);
    const [first] = await store.read(session, {});
    expect(first?.event.body.value).toMatchObject({ snapshotLocal: session, snapshotExternalUri: '' });
    expect((await call.exec({ session, inputs: [say('hi')] })).error).toBeUndefined();
  });
});

function isEffect(kind: string): boolean {
  return kind !== 'SUSPEND' && kind !== 'RESUME' && kind !== 'ERROR';
}
