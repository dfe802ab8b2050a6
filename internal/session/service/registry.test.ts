import { describe, expect, it } from 'vitest';
import { seededIds } from '../../platform/ids.ts';
import { Resumability } from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import {
  GetHarnessRequestSchema,
  HarnessSource,
  type HarnessSpec,
  HarnessSpecSchema,
  HarnessState,
  ListHarnessesRequestSchema,
  RegisterHarnessRequestSchema,
  RegisterOutcome,
  RetireHarnessRequestSchema,
} from '../../protocol/generated/agentsessions/v1/harness_registry_pb.ts';
import {
  create,
  fromBinary,
  fromJson,
  type JsonObject,
  type MessageInitShape,
  toBinary,
} from '../../protocol/protobuf.ts';
import type { Harness } from '../turn/harness.ts';
import { createHarnessRegistryHost } from './create-harness-registry-host.ts';
import { here } from './testing/calls.ts';
import { MemoryHarnessTable } from './testing/memory-harness-table.ts';
import {
  type BenchOptions,
  codeOfCall,
  echoHarness,
  openBench,
  say,
  scripted,
  uidOf,
} from './testing/service-bench.ts';

const specOf = (fields: JsonObject = {}): HarnessSpec =>
  fromJson(HarnessSpecSchema, {
    ...('substrate' in fields ? {} : { remote: { address: '127.0.0.1:9000' } }),
    capabilities: { resumability: 'RESUMABILITY_STATELESS_REPLAY' },
    descriptorId: 'echo',
    ...fields,
  });

async function registry(options: Partial<BenchOptions> = {}) {
  const bench = await openBench(options);
  const { roster, table, clock, logged } = bench;
  const host = createHarnessRegistryHost({
    roster,
    table,
    clock,
    ids: seededIds(7),
    log: (fields) => void logged.push(fields),
  });
  return {
    ...bench,
    register: (name: string, spec: HarnessSpec | undefined = specOf()) =>
      host.registerHarness(create(RegisterHarnessRequestSchema, { name, spec }), here),
    registerNothing: (name: string) =>
      host.registerHarness(create(RegisterHarnessRequestSchema, { name }), here),
    find: (name: string, observe = false) =>
      host.getHarness(create(GetHarnessRequestSchema, { name, observe }), here),
    list: (fields: MessageInitShape<typeof ListHarnessesRequestSchema> = {}) =>
      host.listHarnesses(create(ListHarnessesRequestSchema, fields), here),
    retire: (name: string, reason = '') =>
      host.retireHarness(create(RetireHarnessRequestSchema, { name, reason }), here),
  };
}

