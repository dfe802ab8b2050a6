import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { systemIds } from '../../platform/ids.ts';
import { openDatabase } from '../../platform/sqlite.ts';
import { ExecState, ReplayRequestSchema } from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { ChainWalk } from '../../protocol/hash-chain.ts';
import { create } from '../../protocol/protobuf.ts';
import { CITY_HARNESS } from '../log/city-origin.ts';
import { AGENTSESSIONS_MIGRATIONS } from '../log/sqlite/agentsessions-schema.ts';
import { openSessionLogStore, type SqliteSessionLogStore } from '../log/sqlite/session-log-store.ts';
import { createSessionsHost } from './create-sessions-host.ts';
import { HarnessRoster } from './harness-roster.ts';
import { callsOf, here } from './testing/calls.ts';
import {
  CountingTools,
  codeOfCall,
  echoHarness,
  echoModel,
  gatedCall,
  kindsOf,
  say,
  scripted,
  sessionIn,
  uidOf,
} from './testing/service-bench.ts';

const opened: { store: SqliteSessionLogStore; folder: string }[] = [];

afterEach(async () => {
  for (const { store, folder } of opened.splice(0)) {
    await store.close();
    if (folder !== '') await rm(folder, { recursive: true, force: true });
  }
});

async function onDisk(file?: string) {
  const folder = file === undefined ? await mkdtemp(join(tmpdir(), 'gc-host-')) : '';
  const path = file ?? join(folder, 'sessions.db');
  const store = openSessionLogStore(path, { clock: systemClock, ids: systemIds });
  opened.unshift({ store, folder });
  const gated = scripted(async (_start, sink) => void (await sink.toolCall(gatedCall())));
  const roster = await HarnessRoster.open({
    harnesses: new Map([
      ['echo', echoHarness],
      ['gated', gated],
    ]),
    defaultName: 'echo',
    table: store.harnesses,
    remote: { connect: () => echoHarness },
  });
  const tools = new CountingTools();
  const host = createSessionsHost({
    store,
    roster,
    model: echoModel(),
    tools,
    project: 'default',
    clock: systemClock,
    ids: systemIds,
    log: () => undefined,
  });
  return { call: callsOf(host), host, store, tools, path };
}

describe('a host over a file', () => {
  it('a turn, a question, an answer in another process, and a fan-out', async () => {
    const first = await onDisk();
    const parked = await first.call.exec({ harness: 'gated', inputs: [say('x')] });
    const session = uidOf(sessionIn(parked.frames.at(-1)));
    const second = await onDisk(first.path);
    const { pendingApproval, execState } = await second.call.get(session);
    expect(execState).toBe(ExecState.EXEC_AWAITING);
    const { executionId = '', toolCallId = '', requestSeq = 0n } = pendingApproval ?? {};
    const answer = { session, executionId, toolCallId, requestSeq, approved: true };
    const codes = await Promise.all([
      codeOfCall(first.call.approve(answer)),
      codeOfCall(second.call.approve({ ...answer, approved: false })),
    ]);
    expect(codes.filter((code) => code === 'OK')).toHaveLength(1);
    await first.call.resume(session);
    const { children } = await first.call.fork({ session, count: 3, childNames: ['a', 'b', 'c'] });
    expect((await second.call.list({ pageSize: 4 })).sessions.map((each) => each.metadata?.name)).toEqual([
      'c',
      'b',
      'a',
      '',
    ]);
    for (const child of children) {
      const walk = new ChainWalk();
      for (const record of await second.store.read(uidOf(child), {})) walk.check(record);
      expect(walk.seq).toBe(Number(child.lastSeq));
    }
    expect((await kindsOf(first.store, session)).at(-1)).toBe('RESUME');
    expect(await codeOfCall(second.call.delete(session))).toBe('OK');
    expect((await first.call.exec({ session, inputs: [say('x')] })).error?.status).toBe(
      'FAILED_PRECONDITION',
    );
  });

  it('a log that is damaged in the middle is given up to the damage, and that is told', async () => {
    const { call, host, store, path } = await onDisk();
    const session = uidOf(sessionIn((await call.exec({ inputs: [say('x')] })).frames[0]));
    const db = openDatabase(path, { migrations: AGENTSESSIONS_MIGRATIONS });
    db.pragma('busy_timeout = 2000');
    db.prepare(`UPDATE events SET event = x'' WHERE session = ? AND seq = 4`).run(session);
    db.close();
    const seen: bigint[] = [];
    const replayed = (async () => {
      for await (const { seq } of host.replay(create(ReplayRequestSchema, { session }), here)) seen.push(seq);
    })();
    await expect(replayed).rejects.toMatchObject({ status: 'DATA_LOSS' });
    expect(seen).toEqual([1n, 2n, 3n]);
    expect((await store.head(session)).seq).toBe(5);
  });

  it('a fork of a city session is run by the default harness', async () => {
    const { call, store } = await onDisk();
    const uid = 'sess-00000000000000000000c17e';
    await store.create({ uid, project: 'default', harness: CITY_HARNESS, origin: '{"source":"gascity"}' });
    const { children } = await call.fork({ session: uid });
    expect(children[0]?.harness).toBe('echo');
    expect((await call.exec({ session: uidOf(children[0]), inputs: [say('x')] })).error).toBeUndefined();
  });
});
