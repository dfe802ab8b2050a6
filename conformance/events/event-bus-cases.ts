import assert from 'node:assert/strict';
import type { CityEvent, EventBus } from '../../internal/events/event.ts';

/** What a case works on: a fresh, empty bus each time. */
export interface EventBusContext {
  readonly bus: EventBus;
  /** Another handle on the same events, as another process would have it. */
  readonly second?: EventBus;
}

export type EventBusNeed = 'second-handle';

/** A case holds when `run` resolves; it rejects with what was found otherwise. */
export interface EventBusCase {
  readonly name: string;
  readonly needs?: readonly EventBusNeed[];
  run(context: EventBusContext): Promise<void>;
}

/** A follower that shows nothing for this long has lost events. */
const FOLLOW_TIMEOUT_MS = 5_000;
const RECENT_MS = 5_000;

const event = (type: string, actor = 'gc') => ({ type, actor });
const seqs = (events: readonly CityEvent[]): readonly number[] => events.map(({ seq }) => seq);
const upTo = (last: number): readonly number[] => Array.from({ length: last }, (_, index) => index + 1);

/** The next `count` events of a follower. @throws when they do not come in time */
async function take(bus: EventBus, afterSeq: number, count: number): Promise<readonly CityEvent[]> {
  const lifetime = AbortSignal.timeout(FOLLOW_TIMEOUT_MS);
  const taken: CityEvent[] = [];
  for await (const next of bus.follow(afterSeq, lifetime)) {
    taken.push(next);
    if (taken.length === count) break;
  }
  assert.equal(taken.length, count, `the follower got ${taken.length} of ${count} events`);
  return taken;
}

async function recordMany(bus: EventBus, count: number, type = 'test.event'): Promise<void> {
  for (let n = 0; n < count; n += 1) await bus.record(event(type));
}

