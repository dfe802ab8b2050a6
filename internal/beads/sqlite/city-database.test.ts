import { existsSync, mkdtempSync, rmSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../platform/fake-clock.ts';
import { seededIds } from '../../platform/ids.ts';
import { openDatabase } from '../../platform/sqlite.ts';
import { type CityDatabase, openCityDatabase } from './city-database.ts';
import { DECISIONS_KEPT_PER_SESSION } from './decision-table.ts';
import { CITY_MIGRATIONS } from './schema.ts';

let dir: string;
let file: string;
let clock: FakeClock;
let open: CityDatabase[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-city-'));
  file = join(dir, '.gc', 'city.db');
  clock = new FakeClock();
  open = [];
});
afterEach(() => {
  for (const database of open) database.close();
  rmSync(dir, { recursive: true, force: true });
});

function database(path = file): CityDatabase {
  const made = openCityDatabase(path, clock, seededIds(1));
  open.push(made);
  return made;
}

const decision = (sessionId: string, n: number) => ({
  sessionId,
  what: 'start',
  why: `try ${n}`,
  inputs: { n },
});

describe('city database', () => {
  it('brings what an earlier version wrote along', async () => {
    const old = openDatabase(file, { migrations: CITY_MIGRATIONS.slice(0, 1) });
    old.exec(`INSERT INTO beads (id, title, status, issue_type, created_at, assignee, sender, parent, ref, description,
      labels, metadata, revision) VALUES ('gc-1', 'old', 'closed', 'task', '2026-01-01T00:00:00.000Z', '', '', '', '', '',
      '["a"]', '{"k":"v"}', 7)`);
    old.close();
    const { beads } = database();
    const bead = await beads.get('gc-1');
    expect(bead).toMatchObject({ title: 'old', labels: ['a'], metadata: { k: 'v' }, revision: 7 });
    expect([bead.updated_at, bead.closed_at, bead.notes]).toEqual([undefined, undefined, undefined]);
    const opened = await beads.update('gc-1', { status: 'open' });
    expect([opened.revision, opened.updated_at]).toEqual([8, new Date(clock.now()).toISOString()]);
    expect((await beads.create({ title: 'next' })).id).toBe('gc-2');
  });

  it('commits records, events, decisions and state together, with one time', async () => {
    const city = database();
    const commit = await city.commit({
      beads: [
        { kind: 'create', bead: (id) => ({ title: 'a', metadata: { own_id: id } }) },
        { kind: 'create', bead: { title: 'b' } },
        { kind: 'update', id: 'gc-2', patch: { title: 'B' }, expectedRevision: 1 },
        { kind: 'close', id: 'gc-2', metadata: { close_reason: 'done' } },
      ],
      events: [{ type: 'bead.created', actor: 'gc', subject: 'gc-1' }],
      decisions: [decision('gc-1', 1)],
      state: { provider: 'tmux' },
    });
    expect(commit.beads.map((bead) => [bead.id, bead.title, bead.status, bead.revision])).toEqual([
      ['gc-1', 'a', 'open', 1],
      ['gc-2', 'b', 'open', 1],
      ['gc-2', 'B', 'open', 2],
      ['gc-2', 'B', 'closed', 3],
    ]);
    expect(commit.beads[0]?.metadata['own_id']).toBe('gc-1');
    expect(commit.events[0]?.ts).toBe(commit.beads[0]?.created_at);
    expect(await city.decisions('gc-1', 10)).toMatchObject([{ why: 'try 1', at: clock.now() }]);
    expect(await city.allState()).toEqual({ provider: 'tmux' });
  });

  it('keeps nothing of a change that fails at its last step', async () => {
    const city = database();
    await city.commit({ beads: [{ kind: 'create', bead: { title: 'kept' } }] });
    const failing = city.commit({
      beads: [
        { kind: 'create', bead: { title: 'lost' } },
        { kind: 'update', id: 'gc-1', patch: { title: 'lost' } },
        { kind: 'delete', id: 'gc-404' },
      ],
      events: [{ type: 'x', actor: 'gc' }],
      decisions: [decision('gc-1', 1)],
      state: { key: 'lost' },
    });
    await expect(failing).rejects.toMatchObject({ code: 'bead-not-found' });
    expect((await city.beads.list({ allowScan: true })).map(({ title }) => title)).toEqual(['kept']);
    expect(await city.events.latestSeq()).toBe(0);
    expect(await city.decisions('gc-1', 10)).toEqual([]);
    expect(await city.allState()).toEqual({});
  });

  it('writes nothing when nothing changes', async () => {
    const city = database();
    const watcher = database();
    await city.commit({
      beads: [{ kind: 'create', bead: { title: 'a', metadata: { k: 'v' }, needs: ['gc-9'] } }],
      decisions: [decision('gc-1', 1)],
      state: { provider: 'tmux' },
    });
    const before = watcher.changeMarker();
    const size = statSync(`${file}-wal`).size;
    await city.commit({
      beads: [{ kind: 'update', id: 'gc-1', patch: { title: 'a', metadata: { k: 'v', none: '' } } }],
      decisions: [decision('gc-1', 1)],
      state: { provider: 'tmux', absent: '' },
    });
    await city.beads.addDependency({ issue_id: 'gc-1', depends_on_id: 'gc-9', type: 'blocks' });
    await city.beads.removeDependency('gc-1', 'gc-8');
    expect(watcher.changeMarker()).toBe(before);
    expect(statSync(`${file}-wal`).size).toBe(size);
  });

  it('changes its marker with every change, whoever makes it', async () => {
    const city = database();
    const other = database();
    const markers = new Set([city.changeMarker()]);
    await other.commit({ state: { a: '1' } });
    markers.add(city.changeMarker());
    await city.commit({ state: { a: '2' } });
    markers.add(city.changeMarker());
    expect(markers.size).toBe(3);
    expect(city.changeMarker()).toBe(city.changeMarker());
  });

  it('keeps the last decisions about each session, a repeated one once, with bounded lines', async () => {
    const city = database();
    for (let n = 1; n <= DECISIONS_KEPT_PER_SESSION + 20; n += 1) {
      await city.commit({ decisions: [decision('gc-1', n), decision('gc-1', n)] });
    }
    await city.commit({ decisions: [decision('gc-2', 7)] });
    const kept = await city.decisions('gc-1', 1_000);
    expect(kept.map(({ why }) => why)).toEqual(
      Array.from({ length: DECISIONS_KEPT_PER_SESSION }, (_, n) => `try ${n + 21}`),
    );
    expect((await city.decisions('gc-1', 2)).map(({ why }) => why)).toEqual(['try 69', 'try 70']);
    expect(await city.decisions('gc-2', 10)).toHaveLength(1);
    const lines = Array.from({ length: 200 }, (_, n) => `${n} ${'x'.repeat(2_000)}`);
    await city.commit({
      decisions: [
        { ...decision('gc-3', 1), lines },
        { ...decision('gc-3', 1), lines },
      ],
    });
    const bounded = await city.decisions('gc-3', 10);
    expect(bounded).toHaveLength(1);
    expect(bounded[0]?.lines).toHaveLength(50);
    expect(bounded[0]?.lines?.at(-1)).toBe(lines[199]?.slice(0, 500));
  });

  it('lets no two open sessions hold one runtime name or one alias, even past the session layer', async () => {
    const city = database();
    const session = (metadata: Record<string, string>) => ({ title: 's', issue_type: 'session', metadata });
    await city.beads.create(session({ session_name: 'mayor', alias: 'boss' }));
    await expect(city.beads.create(session({ session_name: 'mayor' }))).rejects.toMatchObject({
      code: 'session-name-exists',
    });
    await expect(city.beads.create(session({ session_name: 'm2', alias: 'boss' }))).rejects.toMatchObject({
      code: 'session-alias-exists',
    });
    await city.beads.create({ title: 'no session', metadata: { session_name: 'mayor' } });
    await city.beads.close('gc-1');
    await city.beads.create(session({ session_name: 'mayor', alias: 'boss' }));
    await expect(city.beads.update('gc-1', { status: 'open' })).rejects.toMatchObject({
      code: expect.stringMatching(/^session-(name|alias)-exists$/),
    });
  });
});

