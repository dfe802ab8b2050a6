import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CityDatabase, openCityDatabase } from '../beads/sqlite/city-database.ts';
import type { NudgeRow } from '../beads/sqlite/inbox-table.ts';
import { FakeClock } from '../platform/fake-clock.ts';
import { seededIds } from '../platform/ids.ts';
import type { NudgeOutcome } from '../runtime/provider.ts';
import {
  LEASE_MS,
  MAX_FAILURES,
  NUDGE_TTL_MS,
  putBack,
  resolved,
  settled,
  typeableText,
  UNCERTAIN,
} from './inbox.ts';
import { InboxStore } from './inbox-store.ts';

let dir: string;
let clock: FakeClock;
let db: CityDatabase;
let store: InboxStore;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-inbox-'));
  clock = new FakeClock();
  db = openCityDatabase(join(dir, 'city.db'), clock, seededIds(1));
  store = new InboxStore(db);
});
afterEach(() => {
  db.close();
  rmSync(dir, { recursive: true, force: true });
});

const message = (id: string, more: object = {}) => ({
  id,
  agent: 'mayor',
  sessionName: 'mayor',
  template: 'mayor',
  sender: 'human',
  delivery: 'wait-idle' as const,
  message: `text of ${id}`,
  ...more,
});
const asking = (owner: string, more: object = {}) => ({
  owner,
  sessionId: 'gc-1',
  isGone: () => false,
  ...more,
});
const DELIVERED: NudgeOutcome = { kind: 'delivered', tookMs: 1, verified: true };
const settle = (row: NudgeRow, outcome: NudgeOutcome, attended = false, typed = false) =>
  store.settle(row, (now) => settled(row, outcome, { now, attended, typed }), attended);
async function given(owner = 'me'): Promise<NudgeRow> {
  const turn = await store.next('mayor', asking(owner));
  if (turn.kind !== 'deliver' && turn.kind !== 'resolve') throw new Error(`nothing to do: ${turn.kind}`);
  return turn.row;
}
const types = async () => (await db.events.list({})).map((event) => event.type);

describe('the text of a message', () => {
  it('holds no key that a program would obey, whatever was sent', async () => {
    const piece = fc.constantFrom(
      '\x1b[20',
      '\x1b[201~',
      '1~',
      '\x03',
      '\x1b',
      '\r',
      '\x9b',
      '\n',
      '\t',
      'a',
      'ü漢😀',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string())), (pieces) => {
        const text = typeableText(pieces.join(''));
        expect(text).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/);
        expect(typeableText(text)).toBe(text);
      }),
    );
    expect(typeableText('one\r\n\ttwo \x1b[31mred\x1b[0m 漢😀\n')).toBe('one\n\ttwo red 漢😀\n');
    const { row } = await store.enqueue(message('n1', { message: 'a\x1b[20\x1b[201~1~\x03b' }));
    expect(row.message).toBe('a1~b');
  });
});