describe('RegisterHarness', () => {
  it('stores a spec under its digest, knows it again, and brings it back after it was retired', async () => {
    const { register, retire, call } = await registry();
    const { harness, outcome } = await register('reg');
    expect(outcome).toBe(RegisterOutcome.CREATED);
    expect(harness).toMatchObject({
      metadata: { name: 'reg' },
      specDigest: 'sha256:f0c96c8b67d5dc75be557f64ccd59496eaf9cfb102754ee54e9d4c571eb2eafc',
      state: HarnessState.ACTIVE,
      source: HarnessSource.REGISTERED,
      unservableReason: '',
      retireReason: '',
    });
    expect(harness?.metadata?.uid).toMatch(/^harness-[0-9a-f]{24}$/);
    expect(harness?.spec).toEqual(specOf());
    const again = await register('reg');
    expect([again.outcome, again.harness]).toEqual([RegisterOutcome.UNCHANGED, harness]);
    const session = uidOf(await call.create({ harness: 'reg' }));

    const retired = await retire('reg', 'too old');
    expect(retired).toMatchObject({ state: HarnessState.RETIRED, retireReason: 'too old' });
    expect(await retire('reg', 'other reason')).toEqual(retired);
    expect(await codeOfCall(call.create({ harness: 'reg' }))).toBe('FAILED_PRECONDITION');
    expect((await call.exec({ session, inputs: [say('still works')] })).error).toBeUndefined();
    expect(await codeOfCall(call.suspend(session))).toBe('OK');
    expect(await codeOfCall(call.resume(session))).toBe('OK');
    expect(await codeOfCall(call.fork({ session }))).toBe('OK');

    const back = await register('reg');
    expect(back.outcome).toBe(RegisterOutcome.REACTIVATED);
    expect(back.harness).toMatchObject({
      metadata: { uid: harness?.metadata?.uid, createTime: harness?.metadata?.createTime },
      state: HarnessState.ACTIVE,
      retireReason: '',
    });
    expect(back.harness?.retireTime).toBeUndefined();
    expect(await codeOfCall(call.create({ harness: 'reg' }))).toBe('OK');
  });

  it.each(['', '-a', 'a-', 'A', 'a_b', 'a.b', 'ä', 'a'.repeat(64)])('refuses the name %j', async (name) => {
    const { register } = await registry();
    expect(await codeOfCall(register(name))).toBe('INVALID_ARGUMENT');
  });

  it.each(['a', '0', 'a-0', 'a'.repeat(63)])('takes the name %j', async (name) => {
    const { register } = await registry();
    expect(await codeOfCall(register(name))).toBe('OK');
  });

  it('names that are built in or kept cannot be taken', async () => {
    const { register } = await registry();
    for (const name of ['echo', 'chat', 'gascity']) {
      expect(await codeOfCall(register(name))).toBe('ALREADY_EXISTS');
    }
  });

  it('a name stands for one spec for good', async () => {
    const { register } = await registry();
    await register('reg');
    expect(await codeOfCall(register('reg', specOf({ descriptorId: 'other' })))).toBe('ALREADY_EXISTS');
  });

  it('refuses a spec that says too little, too much, or what this version does not know', async () => {
    const { register, registerNothing, table } = await registry();
    const bad = [
      create(HarnessSpecSchema, { capabilities: { resumability: Resumability.STATELESS_REPLAY } }),
      specOf({ remote: { address: '' } }),
      specOf({ substrate: { atespace: 'a' } }),
      specOf({ substrate: { template: 't' } }),
      create(HarnessSpecSchema, { placement: { case: 'remote', value: { address: 'a:1' } } }),
      specOf({ capabilities: {} }),
      specOf({ capabilities: { resumability: 7 } }),
      specOf({ descriptorId: 'x'.repeat(4096) }),
      withUnknownField(specOf()),
    ];
    for (const spec of bad) expect(await codeOfCall(register('reg', spec))).toBe('INVALID_ARGUMENT');
    expect(await codeOfCall(registerNothing('reg'))).toBe('INVALID_ARGUMENT');
    expect(await table.list()).toEqual([]);
  });

  it('stores nothing that this host has no way to run', async () => {
    const { register, table } = await registry();
    const substrate = specOf({ substrate: { atespace: 'a', template: 't' } });
    expect(await codeOfCall(register('reg', substrate))).toBe('FAILED_PRECONDITION');
    expect(await table.list()).toEqual([]);
  });

  it('what another host registered can be seen, and used once it is registered here too', async () => {
    const other = await registry();
    const here2 = await registry({ table: new MemoryHarnessTable() });
    await other.register('late');
    const [row] = await other.table.list();
    if (row !== undefined) here2.table.insert(row);
    expect((await here2.find('late', true)).observeError).not.toBe('');
    expect((await here2.list()).harnesses.map((each) => each.metadata?.name)).toEqual(['echo', 'late']);
    expect(await codeOfCall(here2.call.create({ harness: 'late' }))).toBe('INVALID_ARGUMENT');
    expect((await here2.register('late')).outcome).toBe(RegisterOutcome.UNCHANGED);
    expect(await codeOfCall(here2.call.create({ harness: 'late' }))).toBe('OK');
  });
});

/** As a newer client would send it. */
function withUnknownField(spec: HarnessSpec): HarnessSpec {
  const field15 = Uint8Array.of(0x78, 1);
  return fromBinary(HarnessSpecSchema, Buffer.concat([toBinary(HarnessSpecSchema, spec), field15]));
}