describe('city database: trouble on disk', () => {
  it('is made owner-only, folder and file', async () => {
    await database().commit({ state: { a: '1' } });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(`${file}-wal`).mode & 0o777).toBe(0o600);
    expect(statSync(join(dir, '.gc')).mode & 0o777).toBe(0o700);
  });

  it('says that the disk is full, keeps what was acknowledged, and goes on when there is room', async () => {
    const city = database();
    await city.beads.create({ title: 'kept' });
    const full = withRoomFor(city, 0);
    await expect(city.beads.create({ title: 'x', description: 'y'.repeat(500_000) })).rejects.toMatchObject({
      code: 'store-full',
      message: expect.stringContaining(file),
      next: expect.stringContaining('free'),
    });
    full.lift();
    await city.beads.create({ title: 'after' });
    expect((await city.beads.list({ allowScan: true })).map(({ title }) => title)).toEqual(['kept', 'after']);
  });

  it('says that the file is damaged', () => {
    database().close();
    open.pop();
    writeFileSync(file, 'no database at all, but long enough to be looked at\n'.repeat(100));
    expect(() => database()).toThrow(expect.objectContaining({ code: 'store-corrupt' }));
  });

  it('starts anew when it was deleted between two runs', async () => {
    const city = database();
    await city.beads.create({ title: 'gone' });
    city.close();
    open.pop();
    rmSync(join(dir, '.gc'), { recursive: true });
    const again = database();
    expect(await again.beads.list({ allowScan: true })).toEqual([]);
    expect((await again.beads.create({ title: 'new' })).id).toBe('gc-1');
  });

  it('continues the event numbers of the export when it was deleted', async () => {
    const exported = join(dir, '.gc', 'events.jsonl');
    database().close();
    open.pop();
    writeFileSync(
      exported,
      '{"seq":41,"type":"a","ts":"","actor":""}\n{"seq":42,"type":"b","ts":"","actor":""}\n',
    );
    rmSync(file);
    expect((await database().events.record({ type: 'x', actor: 'gc' })).seq).toBe(43);
    expect((await database().events.record({ type: 'y', actor: 'gc' })).seq).toBe(44);
  });

  it('refuses to write into a file that was removed under it, and can still read', async () => {
    const city = database();
    await city.beads.create({ title: 'a' });
    expect(city.isRemoved()).toBe(false);
    for (const suffix of ['', '-wal', '-shm']) unlinkSync(file + suffix);
    expect(city.isRemoved()).toBe(true);
    await expect(city.beads.create({ title: 'b' })).rejects.toMatchObject({ code: 'store-removed' });
    const replaced = database();
    await expect(city.commit({ state: { a: '1' } })).rejects.toMatchObject({ code: 'store-removed' });
    expect(await replaced.allState()).toEqual({});
    expect((await city.beads.get('gc-1')).title).toBe('a');
    rmSync(join(dir, '.gc'), { recursive: true });
    await expect(city.commit({ state: { a: '1' } })).rejects.toMatchObject({ code: 'store-removed' });
    expect(existsSync(join(dir, '.gc'))).toBe(false);
  });

  it('does not take a file of zero length for damage', async () => {
    database().close();
    open.pop();
    for (const suffix of ['-wal', '-shm']) rmSync(file + suffix, { force: true });
    truncateSync(file);
    await database().beads.create({ title: 'a' });
  });
});

/** Lets the database grow by so many pages only, as a full disk would. */
function withRoomFor(city: CityDatabase, pages: number): { lift(): void } {
  const pragma = (text: string) => city.connection.pragma(text, { simple: true });
  const before = Number(pragma('max_page_count'));
  pragma(`max_page_count = ${Number(pragma('page_count')) + pages}`);
  return { lift: () => pragma(`max_page_count = ${before}`) };
}
