import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../internal/platform/clock.ts';
import { systemIds } from '../internal/platform/ids.ts';
import { openDatabase, type SqliteDatabase } from '../internal/platform/sqlite.ts';
import { input, lifecycle, output, textMessage } from '../internal/protocol/events.ts';
import { EventSchema } from '../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import { toBinary } from '../internal/protocol/protobuf.ts';
import type { Durability } from '../internal/session/log/session-log.ts';
import {
  openSessionLogStore,
  type SqliteSessionLogStore,
} from '../internal/session/log/sqlite/session-log-store.ts';
import { LogWriters } from '../internal/session/log/testing/log-writers.ts';
import { verifyLog } from '../internal/session/log/verify.ts';
import { mb, median, ms, type Row } from './row.ts';

const PAYLOAD_BYTES = 410;
const APPEND_BAR = 0.8;
/** Each round is long enough for both to pay for their own checkpoints. */
const ROUNDS: Readonly<Record<Durability, { readonly rounds: number; readonly appends: number }>> = {
  group: { rounds: 11, appends: 3_000 },
  full: { rounds: 25, appends: 150 },
};
const APPEND_P99_BAR_MS = 1;
const OPEN_SIZES = [1_000, 10_000, 100_000] as const;
const OPEN_BAR_MS = 3_000;
const FLAT_BAR = 2;
const FOLLOWED = 400;
const FOLLOW_BAR_MS = 20;
const FORK_RECORDS = 10_000;
const FORK_CHILDREN = 128;
const FORK_CHILD_BAR_MS = 100;
const FORK_STALL_BAR_MS = 50;
const WAL_RECORDS = 40_000;
const WAL_BAR_BYTES = 16 * 1024 * 1024;

const PAYLOAD = output('0123456789abcdef', textMessage('assistant', 'x'.repeat(PAYLOAD_BYTES)));