describe('GetHarness', () => {
  it('says little of one that is built in, and what it says itself when asked to look', async () => {
    const { find } = await registry();
    const plain = await find('echo');
    expect(plain).toMatchObject({
      metadata: { name: 'echo', uid: '' },
      state: HarnessState.ACTIVE,
      source: HarnessSource.STATIC,
      specDigest: '',
    });
    expect([plain.spec, plain.observed, plain.metadata?.createTime]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect((await find('echo', true)).observed).toMatchObject({ id: 'echo', version: '1' });
    expect(await codeOfCall(find(''))).toBe('INVALID_ARGUMENT');
    expect(await codeOfCall(find('nope'))).toBe('NOT_FOUND');
    expect(await codeOfCall(find('chat'))).toBe('NOT_FOUND');
  });

  it('a harness that does not answer within ten seconds is told of, and the call is fine', async () => {
    const silent = scripted(async () => undefined, { describe: () => new Promise(() => undefined) });
    const { find, register, clock } = await registry({ connect: () => silent });
    await register('reg');
    const asked = find('reg', true);
    await clock.advance(10_000);
    const { observed, observeError } = await asked;
    expect(observed).toBeUndefined();
    expect(observeError).toContain('10 s');
  });

  it('one that cannot be served says why, with its digest', async () => {
    const table = new MemoryHarnessTable();
    table.insert({ name: 'broken', spec: '{', specDigest: 'sha256:abc' });
    const { find, list } = await registry({ table });
    const broken = await find('broken', true);
    expect(broken.spec).toBeUndefined();
    expect(broken).toMatchObject({ specDigest: 'sha256:abc', source: HarnessSource.REGISTERED });
    expect(broken.unservableReason).toContain('cannot be read');
    expect(broken.observeError).toBe(broken.unservableReason);
    expect((await list()).harnesses).toHaveLength(2);
  });
});

describe('ListHarnesses', () => {
  it('goes by name, built-in ones among them, page by page', async () => {
    const extra: Readonly<Record<string, Harness>> = { zebra: echoHarness };
    const { register, retire, list } = await registry({ harnesses: extra });
    for (const name of ['delta', 'alpha', 'gone']) await register(name);
    await retire('gone');
    const names = async (fields: object): Promise<[string[], string]> => {
      const { harnesses, nextPageToken } = await list(fields);
      return [harnesses.map((each) => each.metadata?.name ?? ''), nextPageToken];
    };
    expect(await names({})).toEqual([['alpha', 'delta', 'echo', 'zebra'], '']);
    expect((await names({ includeRetired: true }))[0]).toEqual(['alpha', 'delta', 'echo', 'gone', 'zebra']);
    const [first, token] = await names({ pageSize: 3 });
    expect([first, Buffer.from(token, 'base64url').toString()]).toEqual([['alpha', 'delta', 'echo'], 'echo']);
    expect(await names({ pageSize: 3, pageToken: token })).toEqual([['zebra'], '']);
    expect(await codeOfCall(list({ pageSize: -1 }))).toBe('INVALID_ARGUMENT');
    for (const pageToken of ['%', 'a', '_w']) {
      expect(await codeOfCall(list({ pageToken })), pageToken).toBe('INVALID_ARGUMENT');
    }
  });
});

describe('RetireHarness', () => {
  it('is refused for what is built in, unknown, or given too long a reason', async () => {
    const { register, retire, find } = await registry();
    await register('reg');
    expect(await codeOfCall(retire('echo'))).toBe('FAILED_PRECONDITION');
    expect(await codeOfCall(retire('nope'))).toBe('NOT_FOUND');
    expect(await codeOfCall(retire(''))).toBe('INVALID_ARGUMENT');
    expect(await codeOfCall(retire('reg', 'ä'.repeat(513)))).toBe('INVALID_ARGUMENT');
    expect((await find('reg')).state).toBe(HarnessState.ACTIVE);
    expect(await codeOfCall(retire('reg', 'ä'.repeat(512)))).toBe('OK');
  });
});
