import { describe, expect, it } from 'vitest';
import { GcError } from '../../platform/errors.ts';
import { event } from '../../protocol/events.ts';
import { EventKind } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ForkOptions, SessionRow } from '../log/session-log.ts';
import { MemoryLogStore } from '../log/testing/memory-log-store.ts';
import {
  type Bench,
  codeOfCall,
  kindOf,
  openBench,
  say,
  scripted,
  sessionIn,
  uidOf,
} from './testing/service-bench.ts';

async function withTurns(turns = 2): Promise<{ bench: Bench; session: string }> {
  const bench = await openBench();
  const { metadata } = await bench.call.create({
    metadata: { project: 'p', name: 'parent' },
    model: 'm',
    labels: { l: 'parent' },
    annotations: { a: 'n' },
    origin: { source: 'mail' },
    identity: { principal: 'user://p' },
  });
  const session = metadata?.uid ?? '';
  for (let n = 0; n < turns; n += 1) await bench.call.exec({ session, inputs: [say(`turn ${n}`)] });
  return { bench, session };
}

describe('Fork', () => {
  it('children inherit what the session is and take their own names and labels', async () => {
    const { bench, session } = await withTurns();
    const { children } = await bench.call.fork({
      session,
      count: 2,
      childNames: ['a', 'b'],
      labels: { l: 'child' },
    });
    expect(children.map((each) => each.metadata?.name)).toEqual(['a', 'b']);
    for (const child of children) {
      expect(child).toMatchObject({
        metadata: { project: 'p' },
        harness: 'echo',
        model: 'm',
        labels: { l: 'child' },
        annotations: { a: 'n' },
        origin: { source: 'mail' },
        parentUid: session,
        forkSeq: 10n,
        lastSeq: 11n,
      });
      expect(child.identity).toBeUndefined();
      const marker = (await bench.store.read(uidOf(child), { from: 11 }))[0];
      expect(marker?.event.body.value).toMatchObject({ detail: `${session}@10` });
    }
  });

  it('DUR-07 leaves the parent as it was, whatever its children do', async () => {
    const { bench, session } = await withTurns();
    const before = await bench.store.read(session, {});
    const row = await bench.store.get(session);
    const { children } = await bench.call.fork({ session, count: 3 });
    for (const child of children) await bench.call.exec({ session: uidOf(child), inputs: [say('own')] });
    expect(await bench.store.read(session, {})).toEqual(before);
    expect(await bench.store.get(session)).toEqual(row);
  });

  it('DUR-08 a child holds the records of its parent with their hashes, and says where they came from', async () => {
    const { bench, session } = await withTurns();
    const { children } = await bench.call.fork({ session, atSeq: 7n });
    const child = await bench.store.read(uidOf(children[0]), {});
    const parent = await bench.store.read(session, { to: 7 });
    expect(child.slice(0, 7).map((each) => each.contentHash)).toEqual(parent.map((each) => each.contentHash));
    expect(child.slice(7).map(({ event }) => kindOf(event))).toEqual(['FORK']);
    expect(children[0]).toMatchObject({ parentUid: session, forkSeq: 7n });
  });

  it('DUR-08 whoever sums up what sessions cost counts what was inherited once', async () => {
    const bench = await openBench();
    const session = uidOf(await bench.call.create());
    const usage = event('e1', EventKind.EVENT_USAGE, { case: 'usage', value: { inputTokens: 3n } });
    await bench.store.append(
      session,
      Array.from({ length: 500 }, () => usage),
    );
    const { children } = await bench.call.fork({ session, atSeq: 500n, count: 2 });
    for (const child of children) await bench.store.append(uidOf(child), [usage]);
    let tokens = 0n;
    for (const { metadata, forkSeq } of (await bench.call.list()).sessions) {
      const from = Number(forkSeq) + 1;
      for (const record of await bench.store.read(metadata?.uid ?? '', { from, limit: 1_000 }))
        if (record.event.body.case === 'usage') tokens += record.event.body.value.inputTokens;
    }
    expect(tokens).toBe(502n * 3n);
  });

  it('DUR-18 a fork at an earlier record gives the harness that much history and no more', async () => {
    const seen: number[] = [];
    const bench = await openBench({
      harnesses: { looking: scripted(async ({ history }) => void seen.push(history.length)) },
    });
    const session = uidOf(await bench.call.create());
    for (let n = 0; n < 4; n += 1) await bench.call.exec({ session, inputs: [say(`${n}`)] });
    const { children } = await bench.call.fork({ session, atSeq: 10n });
    await bench.call.exec({
      session: uidOf(children[0]),
      harness: 'looking',
      inputs: [say('what do you know?')],
    });
    expect(seen).toEqual([11]);
  });

  it('refuses what makes no sense, in order', async () => {
    const { bench, session } = await withTurns(1);
    const code = (fields: object): Promise<string> => codeOfCall(bench.call.fork({ session, ...fields }));
    expect(await code({ identity: {}, session: 'sess-unknown' })).toBe('INVALID_ARGUMENT');
    expect(await code({ session: '' })).toBe('INVALID_ARGUMENT');
    expect(await code({ session: 'sess-unknown', count: 999 })).toBe('NOT_FOUND');
    expect(await code({ atSeq: 6n })).toBe('INVALID_ARGUMENT');
    expect(await code({ count: 129 })).toBe('INVALID_ARGUMENT');
    expect(await code({ count: 2, childNames: ['one'] })).toBe('INVALID_ARGUMENT');
    expect((await bench.call.list({ project: 'p' })).sessions).toHaveLength(1);
    for (const fields of [{ count: 0 }, { count: -3 }, { atSeq: -1n }]) {
      expect((await bench.call.fork({ session, ...fields })).children).toHaveLength(1);
    }
    expect((await bench.call.fork({ session, count: 128 })).children).toHaveLength(128);
  });

  it('nothing is left to be seen of a fan-out that failed', async () => {
    class FullStore extends MemoryLogStore {
      override async fork(options: ForkOptions): Promise<readonly SessionRow[]> {
        await super.fork({ ...options, children: options.children.slice(0, 2) });
        throw new GcError('store-full', 'no room');
      }
    }
    const bench = await openBench({ store: new FullStore() });
    const { frames } = await bench.call.exec({ inputs: [say('hi')] });
    const session = uidOf(sessionIn(frames[0]));
    expect(await codeOfCall(bench.call.fork({ session, count: 4 }))).toBe('RESOURCE_EXHAUSTED');
    expect((await bench.call.list()).sessions.map(uidOf)).toEqual([session]);
  });

  it('an empty session can be forked', async () => {
    const { bench, session } = await withTurns(0);
    const { children } = await bench.call.fork({ session });
    expect(children[0]).toMatchObject({ lastSeq: 1n, forkSeq: 0n });
  });
});
