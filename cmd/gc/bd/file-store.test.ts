import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openCityDatabase } from '../../../internal/beads/sqlite/city-database.ts';
import { systemClock } from '../../../internal/platform/clock.ts';
import { type RunOptions, runIn } from '../testing/fake-city.ts';

let base: string;
let root: string;
let env: Record<string, string>;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'gc-bd-file-')));
  root = join(base, 'town');
  env = { HOME: base, GC_HOME: join(base, '.gc'), GC_CITY: root, PATH: process.env['PATH'] ?? '' };
  for (const dir of ['town', 'fe']) mkdirSync(join(base, dir), { recursive: true });
  writeCity('beads: { provider: file }');
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function writeCity(more = ''): void {
  writeFileSync(
    join(root, 'city.yaml'),
    `workspace: { name: my-town, start_command: sleep 60 }
agents:
  - { name: dog, max_active_sessions: 3 }
  - { name: polecat, dir: frontend, max_active_sessions: 3 }
rigs:
  - { name: frontend, path: ${join(base, 'fe')}, prefix: fe }
${more}
`,
  );
}

const run = (words: readonly string[], options: RunOptions = {}) =>
  runIn(words, { cwd: root, ...options, env: { ...env, ...options.env } });

async function gc(...words: readonly string[]): Promise<string> {
  const { code, out, err } = await run(words);
  expect([code, err]).toEqual([0, '']);
  return out;
}

const file = () => join(root, '.gc', 'beads.json');
const shown = async (id: string) => (JSON.parse(await gc('bd', 'show', id, '--json')) as object[])[0];
const events = async (type: string) =>
  (JSON.parse(await gc('events', '--type', type, '--json')) as { subject: string }[]).map(
    ({ subject }) => subject,
  );

describe('gc bd over the bead file', () => {
  it('does everything that it does over the database', async () => {
    expect(await gc('bd', 'create', 'Parse dates', '-p', '1', '-l', 'a,b')).toBe('Created bead: gc-1\n');
    expect(await gc('bd', 'create', 'Release', '--deps', 'gc-1', '--silent')).toBe('gc-2\n');
    expect(await gc('bd', 'ready')).toBe('○ gc-1 [P1] [task] Parse dates\n');
    expect(await gc('bd', 'update', 'gc-1', '--claim', '--actor', 'me')).toBe('Claimed bead: gc-1\n');
    const second = await run(['bd', 'update', 'gc-1', '--claim', '--actor', 'you']);
    expect([second.code, second.err]).toEqual([1, expect.stringContaining('already claimed by me')]);
    await gc(
      'bd',
      'update',
      'gc-1',
      '--append-notes',
      'half',
      '--set-metadata',
      'branch=x',
      '--add-label',
      'c',
    );
    await gc('bd', 'comment', 'gc-1', 'why', 'so', 'slow?', '--actor', 'boss');
    await gc('bd', 'label', 'remove', 'gc-1', 'b');
    expect(await shown('gc-1')).toMatchObject({
      assignee: 'me',
      notes: 'half',
      labels: ['a', 'c'],
      metadata: { branch: 'x' },
      comments: [{ author: 'boss', text: 'why so slow?' }],
    });
    const ring = await run(['bd', 'dep', 'add', 'gc-1', 'gc-2']);
    expect([ring.code, ring.err]).toEqual([1, expect.stringContaining('neither would ever be ready')]);
    await gc('bd', 'close', 'gc-1', '--reason', 'done');
    expect(await gc('bd', 'list', '--status', 'closed', '--closed-after', '2020-01-01T00:00:00Z')).toContain(
      'gc-1',
    );
    expect(await gc('bd', 'ready')).toContain('gc-2');
    expect(await gc('bd', 'delete', 'gc-1', '--force')).toBe('Deleted bead: gc-1\n');
    expect(readFileSync(file(), 'utf8')).not.toContain('Parse dates');
    expect(await events('bead.created')).toEqual(['gc-1', 'gc-2']);
    expect(await events('bead.closed')).toEqual(['gc-1']);
    const half = await run(['bd', 'close', 'gc-2', 'gc-404']);
    expect([half.code, await gc('bd', 'ready')]).toEqual([1, '○ gc-2 [P2] [task] Release\n']);
  });

  it('keeps the work of a rig apart by its prefix, and hands it out', async () => {
    await gc('bd', 'create', 'Ours');
    expect(await gc('bd', '--rig', 'frontend', 'create', 'Theirs')).toBe('Created bead: fe-2\n');
    expect(await gc('bd', 'list')).toBe('○ gc-1 [P2] [task] Ours\n');
    expect(await gc('bd', '--rig', 'frontend', 'list')).toContain('fe-2');
    expect(await gc('sling', 'frontend/polecat', 'fe-2')).toBe('Slung fe-2 → frontend/polecat\n');
    expect(await gc('sling', 'dog', 'Walk around the block')).toBe('Slung gc-3 → dog\n');
    const foreign = await run(['sling', 'dog', 'fe-2']);
    expect(foreign.code).toBe(1);
    expect(await shown('fe-2')).toMatchObject({ metadata: { 'gc.routed_to': 'frontend/polecat' } });
  });

  it('says what is wrong with a file that is none, and leaves it', async () => {
    await gc('bd', 'create', 'first');
    writeFileSync(file(), '{"seq": 1, "beads": ');
    for (const words of [
      ['bd', 'list'],
      ['bd', 'create', 'x'],
      ['mail', 'inbox', 'human'],
      ['mail', 'send', 'human', 'x'],
    ]) {
      const { code, out, err } = await run(words);
      expect([code, out, err.split('\n').filter((line) => line.includes(file())).length > 0]).toEqual([
        1,
        '',
        true,
      ]);
    }
    expect(readFileSync(file(), 'utf8')).toBe('{"seq": 1, "beads": ');
  });
});

describe('the choice', () => {
  it('of the first command stays, and another GC_BEADS is told that it does not count yet', async () => {
    writeCity();
    const words = ['bd', 'create', 'x'];
    expect((await run(words, { env: { GC_BEADS: 'file' } })).out).toBe('Created bead: gc-1\n');
    expect(await gc('bd', 'create', 'y')).toBe('Created bead: gc-2\n');
    const other = await run(words, { env: { GC_BEADS: 'sqlite' } });
    expect([other.code, other.out, other.err]).toEqual([
      0,
      'Created bead: gc-3\n',
      expect.stringContaining('kept in file; GC_BEADS=sqlite counts at gc start'),
    ]);
    const agent = await run(words, { env: { GC_BEADS: 'sqlite', GC_SESSION_NAME: 'dog-1' } });
    expect([agent.out, agent.err]).toEqual(['Created bead: gc-4\n', '']);
  });

  it('is the database for a city that has work there', async () => {
    writeCity();
    const city = openCityDatabase(join(root, '.gc', 'city.db'), systemClock);
    await city.beads.create({ title: 'old' });
    city.close();
    expect((await run(['bd', 'list'], { env: { GC_BEADS: 'file' } })).out).toContain('old');
    expect(existsSync(file())).toBe(false);
  });

  it('is refused where it means nothing, and nothing is made', async () => {
    writeCity();
    for (const words of [
      ['bd', 'create', 'x'],
      ['init', join(base, 'new')],
    ]) {
      const { code, err } = await run(words, { env: { GC_BEADS: 'flie' } });
      expect([code, err]).toEqual([1, expect.stringContaining('"flie"')]);
    }
    expect([existsSync(file()), existsSync(join(base, 'new'))]).toEqual([false, false]);
  });
});
