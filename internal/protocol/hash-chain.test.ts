import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { canonicalJson, protoJson } from './canonical-json.ts';
import {
  cityFact,
  cityFactOf,
  event,
  executionEnd,
  executionStart,
  input,
  lifecycle,
  output,
  textMessage,
} from './events.ts';
import {
  type Event,
  EventKind,
  EventSchema,
  Lifecycle_Kind,
} from './generated/agentsessions/v1/common_pb.ts';
import { HarnessSpecSchema } from './generated/agentsessions/v1/harness_registry_pb.ts';
import { ChainBrokenError, type ChainedRecord, ChainWalk, contentHash } from './hash-chain.ts';
import { normalizeEvent } from './normalize-event.ts';
import { create, fromBinary, toBinary } from './protobuf.ts';

const hashAlone = (one: Event): string => contentHash(normalizeEvent(one), '', 1);

const EXECUTION = '0123456789abcdef';
const ECHO_TURN: readonly [Event, string][] = [
  [
    executionStart(EXECUTION, { inputCount: 1, harness: 'echo', harnessVersion: '1' }),
    '75a5ea76544a26b8a4559539e0dea412615ee6cd40116fe95d5374f59181381c',
  ],
  [
    input(EXECUTION, textMessage('user', 'hi')),
    '96973a52646150ededf83e6b62108ba94f07a9e6cb22074c61415ade282ac40a',
  ],
  [
    event(EXECUTION, EventKind.EVENT_MODEL_CALL, {
      case: 'model',
      value: {
        model: 'echo',
        inputHash: '479bbea34c77bd4f413f938e6c7990e1deb2e3e7cadd21d3933c8bada10e61e1',
        id: 'fedcba9876543210',
        messages: [textMessage('user', 'hi')],
      },
    }),
    '5d3f85a2d4bda3fc92ff237b82c9c439acd1732b27d8e92284423c8a8d840f75',
  ],
  [
    output(EXECUTION, textMessage('assistant', 'echo:hi')),
    '1912485edba3fa166e1995ce4a2ecede62a49b2b77b757e0ab17921f902d5a60',
  ],
  [executionEnd(EXECUTION), 'af089303be49b1d291a343edd30d38948d884987e20d330dd923860f93979855'],
  [
    lifecycle(Lifecycle_Kind.LIFECYCLE_SUSPEND, { snapshotLocal: 'sess-000000000000000000000001' }),
    'a28a8869073e6f4d527e338e34956d252753bb6ea7b7261d621512605bb3a037',
  ],
  [
    lifecycle(Lifecycle_Kind.LIFECYCLE_RESUME),
    '879d2e02fde627e640400dff25f15653783d5d5698d190fc41e10b375d4b531b',
  ],
];

function chain(events: readonly Event[]): ChainedRecord[] {
  const records: ChainedRecord[] = [];
  for (const one of events.map(normalizeEvent)) {
    const prevHash = records.at(-1)?.contentHash ?? '';
    const seq = records.length + 1;
    records.push({ seq, prevHash, contentHash: contentHash(one, prevHash, seq), fence: 1, event: one });
  }
  return records;
}