/** What every event bus must do. */
export const EVENT_BUS_CASES: readonly EventBusCase[] = [
  {
    name: 'an empty bus lists nothing and has no last number',
    async run({ bus }) {
      assert.deepEqual(await bus.list({}), []);
      assert.equal(await bus.latestSeq(), 0);
    },
  },
  {
    name: 'record numbers from 1 and keeps every field',
    async run({ bus }) {
      const full = {
        type: 'session.crashed',
        actor: 'gc',
        subject: 'mayor ☃',
        message: 'line 1\nline "2"',
        payload: { code: 1, nested: [null, { deep: 'ü' }] },
      };
      const recorded = await bus.record(full);
      assert.equal(recorded.seq, 1);
      const [read] = await bus.list({});
      assert.deepEqual(read, recorded);
      assert.deepEqual(
        { ...read, seq: undefined, ts: undefined },
        { ...full, seq: undefined, ts: undefined },
      );
    },
  },
  {
    name: 'absent fields stay absent',
    async run({ bus }) {
      const recorded = await bus.record(event('x', ''));
      assert.deepEqual(Object.keys(recorded).sort(), ['actor', 'seq', 'ts', 'type']);
      assert.deepEqual(await bus.list({}), [recorded]);
    },
  },
  {
    name: 'payloads of every JSON kind come back',
    async run({ bus }) {
      const payloads = [0, false, '', 'text', [], {}, [1, 'a', { b: null }]];
      for (const payload of payloads) await bus.record({ ...event('p'), payload });
      assert.deepEqual(
        (await bus.list({})).map(({ payload }) => payload),
        payloads,
      );
    },
  },
  {
    name: 'a payload that is no JSON is refused and takes no number',
    async run({ bus }) {
      const cyclic: Record<string, unknown> = {};
      cyclic['self'] = cyclic;
      await assert.rejects(bus.record({ ...event('p'), payload: cyclic }));
      await assert.rejects(bus.record({ ...event('p'), payload: 10n }));
      assert.equal((await bus.record(event('p'))).seq, 1);
    },
  },
  {
    name: 'a payload above 1 MiB is refused, one below is kept',
    async run({ bus }) {
      await assert.rejects(bus.record({ ...event('p'), payload: 'x'.repeat(1_048_577) }));
      const big = 'x'.repeat(1_000_000);
      await bus.record({ ...event('p'), payload: big });
      assert.equal((await bus.list({}))[0]?.payload, big);
    },
  },
  {
    name: 'times are filled in',
    async run({ bus }) {
      const { ts } = await bus.record(event('t'));
      assert.match(ts, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|[+-]\d\d:\d\d)$/);
    },
  },
  {
    name: 'numbers grow by one, in order',
    async run({ bus }) {
      await recordMany(bus, 25);
      assert.deepEqual(seqs(await bus.list({})), upTo(25));
      assert.equal(await bus.latestSeq(), 25);
    },
  },
  {
    name: 'lists filter by type, actor and number, together',
    async run({ bus }) {
      await bus.record(event('a', 'x'));
      await bus.record(event('b', 'x'));
      await bus.record(event('a', 'y'));
      await bus.record(event('a', 'x'));
      assert.deepEqual(seqs(await bus.list({ type: 'a' })), [1, 3, 4]);
      assert.deepEqual(seqs(await bus.list({ actor: 'x' })), [1, 2, 4]);
      assert.deepEqual(seqs(await bus.list({ afterSeq: 2 })), [3, 4]);
      assert.deepEqual(seqs(await bus.list({ type: 'a', actor: 'x', afterSeq: 1 })), [4]);
      assert.deepEqual(await bus.list({ type: 'none' }), []);
      assert.deepEqual(seqs(await bus.list({ afterSeq: 0, limit: 2 })), [1, 2]);
    },
  },
  {
    name: 'lists filter by time, the given moment included',
    async run({ bus }) {
      const { ts } = await bus.record(event('t'));
      assert.equal((await bus.list({ since: Date.parse(ts) })).length, 1);
      assert.equal((await bus.list({ since: Date.parse(ts) + RECENT_MS })).length, 0);
    },
  },
  {
    name: 'concurrent records get distinct numbers without a gap',
    async run({ bus, second }) {
      const handles = [bus, second ?? bus];
      await Promise.all(upTo(100).map((n) => handles[n % 2]?.record(event('c'))));
      assert.deepEqual(seqs(await bus.list({})), upTo(100));
    },
  },
  {
    name: 'a follower gets what was there and what comes',
    async run({ bus }) {
      await recordMany(bus, 3);
      const followed = take(bus, 0, 6);
      await recordMany(bus, 3);
      assert.deepEqual(seqs(await followed), upTo(6));
    },
  },
  {
    name: 'a follower begins after the given number',
    async run({ bus }) {
      await recordMany(bus, 5);
      assert.deepEqual(seqs(await take(bus, 3, 2)), [4, 5]);
    },
  },
  {
    name: 'a follower gets more than one page of old events',
    async run({ bus }) {
      await recordMany(bus, 1_203);
      assert.deepEqual(seqs(await take(bus, 0, 1_203)), upTo(1_203));
    },
  },
  {
    name: 'followers beside each other get everything, whenever they join',
    async run({ bus }) {
      const first = take(bus, 0, 200);
      const writing = recordMany(bus, 200);
      const later = take(bus, 0, 200);
      await writing;
      assert.deepEqual(seqs(await first), upTo(200));
      assert.deepEqual(seqs(await later), upTo(200));
      assert.deepEqual(seqs(await take(bus, 0, 200)), upTo(200));
    },
  },
  {
    name: 'a follower ends when its signal aborts, waiting or not',
    async run({ bus }) {
      const lifetime = new AbortController();
      const ended = (async () => {
        for await (const next of bus.follow(0, lifetime.signal)) if (next.seq === 2) lifetime.abort();
      })();
      await recordMany(bus, 2);
      await ended;
      const before = new AbortController();
      before.abort();
      for await (const _next of bus.follow(0, before.signal)) assert.fail('an ended follower gave an event');
    },
  },
  {
    name: 'a follower sees what another handle records',
    needs: ['second-handle'],
    async run({ bus, second }) {
      assert.ok(second);
      const followed = take(bus, 0, 20);
      for (let n = 0; n < 10; n += 1) {
        await second.record(event('theirs'));
        await bus.record(event('ours'));
      }
      assert.deepEqual(seqs(await followed), upTo(20));
      const waiting = take(bus, 20, 1);
      await second.record(event('late'));
      assert.equal((await waiting)[0]?.type, 'late');
    },
  },
  {
    name: 'another handle knows the last number',
    needs: ['second-handle'],
    async run({ bus, second }) {
      assert.ok(second);
      await recordMany(bus, 3);
      assert.equal(await second.latestSeq(), 3);
      assert.equal((await second.record(event('x'))).seq, 4);
      assert.equal(await bus.latestSeq(), 4);
    },
  },
];
