import { describe, expect, it } from 'vitest';
import { GcError } from '../../platform/errors.ts';
import { cityFact, output, textMessage } from '../../protocol/events.ts';
import { Resumability } from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { ExecRequestSchema, type ExecUpdate } from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import type { HarnessSink } from '../turn/harness.ts';
import { HarnessUnavailableError } from '../turn/harness-errors.ts';
import { ExecFrames } from './exec-frames.ts';
import { ServiceError } from './sessions-host.ts';
import { here } from './testing/calls.ts';
import {
  codeOfCall,
  echoHarness,
  echoModel,
  gate,
  gatedCall,
  kindsOf,
  openBench,
  say,
  scripted,
  sessionIn,
  uidOf,
  wordOf,
} from './testing/service-bench.ts';

/** A harness that stands still until it is let go. */
function waiting() {
  const entered = gate<HarnessSink>();
  const release = gate();
  const harness = scripted(async (_start, sink) => {
    entered.open(sink);
    await release.opened;
    await sink.output(textMessage('assistant', 'done'));
  });
  return { harness, entered: entered.opened, release: release.open };
}

describe('overlapping calls', () => {
  it('are refused at once while a turn runs, and the session is free when it ended', async () => {
    const { harness, entered, release } = waiting();
    const { call } = await openBench({ harnesses: { slow: harness } });
    const session = uidOf(await call.create({ harness: 'slow' }));
    const first = call.exec({ session, inputs: [say('a')] });
    await entered;
    const second = await call.exec({ session, inputs: [say('b')] });
    expect([second.frames.map(wordOf), second.error?.status]).toEqual([['session@2'], 'ABORTED']);
    expect(await codeOfCall(call.suspend(session))).toBe('ABORTED');
    expect(await codeOfCall(call.resume(session))).toBe('ABORTED');
    const decision = { session, executionId: 'e', toolCallId: 't', requestSeq: 1n, approved: true };
    expect(await codeOfCall(call.approve(decision))).toBe('ABORTED');
    expect(await codeOfCall(call.get(session))).toBe('OK');
    expect((await call.fork({ session, atSeq: 2n })).children).toHaveLength(1);
    release();
    expect((await first).error).toBeUndefined();
    expect(await codeOfCall(call.suspend(session))).toBe('OK');
  });

  it('leave the session free whatever a turn ends with', async () => {
    const failing = scripted(async () => {
      throw new Error('broken');
    });
    const unreachable = scripted(async () => undefined, {
      describe: async () => {
        throw new HarnessUnavailableError('somewhere', 'is not there');
      },
    });
    const { call } = await openBench({ harnesses: { failing, unreachable } });
    for (const harness of ['failing', 'unreachable']) {
      const session = uidOf(await call.create({ harness }));
      expect((await call.exec({ session, inputs: [say('a')] })).error).toBeDefined();
      expect((await call.exec({ session, inputs: [say('a')], expectedLastSeq: 77n })).error?.status).toBe(
        harness === 'failing' ? 'ABORTED' : 'UNAVAILABLE',
      );
      expect(await codeOfCall(call.suspend(session))).toBe('OK');
    }
  });
});