describe('one message', () => {
  it('is known once by its id, whatever is repeated', async () => {
    expect((await store.enqueue(message('n1'))).fresh).toBe(true);
    expect((await store.enqueue(message('n1', { message: 'other' }))).row.message).toBe('text of n1');
    const row = await given();
    await store.typing(row, '{}');
    await settle(row, DELIVERED);
    expect((await store.enqueue(message('n1'))).row).toMatchObject({ state: 'accepted', message: '' });
    expect((await store.next('mayor', asking('me'))).kind).toBe('none');
    expect(await types()).toEqual(['nudge.delivered']);
  });

  it('has one holder: the others wait, and who lost it types nothing', async () => {
    await store.enqueue(message('n1'));
    const row = await given('a');
    expect(await store.next('mayor', asking('b'))).toEqual({ kind: 'wait', until: clock.now() + LEASE_MS });
    clock.jumpWall(LEASE_MS);
    const again = await given('b');
    expect(again).toMatchObject({ id: 'n1', attempts: 2, fence: 2 });
    await expect(store.typing(row, '{}')).rejects.toMatchObject({ code: 'nudge-lease-lost' });
    expect(await settle(row, DELIVERED)).toBeUndefined();
    expect(await store.find('n1')).toMatchObject({ state: 'leased', owner: 'b' });
  });

  it('NDG-02 of a holder that is gone goes back at once, with the try counted', async () => {
    for (const id of ['n1', 'n2', 'n3', 'n4', 'n5']) await store.enqueue(message(id));
    await given('dead');
    const row = await store.next('mayor', asking('next', { isGone: (owner: string) => owner === 'dead' }));
    expect(row).toMatchObject({ kind: 'deliver', row: { id: 'n1', attempts: 2, owner: 'next' } });
    const { waiting } = await store.view('mayor');
    expect(waiting.map(({ state }) => state)).toEqual(['leased', 'queued', 'queued', 'queued', 'queued']);
  });

  it('that was typed is never typed again without evidence', async () => {
    await store.enqueue(message('n1'));
    const row = await given('dead');
    await store.typing(row, '{}');
    const turn = await store.next('mayor', asking('next', { isGone: () => true }));
    expect(turn).toMatchObject({ kind: 'resolve', row: { id: 'n1', state: 'typed' } });
    if (turn.kind !== 'resolve') return;
    await store.settle(
      turn.row,
      (now) => resolved(turn.row, { kind: 'unknown', why: 'nobody saw' }, now),
      false,
    );
    expect(await store.find('n1')).toMatchObject({ state: 'dead', lastError: `${UNCERTAIN}nobody saw` });
    expect(await types()).toEqual(['nudge.dead']);
  });

  it('NDG-01 has every try on record, with its reason and ever longer pauses', async () => {
    await store.enqueue(message('n1'));
    const pauses: number[] = [];
    for (let n = 0; n < 6; n += 1) {
      const row = await given();
      await settle(row, { kind: 'busy', detail: 'runs a command' });
      const turn = await store.next('mayor', asking('me'));
      if (turn.kind !== 'wait') throw new Error(turn.kind);
      pauses.push((turn.until - clock.now()) / 1_000);
      clock.jumpWall(turn.until - clock.now());
    }
    expect(pauses).toEqual([5, 10, 20, 40, 60, 60]);
    expect(await store.find('n1')).toMatchObject({ attempts: 6, failures: 0, lastError: 'runs a command' });
    const busy = await given();
    await settle(busy, { kind: 'busy', detail: 'runs a command' });
    expect((await store.next('mayor', asking('me', { isQuiet: true }))).kind).toBe('deliver');
  });

  it('does not wait longer because the clock was set back while nobody was there to see it', async () => {
    await store.enqueue(message('n1'));
    await settle(await given(), { kind: 'busy', detail: 'runs a command' });
    clock.jumpWall(-3_600_000);
    expect((await store.next('mayor', asking('me'))).kind).toBe('deliver');
  });

  it('is given up after so many tries that went wrong, and told', async () => {
    await store.enqueue(message('n1'));
    for (let n = 0; n < MAX_FAILURES; n += 1) {
      await settle(await given(), { kind: 'failed', detail: 'line too long' });
      clock.jumpWall(15_000);
    }
    expect(await store.find('n1')).toMatchObject({ state: 'dead', failures: MAX_FAILURES });
    expect((await store.view('mayor')).buried).toHaveLength(1);
  });

  it('of a sender who stands by is refused at once, and nothing stays of it', async () => {
    await store.enqueue(message('n1'));
    await settle(await given(), { kind: 'unsubmitted', detail: 'no proof' }, true, true);
    expect(await store.find('n1')).toMatchObject({ state: 'refused', lastError: 'no proof' });
    expect(await types()).toEqual([]);
  });

  it('expires after a day, and says how often it was tried', async () => {
    await store.enqueue(message('n1'));
    await store.enqueue(message('n2', { sessionName: 'other' }));
    await settle(await given(), { kind: 'busy', detail: 'at work' });
    expect(await store.expire()).toBe(clock.now() + NUDGE_TTL_MS);
    clock.jumpWall(NUDGE_TTL_MS);
    expect(await store.expire()).toBeUndefined();
    const told = await db.events.list({ type: 'nudge.expired' });
    expect(told.map((event) => event.message)).toEqual(['1 tries, the last: at work', 'never tried']);
  });
});

it('NDG-03 a message for a name is its current holder’s; one for a session dies with it, with a reason', async () => {
  await store.enqueue(message('any'));
  await store.enqueue(message('bound', { boundSessionId: 'gc-1' }));
  const row = await store.next('mayor', asking('me', { sessionId: 'gc-2' }));
  expect(row).toMatchObject({ kind: 'deliver', row: { id: 'any' } });
  if (row.kind !== 'deliver') return;
  await settle(row.row, DELIVERED);
  expect((await store.next('mayor', asking('me', { sessionId: 'gc-2' }))).kind).toBe('none');
  expect(await store.find('bound')).toMatchObject({
    state: 'dead',
    lastError: 'it was for session gc-1, which is gone',
  });
});

it('a hook takes all in order, out of the hands of one who waits, and acknowledges what it told', async () => {
  for (const id of ['n1', 'n2', 'n3']) await store.enqueue(message(id));
  const waiting = await given('controller');
  const taken = await store.take('mayor', 'gc-1', 'hook');
  expect(taken.map(({ id }) => id)).toEqual(['n1', 'n2', 'n3']);
  await expect(store.typing(waiting, '{}')).rejects.toMatchObject({ code: 'nudge-lease-lost' });
  await store.acknowledge(taken.slice(0, 2));
  expect(await store.find('n2')).toMatchObject({ state: 'accepted', lastError: 'told by its hook' });
  expect(await store.take('mayor', 'gc-1', 'other')).toEqual([]);
  clock.jumpWall(LEASE_MS);
  expect(await store.next('mayor', asking('me'))).toMatchObject({ kind: 'resolve', row: { id: 'n3' } });
});

