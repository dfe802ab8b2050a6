import { describe, expect, it } from 'vitest';
import { GcError } from '../../platform/errors.ts';
import type { Harness } from '../turn/harness.ts';
import { HarnessRoster } from './harness-roster.ts';
import { MemoryHarnessTable } from './testing/memory-harness-table.ts';
import {
  codeOfCall,
  echoHarness,
  openBench,
  say,
  scripted,
  sessionIn,
  uidOf,
} from './testing/service-bench.ts';

const SPEC = JSON.stringify({
  capabilities: { resumability: 'RESUMABILITY_STATELESS_REPLAY' },
  descriptor_id: 'echo',
  remote: { address: '127.0.0.1:9000' },
});

async function withRegistered(rows: readonly string[] = ['reg'], connect?: (address: string) => Harness) {
  const table = new MemoryHarnessTable();
  for (const name of rows) table.insert({ name, spec: SPEC });
  const other = scripted(async () => undefined, { id: 'other' });
  return await openBench({ table, harnesses: { other }, ...(connect === undefined ? {} : { connect }) });
}

describe('the roster of a host', () => {
  it('keeps its names, and cannot start when one of them is registered', async () => {
    const table = new MemoryHarnessTable();
    await openBench({ table });
    expect(['echo', 'chat', 'gascity'].map((name) => table.isReserved(name))).toEqual([true, true, true]);
    const taken = new MemoryHarnessTable();
    taken.insert({ name: 'chat' });
    await expect(openBench({ table: taken })).rejects.toMatchObject({ code: 'harness-registered' });
  });

  it('needs its default to be there', async () => {
    const options = { harnesses: new Map([['echo', echoHarness]]), table: new MemoryHarnessTable() };
    const remote = { refused: 'no model' };
    await expect(HarnessRoster.open({ ...options, defaultName: 'chat', remote })).rejects.toThrow('"chat"');
  });

  it('an entry that cannot be used stops only those who want it, and says why', async () => {
    const table = new MemoryHarnessTable();
    table.insert({ name: 'broken', spec: '{"remote":' });
    table.insert({ name: 'newer', spec: '{"remote":{"address":"a:1"},"later_field":1}' });
    table.insert({ name: 'cluster', spec: '{"substrate":{"atespace":"a","template":"t"}}' });
    table.insert({ name: 'bad-address', spec: '{"remote":{"address":"::::"}}' });
    table.insert({ name: 'good', spec: SPEC });
    const connect = (address: string): Harness => {
      if (address === '::::') throw new GcError('harness-address', '"::::" is not an address');
      return echoHarness;
    };
    const { call } = await openBench({ table, connect });
    for (const harness of ['broken', 'newer', 'cluster', 'bad-address']) {
      expect(await codeOfCall(call.create({ harness })), harness).toBe('FAILED_PRECONDITION');
    }
    await expect(call.create({ harness: 'cluster' })).rejects.toThrow('this host has no substrate runtime');
    await expect(call.create({ harness: 'nope' })).rejects.toThrow('served: echo, good');
    expect((await call.exec({ harness: 'good', inputs: [say('hi')] })).error).toBeUndefined();
  });
});

describe('one session, one harness', () => {
  it('a turn may borrow another built-in harness', async () => {
    const { call } = await withRegistered();
    const session = uidOf(await call.create());
    expect((await call.exec({ session, harness: 'other', inputs: [say('a')] })).error).toBeUndefined();
    expect((await call.exec({ session, harness: 'echo', inputs: [say('a')] })).error).toBeUndefined();
    expect((await call.get(session)).harness).toBe('echo');
  });

  it('a registered one is never mixed with another, in either direction', async () => {
    const { call } = await withRegistered();
    const registered = uidOf(await call.create({ harness: 'reg' }));
    const plain = uidOf(await call.create());
    expect((await call.exec({ session: registered, inputs: [say('a')] })).error).toBeUndefined();
    expect(
      (await call.exec({ session: registered, harness: 'reg', inputs: [say('a')] })).error,
    ).toBeUndefined();
    for (const [session, harness] of [
      [registered, 'echo'],
      [plain, 'reg'],
    ] as const) {
      const { frames, error } = await call.exec({ session, harness, inputs: [say('a')] });
      expect([frames, error?.status]).toEqual([[], 'FAILED_PRECONDITION']);
    }
  });

  it('also when another host registered the name that is asked for', async () => {
    const { call, table } = await withRegistered();
    const session = uidOf(await call.create());
    expect((await call.exec({ session, harness: 'late', inputs: [say('a')] })).error?.status).toBe(
      'INVALID_ARGUMENT',
    );
    table.insert({ name: 'late', spec: SPEC });
    expect((await call.exec({ session, harness: 'late', inputs: [say('a')] })).error?.status).toBe(
      'FAILED_PRECONDITION',
    );
  });

  it('a built-in name that another host registered is of no use to anybody', async () => {
    const { call, table } = await withRegistered();
    const session = uidOf(await call.create());
    table.insert({ name: 'echo', spec: SPEC });
    expect((await call.exec({ session, inputs: [say('a')] })).error?.status).toBe('FAILED_PRECONDITION');
    for (const refused of [call.create(), call.suspend(session), call.fork({ session })]) {
      expect(await codeOfCall(refused)).toBe('FAILED_PRECONDITION');
    }
    expect(await codeOfCall(call.resume(session))).toBe('FAILED_PRECONDITION');
  });

  it('a new session checks its harness in the transaction that makes it', async () => {
    const bench = await withRegistered();
    const [row] = await bench.table.list();
    if (row === undefined) throw new Error('nothing registered');
    const create = bench.store.create.bind(bench.store);
    bench.store.create = async (wanted, guard) => {
      bench.table.insert({ ...row, state: 'retired' });
      return await create(wanted, guard);
    };
    expect(await codeOfCall(bench.call.create({ harness: 'reg' }))).toBe('FAILED_PRECONDITION');
    expect((await bench.call.list()).sessions).toEqual([]);
  });

  it('what answers at the address must call itself what was registered', async () => {
    const stranger = scripted(async () => undefined, { id: 'stranger' });
    const { call, store } = await withRegistered(['reg'], () => stranger);
    const { frames, error } = await call.exec({ harness: 'reg', inputs: [say('a')] });
    expect(error?.status).toBe('FAILED_PRECONDITION');
    expect((await store.head(uidOf(sessionIn(frames[0])))).seq).toBe(0);
  });

  it('an unknown session with an unknown harness is about the harness', async () => {
    const { call } = await openBench();
    const code = async (harness: string) =>
      (await call.exec({ session: 'sess-unknown', harness, inputs: [say('a')] })).error?.status;
    expect(await code('nope')).toBe('INVALID_ARGUMENT');
    expect(await code('echo')).toBe('NOT_FOUND');
    expect(await code('')).toBe('NOT_FOUND');
  });
});
