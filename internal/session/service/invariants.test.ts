import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { textMessage } from '../../protocol/events.ts';
import { EventKind } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { ChainWalk } from '../../protocol/hash-chain.ts';
import { analyzeLog } from '../turn/testing/analyze-log.ts';
import { ServiceError } from './sessions-host.ts';
import {
  type Bench,
  codeOfCall,
  gatedCall,
  openBench,
  say,
  scripted,
  sessionIn,
  uidOf,
} from './testing/service-bench.ts';

const gated = scripted(async (_start, sink) => {
  const result = await sink.toolCall(gatedCall());
  await sink.output(textMessage('assistant', result.isError ? 'no' : 'yes'));
});

describe('invariants of the protocol that a host keeps', () => {
  it('I1 reading what is committed never asks the model', async () => {
    const { call, model } = await openBench();
    const { frames } = await call.exec({ inputs: [say('hi')] });
    const calls = model.calls;
    const session = uidOf(sessionIn(frames[0]));
    await call.replay({ session });
    await call.get(session);
    await call.resume(session);
    expect(model.calls).toBe(calls);
  });

  it('I3 a call whose result was lost is carried out once more under its key, and once only', async () => {
    const bench = await openBench({ harnesses: { gated } });
    const { frames } = await bench.call.exec({ harness: 'gated', inputs: [say('x')] });
    const parked = sessionIn(frames.at(-1));
    const { executionId = '', toolCallId = '', requestSeq = 0n } = parked?.pendingApproval ?? {};
    const session = uidOf(parked);
    await bench.call.approve({ session, executionId, toolCallId, requestSeq, approved: true });
    await Promise.allSettled([bench.call.resume(session), bench.call.resume(session)]);
    await bench.call.resume(session);
    expect(bench.tools.done).toEqual(['key-call-1']);
  });

  it('I5 two replays, by two hosts, are the same', async () => {
    const bench = await openBench();
    const { frames } = await bench.call.exec({ inputs: [say('hi')] });
    const session = uidOf(sessionIn(frames[0]));
    const other = await bench.another();
    expect(await other.call.replay({ session })).toEqual(await bench.call.replay({ session }));
  });

  it('what a turn tells live is what is replayed, pieces aside', async () => {
    const { call } = await openBench();
    const { frames } = await call.exec({ inputs: [say('hi')] });
    const live = frames.flatMap(({ update }) => (update.case === 'record' ? [update.value] : []));
    expect((await call.replay({ session: uidOf(sessionIn(frames[0])) })).frames).toEqual(live);
  });

  it('of two turns with one expected place, one wins', async () => {
    const bench = await openBench();
    const other = await bench.another();
    const session = uidOf(await bench.call.create());
    const both = await Promise.all(
      [bench, other].map(({ call }) => call.exec({ session, inputs: [say('x')], expectedLastSeq: 0n })),
    );
    const errors = both.map(({ error }) => error?.status);
    expect(errors.filter((each) => each === undefined)).toHaveLength(1);
    expect(errors).toContain('ABORTED');
  });
});

type Step =
  | 'echo'
  | 'gated'
  | 'approve'
  | 'deny'
  | 'resume'
  | 'suspend'
  | 'cancel'
  | 'inputless'
  | 'fork'
  | 'delete';
const STEPS: readonly Step[] = [
  'echo',
  'gated',
  'approve',
  'deny',
  'resume',
  'suspend',
  'cancel',
  'inputless',
  'fork',
];

async function take({ call }: Bench, step: Step, session: string): Promise<string[]> {
  switch (step) {
    case 'echo':
    case 'gated':
      await call.exec({ session, harness: step, inputs: [say(step)] });
      return [];
    case 'inputless':
      await call.exec({ session });
      return [];
    case 'approve':
    case 'deny': {
      const { pendingApproval } = await call.get(session);
      if (pendingApproval === undefined) return [];
      const { executionId, toolCallId, requestSeq } = pendingApproval;
      await call.approve({ session, executionId, toolCallId, requestSeq, approved: step === 'approve' });
      return [];
    }
    case 'fork':
      return (await call.fork({ session })).children.map(uidOf);
    case 'delete':
      await call.delete(session);
      return [];
    case 'resume':
      await call.resume(session);
      return [];
    case 'suspend':
      await call.suspend(session);
      return [];
    case 'cancel':
      await call.cancel({ session });
      return [];
  }
}

/** A call may be refused, and only with what the protocol has for it. */
async function attempt(bench: Bench, step: Step, session: string): Promise<string[]> {
  try {
    return await take(bench, step, session);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    expect(['ABORTED', 'FAILED_PRECONDITION', 'CANCELLED']).toContain(error.status);
    return [];
  }
}

async function checkLog({ store }: Bench, uid: string): Promise<void> {
  const records = await store.read(uid, { limit: 100_000 });
  const walk = new ChainWalk();
  for (const record of records) walk.check(record);
  analyzeLog(records, { uid });
  const ended = new Set<string>();
  const answered = new Set<bigint>();
  for (const { event } of records) {
    if (event.executionId !== '') expect(ended, uid).not.toContain(event.executionId);
    if (event.kind === EventKind.EVENT_END) ended.add(event.executionId);
    if (event.body.case !== 'approvalResult') continue;
    expect(answered, uid).not.toContain(event.body.value.requestSeq);
    answered.add(event.body.value.requestSeq);
  }
}

describe('whatever clients of two hosts on one store do at once', () => {
  const step = fc.record({ what: fc.constantFrom(...STEPS), host: fc.nat(1), together: fc.boolean() });

  it('logs stay whole, a turn ends once, a question is answered once, and sessions stay usable', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 14 }), async (steps) => {
        const first = await openBench({ harnesses: { gated } });
        const hosts = [first, await first.another()];
        const root = uidOf(await first.call.create());
        const sessions = [root];
        let running: Promise<string[]>[] = [];
        for (const { what, host, together } of steps) {
          const target = sessions.at(what === 'fork' ? 0 : -1) ?? root;
          running.push(attempt(hosts[host] ?? first, what, target));
          if (together) continue;
          sessions.push(...(await Promise.all(running)).flat());
          running = [];
        }
        sessions.push(...(await Promise.all(running)).flat());
        for (const uid of sessions) {
          await checkLog(first, uid);
          await codeOfCall(first.call.cancel({ session: uid }));
          expect(
            (await first.call.exec({ session: uid, inputs: [say('still there?')] })).error,
          ).toBeUndefined();
        }
      }),
      { numRuns: 30 },
    );
  });
});