it('what does not wait its turn goes first', async () => {
  await store.enqueue(message('n1'));
  await store.enqueue(message('now', { delivery: 'immediate' }));
  expect((await given()).id).toBe('now');
});

/** Several owners that come, go and die in any order: what is written must stay true. */
const STEP = fc.oneof(
  fc.record({ do: fc.constant('send' as const), sender: fc.constantFrom('s1', 's2', 's3') }),
  fc.record({
    do: fc.constant('try' as const),
    ends: fc.constantFrom(
      'delivered',
      'busy',
      'failed',
      'overtaken',
      'dies leased',
      'dies typed',
      'dies after' as const,
    ),
  }),
  fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(500, 20_000, LEASE_MS) }),
);

it('nothing is lost, nothing comes twice, each sender’s messages come in order, whatever dies when', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 60 }), fc.integer(), async (steps, seed) => {
      const session = `s${seed}-${clock.now()}`;
      const sent: { id: string; sender: string }[] = [];
      const typed: string[] = [];
      let owner = 0;
      const gone = new Set<string>();
      const attempt = async (ends: string) => {
        owner += 1;
        const me = `o${owner}`;
        const turn = await store.next(session, { owner: me, sessionId: 'gc-1', isGone: (o) => gone.has(o) });
        if (turn.kind === 'none' || turn.kind === 'wait') return turn.kind;
        const { row } = turn;
        if (turn.kind === 'resolve') {
          const kind = typed.includes(row.id) ? 'accepted' : 'not-submitted';
          await store.settle(row, (now) => resolved(row, { kind, why: 'seen' }, now), false);
          return 'tried';
        }
        if (ends === 'dies leased') return gone.add(me) && 'tried';
        if (ends === 'overtaken') return (await store.settle(row, () => putBack(row), true)) && 'tried';
        if (ends === 'busy' || ends === 'failed') {
          const outcome: NudgeOutcome = { kind: ends, detail: 'x' };
          await store.settle(
            row,
            (now) => settled(row, outcome, { now, attended: false, typed: false }),
            false,
          );
          return 'tried';
        }
        await store.typing(row, '{}');
        if (ends === 'dies typed') return gone.add(me) && 'tried';
        typed.push(row.id);
        if (ends === 'dies after') return gone.add(me) && 'tried';
        await store.settle(
          row,
          (now) => settled(row, DELIVERED, { now, attended: false, typed: true }),
          false,
        );
        return 'tried';
      };
      for (const step of steps) {
        if (step.do === 'send') {
          const id = `${session}.${sent.length}`;
          sent.push({ id, sender: step.sender });
          await store.enqueue(message(id, { sessionName: session, sender: step.sender }));
        } else if (step.do === 'try') await attempt(step.ends);
        else clock.jumpWall(step.ms);
      }
      for (let n = 0; n < 400 && (await attempt('delivered')) !== 'none'; n += 1) clock.jumpWall(LEASE_MS);
      expect(new Set(typed).size).toBe(typed.length);
      for (const { id } of sent) {
        const row = await store.find(id);
        expect(
          row?.state === 'accepted' ? typed.includes(id) : row?.state === 'dead',
          `${id} ${row?.state}`,
        ).toBe(true);
      }
      for (const sender of ['s1', 's2', 's3']) {
        const mine = sent.filter((each) => each.sender === sender).map(({ id }) => id);
        expect(typed.filter((id) => mine.includes(id))).toEqual(mine.filter((id) => typed.includes(id)));
      }
    }),
    { numRuns: 25 },
  );
});

it('10,000 that wait cost a look no more than 10 do', async () => {
  const rows = (name: string, count: number) =>
    db.transaction(() => {
      for (let n = 0; n < count; n += 1) {
        db.connection
          .prepare(
            `INSERT INTO nudges SELECT NULL, ?, agent, ?, bound_session_id, template, sender, source, delivery, message,
             state, attempts, failures, fence, owner, lease_until_ms, deliver_after_ms, created_ms, expires_ms,
             last_attempt_ms, last_error, evidence, ended_ms FROM nudges WHERE id = 'seed'`,
          )
          .run(`${name}-${n}`, name);
      }
    });
  await store.enqueue(message('seed'));
  await rows('few', 10);
  await rows('many', 10_000);
  const plan = (sql: string) =>
    JSON.stringify(db.connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all('many', 1));
  expect(
    plan('SELECT * FROM nudges WHERE ended_ms IS NULL AND session_name = ? ORDER BY num LIMIT ?'),
  ).toContain('USING INDEX nudges_waiting');
  expect(await store.waitingNames()).toEqual(['few', 'many', 'mayor']);
  const cost = async (name: string) => {
    const began = performance.now();
    for (let n = 0; n < 50; n += 1) {
      await store.waitingNames();
      await store.head(name);
      await store.nextExpiry();
    }
    return performance.now() - began;
  };
  await cost('few');
  const few = await cost('few');
  expect(await cost('many')).toBeLessThan(10 * few + 20);
});
