import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { mainly } from './support/cities.ts';
import { pathWithout } from './support/path-without.ts';
import { PROJECT_ROOT, type StatusJson, until, World } from './support/program.ts';

const SWARM_AGENT = join(PROJECT_ROOT, 'test', 'fixtures', 'agents', 'swarm-agent.sh');
const LIMIT_MS = 45_000;

let shadow: string;
let world: World;
beforeAll(() => {
  shadow = mkdtempSync(join(tmpdir(), 'gc-path-'));
});
afterAll(() => rmSync(shadow, { recursive: true, force: true }));
afterEach(() => world.dispose());

/** A world whose agents find `bd` where the city puts it, and no `jq` at all. */
function newWorld(provider: 'tmux' | 'subprocess', env: Readonly<Record<string, string>>): World {
  const PATH = pathWithout(['bd', 'jq'], mkdtempSync(join(shadow, 'bin-')));
  return new World('tmux', { PATH, GC_SESSION: provider, ...env });
}

interface Town {
  readonly city: string;
  gc(...args: readonly string[]): Promise<string>;
  status(): Promise<StatusJson>;
  /** Records of open sessions, by their name; what sleeps is there too. */
  sessions(): Promise<ReadonlyMap<string, StatusJson['sessions'][number]>>;
  beads(rig: string): Promise<readonly BeadJson[]>;
  events(): Promise<readonly EventJson[]>;
}

interface BeadJson {
  readonly id: string;
  readonly status: string;
  readonly assignee?: string;
}

interface EventJson {
  readonly type: string;
  readonly subject?: string;
  readonly message?: string;
}

async function townFrom(example: string): Promise<Town> {
  const city = join(world.root, 'cities', example);
  await world.ok(['init', '--from', example, city]);
  const gc = (...args: readonly string[]) => world.ok(args, { cwd: city });
  return {
    city,
    gc,
    status: () => world.status(city),
    sessions: async () =>
      new Map((await world.status(city)).sessions.map((session) => [session.display_name, session])),
    beads: async (rig) => JSON.parse(await gc('bd', '--rig', rig, 'list', '--all', '--json')) as BeadJson[],
    events: async () => JSON.parse(await gc('events', '--json')) as EventJson[],
  };
}

function git(repository: string, ...args: readonly string[]): string {
  return execFileSync('git', ['-C', repository, ...args], { env: world.env, encoding: 'utf8' });
}

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');

/** A project with one commit, as a rig of the city. */
async function addRig(town: Town, name: string, pack: string): Promise<string> {
  const path = join(world.root, 'src', name);
  execFileSync('git', ['init', '--quiet', '--initial-branch=main', path], { env: world.env });
  git(
    path,
    '-c',
    'user.name=p',
    '-c',
    'user.email=p@localhost',
    'commit',
    '-q',
    '--allow-empty',
    '-m',
    'start',
  );
  await town.gc('rig', 'add', path, '--include', pack);
  return path;
}

async function newBead(town: Town, rig: string, title: string, ...more: readonly string[]): Promise<string> {
  return (await town.gc('bd', '--rig', rig, 'create', title, '--silent', ...more)).trim();
}

/** Ends the city and looks whether anything outlives it. */
async function endOf(town: Town): Promise<void> {
  await town.gc('stop');
  await until('nothing left', () => world.processes().length === 0 && world.tmuxServers().length === 0);
}

const isUp = (session: { readonly pid?: number } | undefined) => session?.pid !== undefined;
const troubles = (events: readonly EventJson[]) =>
  events.filter(({ type }) => /crashed|quarantined|lost|failed/.test(type));