describe('the place in the log', () => {
  it('a call that comes too late is refused after the session frame and starts no new incarnation', async () => {
    const bench = await openBench();
    const { frames } = await bench.call.exec({ inputs: [say('hi')] });
    const session = uidOf(sessionIn(frames[0]));
    const fence = (await bench.store.head(session)).fence;
    for (const expectedLastSeq of [0n, 4n, 6n]) {
      const late = await bench.call.exec({ session, inputs: [say('x')], expectedLastSeq });
      expect([late.frames.map(wordOf), late.error?.status]).toEqual([['session@5'], 'ABORTED']);
    }
    expect(await bench.store.head(session)).toMatchObject({ seq: 5, fence });
    const now = await bench.call.exec({ session, inputs: [say('x')], expectedLastSeq: 5n });
    expect(now.error).toBeUndefined();
  });

  it('0 asserts an empty log and is not the same as saying nothing', async () => {
    const { call } = await openBench();
    const session = uidOf(await call.create());
    expect((await call.exec({ session, inputs: [say('a')], expectedLastSeq: 0n })).error).toBeUndefined();
    expect((await call.exec({ session, inputs: [say('b')], expectedLastSeq: 0n })).error?.status).toBe(
      'ABORTED',
    );
    expect((await call.exec({ session, inputs: [say('b')] })).error).toBeUndefined();
  });

  it('two hosts on one store: the one that is taken over stops, and the log stays whole', async () => {
    const { harness, entered, release } = waiting();
    const bench = await openBench({ harnesses: { slow: harness } });
    const session = uidOf(await bench.call.create({ harness: 'slow' }));
    const first = bench.call.exec({ session, inputs: [say('a')] });
    await entered;
    const other = await bench.another({ harnesses: { slow: echoHarness } });
    expect((await other.call.exec({ session, inputs: [say('b')] })).error).toBeUndefined();
    release();
    expect((await first).error?.status).toBe('ABORTED');
    expect(await kindsOf(bench.store, session)).toEqual([
      'EXECUTION_START',
      'INPUT',
      'EXECUTION_START',
      'INPUT',
      'MODEL_CALL',
      'OUTPUT',
      'END',
    ]);
  });

  it('DUR-05 an outside append during a turn does not end it', async () => {
    const { harness, entered, release } = waiting();
    const { call, store } = await openBench({ harnesses: { slow: harness } });
    const session = uidOf(await call.create({ harness: 'slow' }));
    const turn = call.exec({ session, inputs: [say('a')] });
    await entered;
    await store.append(session, [cityFact({ note: 'from outside' })]);
    release();
    const { frames, error } = await turn;
    expect(error).toBeUndefined();
    expect(frames.map(wordOf).slice(1)).toEqual(['1:EXECUTION_START', '2:INPUT', '4:OUTPUT', '5:END']);
  });
});

describe('a turn that comes to a session while another one parks it', () => {
  it('is refused for the open question', async () => {
    const parking = scripted(async (_start, sink) => void (await sink.toolCall(gatedCall())));
    const { host, call, store } = await openBench({ harnesses: { parking } });
    const session = uidOf(await call.create());
    const stream = host.exec(create(ExecRequestSchema, { session, inputs: [say('a')] }), here);
    const reader = stream[Symbol.asyncIterator]();
    await reader.next();
    await call.exec({ session, harness: 'parking', inputs: [say('b')] });
    const before = await store.head(session);
    expect((await drainRest(reader)).error?.status).toBe('FAILED_PRECONDITION');
    expect(await store.head(session)).toEqual(before);
  });
});

