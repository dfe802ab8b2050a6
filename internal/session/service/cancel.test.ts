import { describe, expect, it } from 'vitest';
import { textMessage } from '../../protocol/events.ts';
import {
  codeOfCall,
  gate,
  kindOf,
  kindsOf,
  openBench,
  say,
  scripted,
  sessionIn,
  uidOf,
  wordOf,
} from './testing/service-bench.ts';

function standing() {
  const entered = gate();
  const harness = scripted(async () => {
    entered.open();
    await new Promise(() => undefined);
  });
  return { harness, entered: entered.opened };
}

describe('Cancel', () => {
  it('ends the turn that runs, writes that down, and tells who follows it', async () => {
    const { harness, entered } = standing();
    const { call, store } = await openBench({ harnesses: { slow: harness } });
    const session = uidOf(await call.create({ harness: 'slow' }));
    const turn = call.exec({ session, inputs: [say('a')] });
    await entered;
    expect(await codeOfCall(call.cancel({ session, executionId: 'other' }))).toBe('FAILED_PRECONDITION');
    await call.cancel({ session, reason: 'took too long' });
    const { frames, error } = await turn;
    expect(error?.status).toBe('CANCELLED');
    expect(error?.message).toContain('took too long');
    const log = await store.read(session, {});
    const last = log.slice(-2);
    expect(last.map(({ event }) => kindOf(event))).toEqual(['CANCEL', 'END']);
    expect(last[0]?.event.body.value).toMatchObject({ detail: 'took too long' });
    expect(last[1]?.event.body.value).toMatchObject({ state: 'CANCELED' });
    expect(frames.slice(1).map(wordOf)).toEqual(log.map(({ seq, event }) => `${seq}:${kindOf(event)}`));
    await call.resume(session);
    expect((await kindsOf(store, session)).at(-1)).toBe('RESUME');
  });

  it('names the execution, or none for whatever runs', async () => {
    const { harness, entered } = standing();
    const { call, store } = await openBench({ harnesses: { slow: harness } });
    const session = uidOf(await call.create({ harness: 'slow' }));
    const turn = call.exec({ session, inputs: [say('a')] });
    await entered;
    const [start] = await store.read(session, {});
    expect(await codeOfCall(call.cancel({ session, executionId: start?.event.executionId ?? '' }))).toBe(
      'OK',
    );
    expect((await turn).error?.status).toBe('CANCELLED');
  });

  it('ends a turn that is still being admitted, with nothing written', async () => {
    const asked = gate();
    const silent = scripted(async () => undefined, {
      describe: () => {
        asked.open();
        return new Promise(() => undefined);
      },
    });
    const { call, store } = await openBench({ harnesses: { silent } });
    const session = uidOf(await call.create({ harness: 'silent' }));
    const turn = call.exec({ session, inputs: [say('a')] });
    await asked.opened;
    expect(await codeOfCall(call.cancel({ session }))).toBe('OK');
    expect((await turn).error?.status).toBe('CANCELLED');
    expect((await store.head(session)).seq).toBe(0);
  });

  it('closes a turn that a crash cut, so that Resume leaves it alone', async () => {
    let runs = 0;
    const failing = scripted(async () => {
      runs += 1;
      throw new Error('broken');
    });
    const { call, store } = await openBench({ harnesses: { failing } });
    const { frames } = await call.exec({ harness: 'failing', inputs: [say('a')] });
    const session = uidOf(sessionIn(frames[0]));
    await call.cancel({ session });
    expect((await kindsOf(store, session)).slice(2)).toEqual(['ERROR', 'CANCEL', 'END']);
    await call.resume(session);
    expect(runs).toBe(1);
    expect(await codeOfCall(call.cancel({ session }))).toBe('FAILED_PRECONDITION');
  });

  it('closes a turn whose recovery it interrupts before that began', async () => {
    const asked = gate();
    let isDown = false;
    const flaky = scripted(async () => {
      throw new Error('broken');
    }, {});
    const { describe: answer } = flaky;
    const harness = {
      ...flaky,
      describe: (signal: AbortSignal) => {
        if (!isDown) return answer(signal);
        asked.open();
        return new Promise<never>(() => undefined);
      },
    };
    const { call, store } = await openBench({ harnesses: { flaky: harness } });
    const { frames } = await call.exec({ harness: 'flaky', inputs: [say('a')] });
    const session = uidOf(sessionIn(frames[0]));
    isDown = true;
    const recovery = codeOfCall(call.resume(session));
    await asked.opened;
    await call.cancel({ session });
    expect(await recovery).toBe('CANCELLED');
    expect((await kindsOf(store, session)).slice(-2)).toEqual(['CANCEL', 'END']);
  });

  it('has nothing to do where nothing is unfinished', async () => {
    const { call } = await openBench();
    const session = uidOf(await call.create());
    expect(await codeOfCall(call.cancel({ session }))).toBe('FAILED_PRECONDITION');
    await call.exec({ session, inputs: [say('a')] });
    expect(await codeOfCall(call.cancel({ session }))).toBe('FAILED_PRECONDITION');
    expect(await codeOfCall(call.cancel({ session, executionId: 'unknown' }))).toBe('FAILED_PRECONDITION');
    expect(await codeOfCall(call.cancel({ session: 'sess-unknown' }))).toBe('NOT_FOUND');
    expect(await codeOfCall(call.cancel({ session: '' }))).toBe('INVALID_ARGUMENT');
  });

  it('DUR-18 a turn stopped right after its message was taken can be gone on with', async () => {
    const entered = gate();
    let runs = 0;
    const slow = scripted(async ({ inputs }, sink) => {
      runs += 1;
      if (runs === 1) {
        entered.open();
        await new Promise(() => undefined);
      }
      await sink.output(textMessage('assistant', `got ${inputs.length}`));
    });
    const { call, store } = await openBench({ harnesses: { slow } });
    const session = uidOf(await call.create({ harness: 'slow' }));
    const caller = new AbortController();
    const turn = call.exec({ session, inputs: [say('a')] }, caller.signal);
    await entered.opened;
    caller.abort();
    expect((await turn).error).toBeDefined();
    await call.resume(session);
    expect(await kindsOf(store, session)).toEqual([
      'EXECUTION_START',
      'INPUT',
      'ERROR',
      'OUTPUT',
      'END',
      'RESUME',
    ]);
  });

  it('a session that is deleted while its turn runs ends it', async () => {
    const { harness, entered } = standing();
    const { call, store } = await openBench({ harnesses: { slow: harness } });
    const session = uidOf(await call.create({ harness: 'slow' }));
    const turn = call.exec({ session, inputs: [say('a')] });
    await entered;
    await call.delete(session);
    expect((await turn).error?.status).toBe('FAILED_PRECONDITION');
    expect(await kindsOf(store, session)).toEqual(['EXECUTION_START', 'INPUT']);
  });
});