describe.each(mainly('subprocess'))('lifecycle on $provider', ({ provider, available }) => {
  const title = (text: string) => `${text}${available ? '' : ' (skipped: tmux is not installed)'}`;

  async function lifecycle(workSeconds: string) {
    world = newWorld(provider, { GC_POLECAT_WORK_DELAY: workSeconds, GC_REFINERY_POLL: '0.3' });
    const town = await townFrom('lifecycle');
    const repository = await addRig(town, 'app', 'packs/lifecycle');
    const start = () =>
      world.ok(['start'], { cwd: town.city, env: { GC_WT_DIR: join(world.root, 'worktrees') } });
    const route = async (count: number) => {
      const ids: string[] = [];
      for (let i = 1; i <= count; i += 1) ids.push(await newBead(town, 'app', `Task ${i}`));
      await town.gc('bd', 'update', ...ids, '--set-metadata', 'gc.routed_to=app/polecat');
      return ids;
    };
    return { town, repository, start, route };
  }

  /** Until all of it is merged and closed and the pool is empty; never are there more polecats than beads. */
  async function untilDone(town: Town, repository: string, ids: readonly string[]): Promise<void> {
    let most = 0;
    await until(
      'all merged, the pool empty',
      async () => {
        const polecats = [...(await town.sessions()).keys()].filter((name) => name.includes('polecat'));
        most = Math.max(most, polecats.length);
        const open = (await town.beads('app')).filter(({ status }) => status !== 'closed');
        const branches = linesOf(git(repository, 'branch', '--format=%(refname:short)'));
        return open.length === 0 && polecats.length === 0 && branches.join() === 'main';
      },
      LIMIT_MS,
    );
    expect(most).toBeLessThanOrEqual(ids.length);
  }

  async function expectOnce(town: Town, repository: string, ids: readonly string[]): Promise<void> {
    const commits = linesOf(git(repository, 'log', 'main', '--no-merges', '--format=%s'));
    const byPolecats = commits.filter((subject) => subject !== 'start');
    expect(byPolecats.map((subject) => subject.replace(/: work of app\/polecat-\d+$/, '')).sort()).toEqual(
      ids.toSorted(),
    );
    const merges = linesOf(git(repository, 'log', 'main', '--merges', '--format=%s'));
    expect(merges.sort()).toEqual(ids.map((id) => `Merge polecat/${id} (${id})`).sort());
    expect(
      linesOf(git(repository, 'worktree', 'list', '--porcelain')).filter((l) => l.startsWith('worktree ')),
    ).toHaveLength(1);
    const closed = (await town.events()).filter(({ type }) => type === 'bead.closed');
    expect(
      closed
        .map(({ subject }) => subject)
        .filter((id) => ids.includes(id ?? ''))
        .sort(),
    ).toEqual(ids.toSorted());
  }

  it.runIf(available)(
    title('work that is routed to the pool ends merged and closed, and the pool is empty again'),
    async () => {
      const { town, repository, start, route } = await lifecycle('0.3');
      await start();
      expect((await town.status()).provider.name).toBe(provider);
      expect(await town.sessions()).toEqual(new Map());
      const ids = await route(3);
      await untilDone(town, repository, ids);
      await expectOnce(town, repository, ids);
      // A quick refinery is done before its start counts as over.
      await until('the refinery is told to be up', async () =>
        (await town.events()).some(
          ({ type, subject }) => type === 'session.woke' && subject === 'app/refinery',
        ),
      );
      expect([...(await town.sessions()).keys()]).toEqual(['app/refinery']);
      const events = await town.events();
      expect(troubles(events)).toEqual([]);
      const polecats = events.filter(
        ({ type, subject }) => type === 'session.stopped' && /polecat/.test(subject ?? ''),
      );
      expect(polecats.length).toBeGreaterThan(0);
      expect(
        events.filter(({ type, subject }) => type === 'session.woke' && subject === 'app/refinery'),
      ).toHaveLength(1);
      await endOf(town);
    },
  );

  it.runIf(available)(
    title('kill -9 of the controller in the middle of it loses nothing and does nothing twice'),
    async () => {
      const { town, repository, start, route } = await lifecycle('3');
      await start();
      const ids = await route(2);
      await until('both in hands', async () =>
        (await town.beads('app')).every(({ status }) => status === 'in_progress'),
      );
      const { controller } = await town.status();
      process.kill(controller.pid ?? 0, 'SIGKILL');
      await until('no controller', async () => !(await town.status()).controller.running);
      await start();
      await untilDone(town, repository, ids);
      await expectOnce(town, repository, ids);
      expect(troubles(await town.events())).toEqual([]);
      await endOf(town);
    },
  );
});

describe.each(mainly('tmux'))('swarm on $provider', ({ provider, available }) => {
  const title = (text: string) => `${text}${available ? '' : ' (skipped: tmux is not installed)'}`;

  async function swarm(): Promise<Town> {
    world = newWorld(provider, { GC_SWARM_POLL: '0.3' });
    const town = await townFrom('swarm');
    const file = join(town.city, 'city.toml');
    const edited = readFileSync(file, 'utf8').replace(
      'provider = "claude"',
      `start_command = "${SWARM_AGENT}"`,
    );
    writeFileSync(file, edited);
    return town;
  }

  it.runIf(available)(
    title('a deacon, and one coder per rig that takes what is ready; the others come when called'),
    async () => {
      const town = await swarm();
      const api = await addRig(town, 'api', 'packs/swarm');
      await addRig(town, 'web', 'packs/swarm');
      await town.gc('start');
      const first = await town.sessions();
      expect([...first.keys()].sort()).toEqual(['api/coder-1', 'deacon', 'web/coder-1']);
      expect([...first.values()].every(isUp)).toBe(true);

      const id = await newBead(town, 'api', 'Write a greeting');
      await until('taken and closed', async () =>
        (await town.beads('api')).some((bead) => bead.id === id && bead.status === 'closed'),
      );
      expect(readFileSync(join(api, 'swarm.txt'), 'utf8')).toBe(`${id} by api/coder-1\n`);
      expect(linesOf(git(api, 'log', '--format=%s'))).toEqual(['start']);

      await town.gc('session', 'nudge', 'api/committer', 'Please commit.');
      await until('committed', () => git(api, 'log', '-1', '--format=%s').trim() === 'Work of the swarm');
      expect(git(api, 'show', 'HEAD:swarm.txt')).toBe(`${id} by api/coder-1\n`);
      // Nothing that the city put there for its agents has become part of the project.
      expect(linesOf(git(api, 'show', '--name-only', '--format=', 'HEAD'))).toEqual([
        '.gitignore',
        'swarm.txt',
      ]);
      expect(git(api, 'status', '--porcelain')).toBe('');

      expect((await town.sessions()).has('mayor')).toBe(false);
      await town.gc('bd', '--rig', '', 'create', 'Plan the week', '--assignee', 'mayor');
      await until('the mayor', async () => isUp((await town.sessions()).get('mayor')));

      const coder = (await town.sessions()).get('api/coder-1');
      process.kill(coder?.pid ?? 0, 'SIGKILL');
      await until('another coder', async () => {
        const now = (await town.sessions()).get('api/coder-1');
        return isUp(now) && now?.pid !== coder?.pid;
      });
      expect([...(await town.sessions()).keys()].sort()).toEqual([
        'api/coder-1',
        'api/committer',
        'deacon',
        'mayor',
        'web/coder-1',
      ]);
      await endOf(town);
    },
  );
});
