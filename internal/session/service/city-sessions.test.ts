import { describe, expect, it } from 'vitest';
import { cityFact, executionEnd, executionStart, input } from '../../protocol/events.ts';
import { CITY_HARNESS } from '../log/city-origin.ts';
import { type Bench, codeOfCall, openBench, say, scripted, uidOf } from './testing/service-bench.ts';

const UID = 'sess-00000000000000000000c17e';

async function withCity(row: { harness?: string; origin?: string }): Promise<Bench> {
  const bench = await openBench({ harnesses: { claude: scripted(async () => undefined) } });
  await bench.store.create({ uid: UID, project: 'bright-lights', name: 'mayor', ...row });
  await bench.store.append(UID, [
    cityFact({ started: true }),
    executionStart('e1', { inputCount: 1, harness: 'claude' }),
    input('e1', say('hello')),
    executionEnd('e1'),
  ]);
  return bench;
}

describe.each([
  ['by its origin', { harness: 'claude', origin: JSON.stringify({ source: 'gascity', subject: 'mayor' }) }],
  ['by its harness', { harness: CITY_HARNESS }],
])('a session of a city, known %s', (_how, row) => {
  it('is listed and read like any other', async () => {
    const { call } = await withCity(row);
    const { sessions } = await call.list({ project: 'bright-lights' });
    expect(sessions.map(uidOf)).toEqual([UID]);
    expect(await call.get(UID)).toMatchObject({ lastSeq: 4n, metadata: { name: 'mayor' } });
    expect((await call.replay({ session: UID })).frames).toHaveLength(4);
  });

  it('is spoken to in its city: turns, answers and pauses are refused with what to type', async () => {
    const { call, store } = await withCity(row);
    const approve = { session: UID, executionId: 'e1', toolCallId: 't', requestSeq: 1n, approved: true };
    const exec = await call.exec({ session: UID, inputs: [say('x')] });
    expect([exec.frames, exec.error?.status]).toEqual([[], 'FAILED_PRECONDITION']);
    for (const refused of [
      () => call.resume(UID),
      () => call.suspend(UID),
      () => call.approve(approve),
      () => call.cancel({ session: UID }),
      () => call.delete(UID),
    ]) {
      await expect(refused()).rejects.toThrow(/gc nudge.*gc session/);
      expect(await codeOfCall(refused())).toBe('FAILED_PRECONDITION');
    }
    expect((await store.head(UID)).seq).toBe(4);
  });

  it('a fork of it is a plain session', async () => {
    const { call } = await withCity(row);
    const { children } = await call.fork({ session: UID });
    const child = uidOf(children[0]);
    expect(children[0]).toMatchObject({
      harness: 'echo',
      parentUid: UID,
      metadata: { project: 'bright-lights' },
    });
    expect((await call.exec({ session: child, inputs: [say('go on here')] })).error).toBeUndefined();
    expect((await call.fork({ session: child })).children).toHaveLength(1);
    expect(await codeOfCall(call.delete(child))).toBe('OK');
  });
});

describe('nobody', () => {
  it('can pass a session off as a city’s own, or have one run by a city', async () => {
    const { call } = await openBench();
    expect(await codeOfCall(call.create({ origin: { source: 'gascity' } }))).toBe('INVALID_ARGUMENT');
    expect(await codeOfCall(call.create({ harness: CITY_HARNESS }))).toBe('FAILED_PRECONDITION');
    const session = uidOf(await call.create());
    const { error } = await call.exec({ session, harness: CITY_HARNESS, inputs: [say('x')] });
    expect(error?.status).toBe('FAILED_PRECONDITION');
  });
});