describe('what a caller follows', () => {
  it('pieces come between records, with one last one per model call, and are not replayed', async () => {
    const { call } = await openBench({ model: echoModel(true) });
    const { frames } = await call.exec({ inputs: [say('hi')] });
    expect(frames.map(wordOf)).toEqual([
      'session@0',
      '1:EXECUTION_START',
      '2:INPUT',
      '3:MODEL_CALL',
      'delta:ech',
      'delta:o:hi',
      'done',
      '4:OUTPUT',
      '5:END',
    ]);
    expect((await call.replay({ session: uidOf(sessionIn(frames[0])) })).frames).toHaveLength(5);
  });

  it('DUR-15 a turn that cannot go on is answered with what its harness advises, not with a Resume that fails again', async () => {
    const advice = 'begin a new session, or allow a fresh start for this harness';
    const lost = scripted(async () => {
      throw new GcError('command-conversation-lost', 'the conversation is gone', { next: advice });
    });
    const broken = scripted(async () => {
      throw new Error('boom');
    });
    const { call } = await openBench({ harnesses: { lost, broken } });
    const { error } = await call.exec({ harness: 'lost', inputs: [say('hi')] });
    expect(error).toMatchObject({ status: 'INTERNAL', message: 'the conversation is gone', next: advice });
    const other = await call.exec({ harness: 'broken', inputs: [say('hi')] });
    expect(other.error).toMatchObject({ message: 'boom', next: expect.stringContaining('Resume') });
  });

  it('a slow reader gets every record in order, delays nothing, and may miss pieces', async () => {
    const outputs = 3000;
    const finished = gate();
    const talkative = scripted(async (_start, sink) => {
      for (let n = 0; n < outputs; n += 1) {
        sink.delta(`${n}`);
        await sink.output(textMessage('assistant', `${n}`));
      }
      finished.open();
    });
    const { host, store, call } = await openBench({ harnesses: { talkative } });
    const session = uidOf(await call.create({ harness: 'talkative' }));
    const seen: ExecUpdate[] = [];
    for await (const frame of host.exec(create(ExecRequestSchema, { session, inputs: [say('go')] }), here)) {
      seen.push(frame);
      if (seen.length === 2) await finished.opened;
    }
    const records = seen.flatMap(({ update }) =>
      update.case === 'record' ? [Number(update.value.seq)] : [],
    );
    expect(records).toEqual(Array.from({ length: outputs + 3 }, (_, index) => index + 1));
    expect((await store.head(session)).seq).toBe(outputs + 3);
  });

  it('large records that wait for a slow reader are not held, and come all the same', async () => {
    const { call, store } = await openBench();
    const session = uidOf(await call.create({}));
    const frames = new ExecFrames(store, session, 0);
    const large = textMessage('assistant', 'x'.repeat(1024 * 1024));
    const told: string[] = [];
    for (let n = 1; n <= 20; n += 1) {
      for (const record of await store.append(session, [output('e', large)])) frames.record(record);
      frames.delta('e', `piece ${n}`, false);
    }
    frames.over(20);
    for await (const frame of frames.updates()) told.push(wordOf(frame));
    expect(told.filter((word) => word.endsWith('OUTPUT'))).toHaveLength(20);
    // Pieces are dropped once as much waits as may be held.
    expect(told.length).toBeLessThan(30);
  });

  it('what the log grew by is told even if nobody told of it', async () => {
    const { call, store } = await openBench();
    const session = uidOf(sessionIn((await call.exec({ inputs: [say('hi')] })).frames[0]));
    const frames = new ExecFrames(store, session, 2);
    frames.over(5);
    const told: string[] = [];
    for await (const frame of frames.updates()) told.push(wordOf(frame));
    expect(told).toEqual(['3:MODEL_CALL', '4:OUTPUT', '5:END']);
  });

  it('whoever stops reading ends the turn, which can be gone on with', async () => {
    const { harness, entered } = waiting();
    let isFirst = true;
    const slow = scripted(async (...given) => {
      if (!isFirst) return;
      isFirst = false;
      await harness.run(...given);
    });
    const { host, call, store } = await openBench({ harnesses: { slow } });
    const session = uidOf(await call.create({ harness: 'slow' }));
    const stream = host.exec(create(ExecRequestSchema, { session, inputs: [say('a')] }), here);
    for await (const frame of stream) {
      if (wordOf(frame) !== '2:INPUT') continue;
      await entered;
      break;
    }
    expect(await kindsOf(store, session)).toEqual(['EXECUTION_START', 'INPUT', 'ERROR']);
    await call.resume(session);
    expect((await kindsOf(store, session)).slice(3)).toEqual(['END', 'RESUME']);
  });

  it('a caller that goes away ends the turn though nobody reads the stream any more', async () => {
    const { harness, entered } = waiting();
    const { host, call, store } = await openBench({ harnesses: { slow: harness } });
    const session = uidOf(await call.create({ harness: 'slow' }));
    const caller = new AbortController();
    const stream = host.exec(create(ExecRequestSchema, { session, inputs: [say('a')] }), caller.signal);
    const reader = stream[Symbol.asyncIterator]();
    await reader.next();
    const pending = reader.next();
    await entered;
    await pending;
    caller.abort(new ServiceError('CANCELLED', 'gone'));
    const { error } = await drainRest(reader);
    expect(error?.status).toBe('INTERNAL');
    expect((await kindsOf(store, session)).at(-1)).toBe('ERROR');
    expect(await codeOfCall(call.suspend(session))).toBe('OK');
  });
});

async function drainRest(reader: AsyncIterator<ExecUpdate>): Promise<{ error: ServiceError | undefined }> {
  try {
    while (!(await reader.next()).done);
    return { error: undefined };
  } catch (error) {
    if (error instanceof ServiceError) return { error };
    throw error;
  }
}