describe('published vectors of agentsessions.v1', () => {
  it('an output with a time and an actor', () => {
    const one = create(EventSchema, {
      executionId: 'exec-1',
      schemaVersion: 1,
      ts: { seconds: 1_700_000_000n, nanos: 0 },
      kind: EventKind.EVENT_OUTPUT,
      body: { case: 'message', value: textMessage('assistant', 'hello') },
      actor: { principal: 'agent://a', issuer: 'entra', subject: 'sub-1' },
    });
    expect(hashAlone(one)).toBe('551bd146050c8d630b0c3b999a4445f3792a470db9bca443d8d4a67706283fcc');
  });

  it('starts of executions: bytes, a number beyond 2^53, presence of zero', () => {
    const start = (id: string, value: object): string =>
      hashAlone(event(id, EventKind.EVENT_EXECUTION_START, { case: 'executionStart', value }));
    expect(
      start('exec-config', {
        config: new Uint8Array([0x00, 0xff, 0x20, 0x0a, 0x09]),
        inputCount: 2n,
        resumeFromSeq: 9_007_199_254_740_993n,
      }),
    ).toBe('aa1f42a26b7a227836d32d31608ebb69c59f3b1c57eadd8537b6faf88a01c790');
    expect(start('exec-default', { inputCount: 0n })).toBe(
      'b09cbff45d5a30990c3b72be8b06af6bc509d5a29a849aab5fd42153ef10ec65',
    );
    expect(start('exec-default', { inputCount: 2n })).toBe(
      'f06c25ee5b3673ee23b8f91883c7f1c6c5682d94986caf5bc067908a61b2ac4f',
    );
  });

  it('an echo turn, suspended and resumed', () => {
    const records = chain(ECHO_TURN.map(([one]) => one));
    expect(records.map(({ contentHash }) => contentHash)).toEqual(ECHO_TURN.map(([, hash]) => hash));
  });

  it('a child that was forked after the turn', () => {
    const marker = lifecycle(Lifecycle_Kind.LIFECYCLE_FORK, { detail: 'parent@5' });
    const records = chain([...ECHO_TURN.slice(0, 5).map(([one]) => one), marker]);
    expect(records.at(-1)?.contentHash).toBe(
      'd6fb21f9fe5c985ac5460e2ef6efcd8bb6a83df16dff9ca4b314ea1d074f8b46',
    );
  });

  it('the digest of a harness', () => {
    const spec = create(HarnessSpecSchema, {
      placement: { case: 'remote', value: { address: '127.0.0.1:9000' } },
      capabilities: { resumability: 1 },
      descriptorId: 'echo',
    });
    const digest = createHash('sha256')
      .update(canonicalJson(protoJson(HarnessSpecSchema, spec)))
      .digest('hex');
    expect(digest).toBe('f0c96c8b67d5dc75be557f64ccd59496eaf9cfb102754ee54e9d4c571eb2eafc');
  });
});

describe('the chain', () => {
  it('holds for what was stored and read again', () => {
    const walk = new ChainWalk();
    for (const record of chain(ECHO_TURN.map(([one]) => one))) {
      walk.check({ ...record, event: fromBinary(EventSchema, toBinary(EventSchema, record.event)) });
    }
    expect(walk.seq).toBe(ECHO_TURN.length);
  });

  it.each([
    ['a missing record', (records: ChainedRecord[]) => records.splice(2, 1), 3],
    ['two records in the other order', (records: ChainedRecord[]) => records.reverse(), 1],
    [
      'another text',
      (records: ChainedRecord[]) => {
        const one = records[3];
        if (one) records[3] = { ...one, event: output(EXECUTION, textMessage('assistant', 'echo:ho')) };
      },
      4,
    ],
  ])('%s is found where it is', (_, damage, seq) => {
    const records = chain(ECHO_TURN.map(([one]) => one));
    damage(records);
    const walk = new ChainWalk();
    const check = () => {
      for (const record of records) walk.check(record);
    };
    expect(check).toThrow(ChainBrokenError);
    expect(walk.seq).toBe(seq - 1);
  });

  it('refuses what has no canonical form', () => {
    const data = (value: number) =>
      event('x', EventKind.EVENT_TOOL_CALL, {
        case: 'tool',
        value: { id: 'a', tool: 't', args: { n: value } },
      });
    expect(() => hashAlone(data(Number.NaN))).toThrow(/cannot be hashed/);
    expect(() => hashAlone(data(Number.POSITIVE_INFINITY))).toThrow(/cannot be hashed/);
    expect(() => hashAlone(input('x', textMessage('user', 'a\ud800b')))).toThrow(/cannot be hashed/);
    expect(hashAlone(data(-0))).toBe(hashAlone(data(0)));
  });
});

describe('facts of a city', () => {
  it('are lifecycle records of no kind, and are read back', () => {
    const fact = cityFact({ what: 'started', pid: 4 });
    expect(fact.body).toMatchObject({ case: 'lifecycle', value: { kind: 0 } });
    expect(cityFactOf(fact)).toEqual({ what: 'started', pid: 4 });
    expect(cityFactOf(lifecycle(Lifecycle_Kind.LIFECYCLE_RESUME))).toBeUndefined();
    expect(cityFactOf(lifecycle(0, { detail: 'not json' }))).toBeUndefined();
  });
});
