import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileWork } from '../beads/file/file-work.ts';
import { systemClock } from '../platform/clock.ts';
import { seededIds } from '../platform/ids.ts';
import { FakeProvider } from '../runtime/fake.ts';
import { unusedBeads } from './city-work.ts';
import { type OpenCityOptions, type OpenedCity, openCity } from './open-city.ts';
import { releaseOrphanedWork, releaseWorkOf } from './release-work.ts';
import { cityYaml } from './testing/city-harness.ts';
import { WorkKeeper } from './work-keeper.ts';

const POOL = `agents:
  - { name: polecat, start_command: agent, max_active_sessions: 3 }
`;
const IN_FILE = 'beads: { provider: file }';

let dir: string;
let opened: OpenedCity[];
let lines: string[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-city-work-'));
  writeFileSync(join(dir, 'city.yaml'), cityYaml(['a']));
  opened = [];
  lines = [];
});
afterEach(async () => {
  for (const city of opened) await city.close();
  rmSync(dir, { recursive: true, force: true });
});

async function open(
  env: Record<string, string> = {},
  role: OpenCityOptions['role'] = 'controller',
): Promise<OpenedCity> {
  const city = await openCity({
    cityDir: dir,
    env: { PATH: process.env['PATH'], HOME: dir, GC_SESSION: 'fake', ...env },
    clock: systemClock,
    ids: seededIds(`${role}${opened.length}`),
    role,
    program: 'gc',
    makeProvider: async (name) => ({ provider: new FakeProvider(systemClock, name) }),
    log: (line) => lines.push(line),
  });
  opened.push(city);
  return city;
}

describe('where the work of an opened city is', () => {
  it('is what GC_BEADS says, else the file, and visitors follow the controller', async () => {
    expect((await open({}, 'visitor')).work.kind).toBe('database');
    expect((await open({ GC_BEADS: 'file' }, 'visitor')).work.kind).toBe('file');
    const first = await open({ GC_BEADS: 'file' });
    expect([first.work.kind, first.city.beads.provider]).toEqual(['file', 'file']);
    // Recorded: neither a visitor nor the next controller needs the variable.
    expect((await open({ GC_BEADS: 'sqlite' }, 'visitor')).work.kind).toBe('file');
    const next = await open();
    expect([next.work.kind, next.city.beads.provider]).toEqual(['file', 'file']);
    expect((await open({ GC_BEADS: 'sqlite' })).work.kind).toBe('database');
    expect((await open()).work.kind).toBe('database');
    await expect(open({ GC_BEADS: 'files' })).rejects.toMatchObject({ code: 'unknown-bead-provider' });
  });

  it('follows the city file at the next start, and says so until then', async () => {
    const first = await open();
    await first.work.create({ title: 'old' });
    writeFileSync(join(dir, 'city.yaml'), cityYaml(['a'], IN_FILE));
    const reloaded = await first.load();
    if (reloaded.kind !== 'ok') throw new Error('the config is wrong');
    expect(reloaded.city.beads.provider).toBe('sqlite');
    expect(unusedBeads(reloaded.city, {})).toEqual([expect.stringContaining('beads.provider is file now')]);
    expect(unusedBeads(first.city, {})).toEqual([]);
    const next = await open();
    expect(next.work.kind).toBe('file');
    expect(lines.filter((line) => line.includes('1 open bead stays in'))).toHaveLength(1);
    expect(unusedBeads(next.city, {})).toEqual([]);
    writeFileSync(join(dir, 'city.yaml'), cityYaml(['a']));
    expect((await open()).work.kind).toBe('database');
  });
});

describe('work in the bead file', () => {
  it('of a session that is no more is released, that of others is not', async () => {
    writeFileSync(join(dir, 'city.yaml'), `workspace: { name: t }\n${POOL}${IN_FILE}\n`);
    const { work, db, city } = await open();
    const [agent] = city.agents;
    if (!agent) throw new Error('no agent');
    const closed = await db.transaction((tx) =>
      tx.createBead(() => ({ title: 's', issue_type: 'session', metadata: { template: 'polecat' } })),
    );
    await db.beads.close(closed.id);
    const held = { 'gc.routed_to': 'polecat' };
    for (const assignee of [closed.id, 'polecat-2', 'human', 'x']) {
      const bead = await work.create({ title: assignee, metadata: held });
      await work.claim(bead.id, assignee);
    }
    const released = await releaseOrphanedWork({ work, db }, city, agent, []);
    expect(released).toHaveLength(2);
    const taken = await work.list({ status: 'in_progress', metadata: held });
    expect(taken.map(({ assignee }) => assignee)).toEqual(['', '', 'human', 'x']);
    expect(await releaseWorkOf(work, ['x', ''])).toHaveLength(1);
    expect(await db.events.list({ type: 'bead.updated' })).toHaveLength(3);
  });

  it('is followed when others change it, and keeps copies of the open records', async () => {
    const parts = await open({ GC_BEADS: 'file' });
    const { db, store, work } = parts;
    const troubles: unknown[] = [];
    let changes = 0;
    const keeper = new WorkKeeper(parts, {
      changed: () => {
        changes += 1;
      },
      trouble: (error) => error !== undefined && troubles.push(error),
    });
    keeper.start();
    const made = await store.create({
      template: 'a',
      alias: 'boss',
      origin: 'manual',
      provider: 'fake',
      workDir: dir,
      command: 'agent',
      instanceToken: 'secret',
      state: 'asleep',
    });
    keeper.passed(await store.list('open'));
    const copies = () =>
      (JSON.parse(readFileSync(work.file, 'utf8')) as { beads: { id: string; metadata: object }[] }).beads;
    await expect.poll(copies).toMatchObject([{ id: made.id, metadata: { alias: 'boss' } }]);
    expect(made.id).toMatch(/^gc-s\d+$/);
    await work.create({ title: 'own' });
    const other = new FileWork({ file: work.file, city: db, path: process.env['PATH'] ?? '' });
    expect(changes).toBe(0);
    await other.create({ title: 'theirs' });
    await expect.poll(() => changes).toBeGreaterThan(0);
    await store.close(made.id, 'done');
    await keeper.end();
    expect(copies().map(({ id }) => id)).toEqual(['gc-1', 'gc-2']);
    expect(troubles).toEqual([]);
  });
});