describe('admission', () => {
  it('a harness that does not describe itself in ten seconds is unavailable and nothing is written', async () => {
    const asked = gate();
    const silent = scripted(async () => undefined, {
      describe: () => {
        asked.open();
        return new Promise(() => undefined);
      },
    });
    const { call, clock, store } = await openBench({ harnesses: { silent } });
    const session = uidOf(await call.create({ harness: 'silent' }));
    const turn = call.exec({ session, inputs: [say('a')] });
    await asked.opened;
    await clock.advance(10_000);
    expect((await turn).error?.status).toBe('UNAVAILABLE');
    expect(await store.head(session)).toMatchObject({ seq: 0, fence: 0 });
  });

  it('a deadline that passes meanwhile is told as such; so is a caller that goes away', async () => {
    const asked = gate();
    const silent = scripted(async () => undefined, {
      describe: () => {
        asked.open();
        return new Promise(() => undefined);
      },
    });
    const { call, clock, store } = await openBench({ harnesses: { silent } });
    const session = uidOf(await call.create({ harness: 'silent' }));
    const deadlineUnix = BigInt(clock.now() / 1000 + 3);
    const turn = call.exec({ session, inputs: [say('a')], deadlineUnix });
    await asked.opened;
    await clock.advance(3000);
    expect((await turn).error?.status).toBe('DEADLINE_EXCEEDED');
    const past = await call.exec({ session, inputs: [say('a')], deadlineUnix: 1n });
    expect([past.frames.length, past.error?.status]).toEqual([1, 'DEADLINE_EXCEEDED']);
    const caller = new AbortController();
    const gone = call.exec({ session, inputs: [say('a')] }, caller.signal);
    queueMicrotask(() => caller.abort(new ServiceError('CANCELLED', 'gone')));
    expect((await gone).error?.status).toBe('CANCELLED');
    expect((await store.head(session)).seq).toBe(0);
  });

  it('a deadline in the middle of a turn ends it and leaves it to be gone on with', async () => {
    const { harness, entered } = waiting();
    const { call, clock, store } = await openBench({ harnesses: { slow: harness } });
    const session = uidOf(await call.create({ harness: 'slow' }));
    const turn = call.exec({ session, inputs: [say('a')], deadlineUnix: BigInt(clock.now() / 1000 + 60) });
    await entered;
    await clock.advance(60_000);
    expect((await turn).error?.status).toBe('INTERNAL');
    expect(await kindsOf(store, session)).toEqual(['EXECUTION_START', 'INPUT', 'ERROR']);
  });

  it('a harness that needs its memory back is refused before anything is written', async () => {
    const counter = scripted(async () => undefined, { resumability: Resumability.REQUIRES_MEMORY_SNAPSHOT });
    const { call, store } = await openBench({ harnesses: { counter } });
    const session = uidOf(await call.create({ harness: 'counter' }));
    expect((await call.exec({ session, inputs: [say('a')] })).error?.status).toBe('FAILED_PRECONDITION');
    expect(await codeOfCall(call.resume(session))).toBe('FAILED_PRECONDITION');
    expect(await codeOfCall(call.fork({ session }))).toBe('FAILED_PRECONDITION');
    expect(await store.head(session)).toMatchObject({ seq: 0, fence: 0 });
  });

  it('a harness that is lost in the middle of a turn is a failure of the turn, not of the call', async () => {
    const lost = scripted(async () => {
      throw new HarnessUnavailableError('somewhere', 'went away');
    });
    const odd = scripted(async () => {
      throw new GcError('not-canonical', 'cannot be hashed');
    });
    const { call } = await openBench({ harnesses: { lost, odd } });
    for (const harness of ['lost', 'odd']) {
      expect((await call.exec({ harness, inputs: [say('a')] })).error?.status).toBe('INTERNAL');
    }
  });
});

describe('an Exec without inputs', () => {
  it('is an ordinary turn when nobody waits for a person', async () => {
    const { call } = await openBench();
    const { frames } = await call.exec();
    expect(frames.map(wordOf)).toEqual([
      'session@0',
      '1:EXECUTION_START',
      '2:MODEL_CALL',
      '3:OUTPUT',
      '4:END',
    ]);
  });
});
