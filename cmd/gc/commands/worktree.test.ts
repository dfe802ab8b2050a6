import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../internal/platform/clock.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { ensureWorktree } from '../../../internal/worktree/ensure-worktree.ts';
import { type FakeCity, fakeCity } from '../testing/fake-city.ts';
import { aSession } from '../testing/status-fixtures.ts';

let city: FakeCity;
afterEach(() => city.close());

async function prepare(dead: boolean) {
  city = await fakeCity({ dead });
  mkdirSync(rig());
  git(rig(), 'init', '--quiet', '--initial-branch=main');
  git(rig(), 'commit', '--quiet', '--allow-empty', '-m', 'first');
  writeFileSync(
    join(city.root, 'city.yaml'),
    'workspace: {name: fake}\nrigs: [{name: proj, path: proj}]\nagents: [{name: mayor, start_command: sleep 60}]\n',
  );
  const { statusNow } = city.api;
  city.api.statusNow = { ...statusNow, rigs: [{ name: 'proj', path: rig(), suspended: false }] };
  for (const name of ['clean', 'dirty']) await make(name);
  writeFileSync(join(path('dirty'), 'new.txt'), 'work');
}

const rig = () => join(city.root, 'proj');
const path = (name: string) => join(realpathSync(city.root), '.gc', 'worktrees', 'proj', name);

function git(dir: string, ...args: string[]): void {
  const who = ['-c', 'user.name=T', '-c', 'user.email=t@example.com'];
  const env = { PATH: process.env['PATH'], HOME: city.home, GIT_CONFIG_GLOBAL: '/dev/null' };
  execFileSync('git', [...who, ...args], { cwd: dir, env, stdio: 'ignore' });
}

async function make(name: string): Promise<void> {
  const home = { gcDir: join(city.root, '.gc'), env: city.env, clock: systemClock, ids: systemIds };
  const spec = {
    path: path(name),
    rig: { name: 'proj', path: rig() },
    session: `proj/${name}`,
    branch: `gc/proj/${name}`,
    base: '',
    setup: [],
    archive: [],
    copy: [],
    ports: 0,
    env: {},
    facts: {},
  };
  await ensureWorktree(home, spec, new AbortController().signal);
}

describe.each([
  ['with a controller', false],
  ['without one', true],
])('gc worktree %s', (_what, dead) => {
  beforeEach(() => prepare(dead));

  it('list says what is in each, and why it stays', async () => {
    const ran = await city.run(['worktree', 'list']);
    expect(ran.err).toBe('');
    expect(ran.out).toMatch(/^SESSION +BRANCH +STATE +PATH +STAYS BECAUSE\n/);
    expect(ran.out).toMatch(/proj\/clean +gc\/proj\/clean +free +\S+\/clean +-\n/);
    expect(ran.out).toMatch(/proj\/dirty +gc\/proj\/dirty +uncommitted .* 1 uncommitted file \(new\.txt\)\n/);
    const json = JSON.parse((await city.run(['worktree', 'list', '--json'])).out);
    expect(json).toMatchObject([
      { session: 'proj/clean', state: 'free', path: path('clean'), stays_because: null },
      { session: 'proj/dirty', state: 'uncommitted', uncommitted: ['new.txt'], made_here: true },
    ]);
  });

  it('prune removes what nothing keeps, and tells of the rest', async () => {
    const dry = await city.run(['worktree', 'prune', '--dry-run']);
    expect(dry.out).toMatch(/would go +proj\/clean .*\n/);
    expect(existsSync(path('clean'))).toBe(true);
    const ran = await city.run(['worktree', 'prune']);
    expect([ran.code, ran.err]).toEqual([0, '']);
    expect(ran.out).toMatch(/removed +proj\/clean .* its branch too/);
    expect(ran.out).toMatch(/stays +proj\/dirty .* 1 uncommitted file/);
    expect([existsSync(path('clean')), existsSync(path('dirty'))]).toEqual([false, true]);
  });

  it('prune of one that stays is a failure, and of none an error', async () => {
    const ran = await city.run(['worktree', 'prune', 'proj/dirty', '--json']);
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.out)).toMatchObject([{ outcome: 'stays', branch: 'gc/proj/dirty' }]);
    expect(existsSync(path('clean'))).toBe(true);
    expect((await city.run(['worktree', 'prune', 'nobody'])).err).toContain('no worktree "nobody"');
  });
});

describe('a worktree that a session lives in', () => {
  it.each(['idle', 'starting', 'unknown', 'draining'] as const)('(%s) is not removed', async (condition) => {
    await prepare(false);
    const session = aSession('mayor', { condition, work_dir: path('clean') });
    city.api.statusNow = { ...city.api.statusNow, sessions: [session] };
    const ran = await city.run(['worktree', 'prune', 'clean']);
    expect(ran.code).toBe(1);
    expect(ran.out).toContain('session mayor lives in it');
    expect(existsSync(path('clean'))).toBe(true);
  });
});