/** The durable session log against the bare statement, and what it promises to those who read, follow and fork. */
export async function logRows(): Promise<readonly Row[]> {
  const dir = mkdtempSync(join(tmpdir(), 'gc-bench-log-'));
  const open = (name: string) => openSessionLogStore(join(dir, name), { clock: systemClock, ids: systemIds });
  try {
    return [
      ...(await appendRows(dir, open)),
      await openRow(open),
      ...(await followRows(dir, open)),
      ...(await forkRows(dir, open)),
      await walRow(dir, open),
    ];
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

type Open = (name: string) => SqliteSessionLogStore;

async function appendRows(dir: string, open: Open): Promise<readonly Row[]> {
  const store = open('append.db');
  await store.create({ uid: 'log', project: 'bench' });
  const floor = bareInsert(join(dir, 'append.db'));
  let head = 0;
  const rows: Row[] = [];
  for (const durability of ['group', 'full'] as const) {
    const { rounds, appends } = ROUNDS[durability];
    const times: number[] = [];
    const one = async () => {
      const began = performance.now();
      await store.append('log', [PAYLOAD], { expected: head, durability });
      times.push(performance.now() - began);
      head += 1;
    };
    for (let n = 0; n < appends; n += 1) await one();
    times.length = 0;
    const [ours, bare]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      bare.push(floor.run(durability, appends));
      const began = performance.now();
      for (let n = 0; n < appends; n += 1) await one();
      ours.push(((performance.now() - began) / appends) * 1_000);
    }
    // Pairs, so that a round in which the machine was busy counts for both.
    const ratio = median(bare.map((time, round) => time / (ours[round] ?? Number.NaN)));
    times.sort((a, b) => a - b);
    const p99 = times[Math.floor(times.length * 0.99)] ?? Number.NaN;
    rows.push({
      what: `log append with compare-and-swap, one at a time, ${durability}`,
      bar: `${APPEND_BAR} x bare INSERT${durability === 'group' ? `, p99 ${APPEND_P99_BAR_MS} ms` : ''}`,
      measured: `${ratio.toFixed(2)} x, ${median(ours).toFixed(1)} us, p99 ${p99.toFixed(3)} ms`,
      floor: `${median(bare).toFixed(1)} us`,
      met: ratio >= APPEND_BAR && (durability === 'full' || p99 <= APPEND_P99_BAR_MS),
    });
    rows.push(await pipelinedRow(store, durability, head, median(bare)));
    head = (await store.head('log')).seq;
  }
  floor.close();
  await store.close();
  return rows;
}

/** Appends of one session that do not wait for each other, each with its own compare-and-swap. */
async function pipelinedRow(
  store: SqliteSessionLogStore,
  durability: Durability,
  head: number,
  bare: number,
): Promise<Row> {
  const { appends } = ROUNDS[durability];
  const began = performance.now();
  await Promise.all(
    Array.from({ length: appends }, (_, n) =>
      store.append('log', [PAYLOAD], { expected: head + n, durability }),
    ),
  );
  const each = ((performance.now() - began) / appends) * 1_000;
  return {
    what: `the same, ${appends} asked for together, ${durability}`,
    bar: `${APPEND_BAR} x bare INSERT`,
    measured: `${(bare / each).toFixed(2)} x, ${each.toFixed(1)} us`,
    floor: `${bare.toFixed(1)} us`,
    met: bare / each >= APPEND_BAR,
  };
}

/** The prepared statement alone, each run its own transaction, into the same table of the same file. */
function bareInsert(file: string): { run(durability: Durability, count: number): number; close(): void } {
  const db: SqliteDatabase = openDatabase(file, { migrations: ['', ''] });
  const insert = db.prepare(
    'INSERT INTO events (session, seq, prev_hash, hash, fence, event) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const [blob, hash] = [toBinary(EventSchema, PAYLOAD), 'a'.repeat(64)];
  let seq = 0;
  return {
    run(durability, count) {
      db.pragma(durability === 'full' ? 'synchronous = FULL' : 'synchronous = NORMAL');
      const began = performance.now();
      for (let n = 0; n < count; n += 1) {
        seq += 1;
        insert.run('bare', seq, hash, hash, 0, blob);
      }
      return ((performance.now() - began) / count) * 1_000;
    },
    close: () => db.close(),
  };
}

async function fill(store: SqliteSessionLogStore, uid: string, records: number): Promise<void> {
  for (let left = records; left > 0; left -= 1_000)
    await store.append(
      uid,
      Array.from({ length: Math.min(left, 1_000) }, () => PAYLOAD),
      {
        durability: 'group',
      },
    );
}

async function openRow(open: Open): Promise<Row> {
  const filling = open('open.db');
  for (const size of OPEN_SIZES) await fill(filling, `log-${size}`, size);
  await filling.close();
  const each: number[] = [];
  let total = 0;
  for (const size of OPEN_SIZES) {
    const tries: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      const began = performance.now();
      const store = open('open.db');
      await verifyLog(store, `log-${size}`);
      tries.push(performance.now() - began);
      await store.close();
    }
    total = median(tries);
    each.push((total / size) * 1_000);
  }
  const flat = Math.max(...each.slice(1)) / Math.min(...each);
  return {
    what: 'open, read and verify a session of 100,000 records',
    bar: `${OPEN_BAR_MS / 1_000} s; time per record flat`,
    measured: `${(total / 1_000).toFixed(2)} s; ${each.map((us) => us.toFixed(1)).join(' / ')} us`,
    floor: `${OPEN_SIZES.map(String).join(' / ')} records`,
    met: total <= OPEN_BAR_MS && flat <= FLAT_BAR,
  };
}

async function followRows(dir: string, open: Open): Promise<readonly Row[]> {
  const store = open('follow.db');
  const rows: Row[] = [];
  for (const from of ['this process', 'another process'] as const) {
    const uid = from === 'this process' ? 'here' : 'there';
    await store.create({ uid, project: 'bench' });
    const latencies: number[] = [];
    const lifetime = new AbortController();
    const following = (async () => {
      for await (const item of store.follow(uid, { from: 1, signal: lifetime.signal })) {
        if (item.kind !== 'record' || item.record.event.body.case !== 'message') continue;
        latencies.push(Date.now() - sentAt(item.record.event.body.value.parts[0]?.part));
        if (latencies.length === FOLLOWED) lifetime.abort();
      }
    })();
    if (from === 'this process') {
      for (let n = 0; n < FOLLOWED; n += 1) {
        await store.append(uid, [input('e', textMessage('user', `here/${n}/${Date.now()}`))]);
        await systemClock.sleep(5);
      }
    } else {
      const writers = new LogWriters();
      const writer = await writers.start({
        ...{ backend: 'sqlite', path: join(dir, 'follow.db'), uid, name: 'w', cas: false },
        ...{ appends: FOLLOWED, durability: 'full', pauseMs: 5 },
      });
      await writer.ended;
      writers.dispose();
    }
    await following;
    latencies.sort((a, b) => a - b);
    const p99 = latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN;
    rows.push({
      what: `follower hears of a record that ${from} appended`,
      bar: `p99 ${FOLLOW_BAR_MS} ms`,
      measured: `median ${median(latencies)} ms, p99 ${p99} ms of ${latencies.length}`,
      floor: 'one every 5 ms, on disk each',
      met: p99 <= FOLLOW_BAR_MS,
    });
  }
  await store.close();
  return rows;
}

function sentAt(part: { readonly case: string | undefined; readonly value?: unknown } | undefined): number {
  const value = part?.value;
  return typeof value === 'object' && value !== null && 'text' in value
    ? Number(String(value.text).split('/').at(-1))
    : Number.NaN;
}

/** Children of a long session, while this process keeps time and another one appends. */
async function forkRows(dir: string, open: Open): Promise<readonly Row[]> {
  const store = open('fork.db');
  await fill(store, 'parent', FORK_RECORDS);
  await store.create({ uid: 'bystander', project: 'bench' });
  const writers = new LogWriters();
  const bystander = await writers.start({
    ...{ backend: 'sqlite', path: join(dir, 'fork.db'), uid: 'bystander', name: 'w', cas: false },
    ...{ appends: Number.MAX_SAFE_INTEGER, durability: 'group', pauseMs: 2 },
  });
  await bystander.ready;
  const loop = watchLoop();
  const began = performance.now();
  await store.fork({
    parent: 'parent',
    atSeq: FORK_RECORDS,
    marker: lifecycle(3, { detail: `parent@${FORK_RECORDS}` }),
    children: Array.from({ length: FORK_CHILDREN }, (_, n) => ({ uid: `child-${n}`, name: '', labels: {} })),
  });
  const each = (performance.now() - began) / FORK_CHILDREN;
  const here = loop.stop();
  await bystander.kill();
  writers.dispose();
  const waits = bystander.appended.map(({ ms: waited }) => waited);
  await store.close();
  const there = Math.max(...waits);
  return [
    {
      what: `fork of ${FORK_RECORDS} records, ${FORK_CHILDREN} children`,
      bar: `${FORK_CHILD_BAR_MS} ms per child`,
      measured: `${ms(each)} per child`,
      floor: `${mb(statSync(join(dir, 'fork.db')).size / FORK_CHILDREN)} copied for each`,
      met: each <= FORK_CHILD_BAR_MS,
    },
    {
      what: 'longest wait of others meanwhile',
      bar: `${FORK_STALL_BAR_MS} ms`,
      measured: `${ms(here)} for this event loop, ${ms(there)} for an append elsewhere`,
      floor: `${waits.length} appends elsewhere`,
      met: here <= FORK_STALL_BAR_MS && there <= FORK_STALL_BAR_MS,
    },
  ];
}

/** The longest time that the event loop did not come round. */
function watchLoop(): { stop(): number } {
  let [last, worst] = [performance.now(), 0];
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - last - 1);
    last = now;
  }, 1);
  return {
    stop() {
      clearInterval(timer);
      return worst;
    },
  };
}

async function walRow(dir: string, open: Open): Promise<Row> {
  const store = open('wal.db');
  const lifetime = new AbortController();
  let followed = 0;
  const following = (async () => {
    for await (const item of store.follow('log', { from: 1, signal: lifetime.signal })) {
      if (item.kind === 'lagged') return;
      followed += 1;
      if (followed === WAL_RECORDS) return;
    }
  })();
  let largest = 0;
  for (let n = 0; n < WAL_RECORDS; n += 1) {
    await store.append('log', [PAYLOAD], { durability: 'group' });
    if (n % 500 === 0) largest = Math.max(largest, statSync(join(dir, 'wal.db-wal')).size);
  }
  await following;
  lifetime.abort();
  await store.close();
  return {
    what: `write-ahead file under a follower, ${WAL_RECORDS} appends`,
    bar: `${mb(WAL_BAR_BYTES)}`,
    measured: `${mb(largest)}, ${followed} followed`,
    floor: `${mb(statSync(join(dir, 'wal.db')).size)} written`,
    met: largest <= WAL_BAR_BYTES && followed === WAL_RECORDS,
  };
}
