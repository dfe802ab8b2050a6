import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openCityDatabase } from '../../../internal/beads/sqlite/city-database.ts';
import { controlSocketPath } from '../../../internal/controller/control-socket-client.ts';
import { systemClock } from '../../../internal/platform/clock.ts';
import { serveLines } from '../../../internal/platform/line-socket.ts';
import { type Claimer, startClaimer } from '../bd/testing/claimer.ts';
import { type RunOptions, runIn } from '../testing/fake-city.ts';

let base: string;
let root: string;
let env: Record<string, string>;
const lifetimes: AbortController[] = [];
const servers: Server[] = [];
let claimers: Claimer[] = [];

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'gc-bd-')));
  root = join(base, 'town');
  env = { HOME: base, GC_HOME: join(base, '.gc'), GC_CITY: root };
  for (const dir of ['town', 'fe/src']) mkdirSync(join(base, dir), { recursive: true });
  writeCity('my-town');
});
afterEach(async () => {
  for (const lifetime of lifetimes.splice(0)) lifetime.abort();
  for (const server of servers.splice(0)) server.close();
  for (const { process } of claimers) process.kill('SIGKILL');
  await Promise.allSettled(claimers.map(({ claimed }) => claimed));
  claimers = [];
  rmSync(base, { recursive: true, force: true });
});

function writeCity(name: string): void {
  writeFileSync(
    join(root, 'city.yaml'),
    `workspace: { name: ${name}, start_command: sleep 60 }\nrigs:\n  - { name: frontend, path: ${join(base, 'fe')}, prefix: fe }\n`,
  );
}

const run = (words: readonly string[], options: RunOptions = {}) =>
  runIn(['bd', ...words], { cwd: base, ...options, env: { ...env, ...options.env } });

async function bd(...words: readonly string[]): Promise<string> {
  const { code, out, err } = await run(words);
  expect([code, err]).toEqual([0, '']);
  return out;
}

const ids = async (...words: readonly string[]): Promise<readonly string[]> => {
  const beads = JSON.parse(await bd(...words, '--json')) as readonly { readonly id: string }[];
  return beads.map(({ id }) => id);
};

describe('the life of a bead', () => {
  it('goes from create over ready, claim and close to reopen', async () => {
    expect(await bd('create', 'Parse dates', '-t', 'bug', '-p', '1')).toBe('Created bead: mt-1\n');
    const blocked = JSON.parse(await bd('create', 'Release', '--deps', 'mt-1', '--json'));
    expect(blocked).toMatchObject({
      id: 'mt-2',
      title: 'Release',
      status: 'open',
      priority: 2,
      issue_type: 'task',
    });
    expect(await bd('ready')).toBe('○ mt-1 [P1] [bug] Parse dates\n');
    expect(await bd('update', 'mt-1', '--claim', '--actor', 'w1')).toBe('Claimed bead: mt-1\n');
    expect(await bd('list')).toBe('◐ mt-1 [P1] [bug] Parse dates\n○ mt-2 [P2] [task] Release\n');
    const [closed] = JSON.parse(await bd('close', 'mt-1', '--reason', 'done', '--json'));
    expect(closed).toMatchObject({ status: 'closed', assignee: 'w1', metadata: { close_reason: 'done' } });
    expect(closed.closed_at).toBe(closed.updated_at);
    expect(await ids('ready')).toEqual(['mt-2']);
    await bd('reopen', 'mt-1');
    expect(await ids('ready', '--assignee', 'w1')).toEqual(['mt-1']);
    expect(await ids('list', '--status', 'closed')).toEqual([]);
  });

  it('shows everything about it, empty keys left out of the JSON', async () => {
    await bd('create', 'T', '-d', 'line 1\nline 2', '-l', 'a', '--set-metadata', 'branch=b', '--actor', 'me');
    await bd('comment', 'mt-1', 'looks', 'good', '--actor', 'you');
    await bd('update', 'mt-1', '--append-notes', 'n1');
    await bd('update', 'mt-1', '--append-notes', 'n2', '--add-label', 'a');
    const text = await bd('show', 'mt-1');
    expect(text).toMatch(/^ID: {10}mt-1\nTitle: {7}T\nStatus: {6}open\n/);
    for (const part of [
      'Assignee:\n',
      'Labels:      a\n',
      '  line 2\n',
      'branch = b',
      'looks good',
      '  n1\n  n2\n',
    ]) {
      expect(text).toContain(part);
    }
    const [shown] = JSON.parse(await bd('show', 'mt-1', '--json'));
    expect(Object.keys(shown)).toEqual([
      ...[
        'id',
        'title',
        'description',
        'notes',
        'status',
        'priority',
        'issue_type',
        'created_at',
        'created_by',
      ],
      ...['updated_at', 'labels', 'metadata', 'comments'],
    ]);
    expect(shown.comments).toMatchObject([{ author: 'you', text: 'looks good' }]);
  });

  it('is told to who follows the events, each with its cause', async () => {
    await bd('create', 'T', '--actor', 'me');
    await bd('update', 'mt-1', '--status', 'in_progress');
    await bd('update', 'mt-1', '--status', 'in_progress');
    await bd('close', 'mt-1', 'mt-1');
    const city = openCityDatabase(join(root, '.gc', 'city.db'), systemClock);
    const events = await city.events.list({});
    city.close();
    expect(events.map(({ type, actor, subject }) => [type, actor, subject])).toEqual([
      ['bead.created', 'me', 'mt-1'],
      ['bead.updated', 'human', 'mt-1'],
      ['bead.closed', 'human', 'mt-1'],
    ]);
    expect(events[2]).toMatchObject({ message: 'T', payload: { id: 'mt-1', status: 'closed' } });
  });
});

describe('the filters', () => {
  it('find what is routed, assigned, labelled and closed', async () => {
    await bd('create', 'routed', '--set-metadata', 'gc.routed_to=frontend/worker');
    await bd('create', 'mine', '--assignee', 'me', '--labels', 'x,y');
    await bd('create', 'molecule', '-t', 'molecule');
    const routed = ['--metadata-field', 'gc.routed_to=frontend/worker'];
    expect(await ids('ready', ...routed, '--unassigned', '--limit=1')).toEqual(['mt-1']);
    expect(await ids('ready', '--unassigned')).toEqual(['mt-1']);
    expect(await ids('list', '--label', 'x', '--label', 'y')).toEqual(['mt-2']);
    expect(await ids('list', '--type=molecule', '--status=open', '--no-assignee')).toEqual(['mt-3']);
    await bd('update', 'mt-2', '--assignee', '');
    expect(await ids('list', '--assignee', 'me')).toEqual([]);
    const before = new Date(Date.now() - 60_000).toISOString();
    await bd('close', 'mt-2');
    expect(await ids('list', '--all', '--closed-after', before)).toEqual(['mt-2']);
    expect(await bd('list', '--assignee', 'nobody')).toBe('');
    expect(await bd('list', '--assignee', 'nobody', '--json')).toBe('[]\n');
  });

  it('cut long lists, and say so to people', async () => {
    for (let n = 1; n <= 52; n += 1) await bd('create', `t${n}`, '-q');
    expect((await ids('list')).length).toBe(50);
    expect((await ids('list', '-n', '0')).length).toBe(52);
    expect((await run(['list'])).err).toBe('the first 50; -n 0 shows all\n');
  });

  it('leave the records of the city alone', async () => {
    const city = openCityDatabase(join(root, '.gc', 'city.db'), systemClock);
    const { id } = await city.beads.create({ title: 's', issue_type: 'session', assignee: 'x' });
    city.close();
    expect(await ids('list', '--all-rigs', '--assignee', 'x')).toEqual([]);
    expect(await ids('list', '--type', 'session')).toEqual([id]);
    for (const words of [
      ['close', id],
      ['delete', id, '--force'],
      ['update', id, '--claim'],
      ['reopen', id],
    ]) {
      const ran = await run(words);
      expect([ran.code, ran.err]).toEqual([
        1,
        `gc bd: bead ${id} is a session record of the city, not work; nothing was changed\n`,
      ]);
    }
  });
});

describe('links, labels and gates', () => {
  it('are added, listed and removed', async () => {
    for (const title of ['a', 'b']) await bd('create', title);
    await bd('dep', 'add', 'mt-1', 'mt-2');
    expect(await bd('dep', 'list', 'mt-1')).toBe('○ mt-2 [P2] [task] b (blocks)\n');
    expect(JSON.parse(await bd('dep', 'list', 'mt-2', '--direction', 'up', '--json'))).toMatchObject([
      { id: 'mt-1', dependency_type: 'blocks' },
    ]);
    expect(await ids('dep', 'list', 'mt-1', '--type', 'related')).toEqual([]);
    expect((await run(['dep', 'add', 'mt-2', 'mt-1'])).err).toContain('neither would ever be ready');
    await bd('dep', 'remove', 'mt-1', 'mt-2');
    expect(await ids('ready')).toEqual(['mt-1', 'mt-2']);
    await bd('label', 'add', 'mt-1', 'mt-2', 'x');
    await bd('label', 'remove', 'mt-2', 'x');
    expect(JSON.parse(await bd('label', 'list', 'mt-1', '--json'))).toEqual(['x']);
    expect(await bd('label', 'list', 'mt-2')).toBe('');
  });

  it('of a gate hold back until somebody closes it', async () => {
    await bd('create', 'review', '-t', 'gate');
    await bd('create', 'merge', '--deps', 'mt-1');
    expect(await ids('ready')).toEqual([]);
    const checked = await run(['gate', 'check']);
    expect([checked.code, checked.out]).toEqual([0, '○ mt-1 [P2] [gate] review\n']);
    expect((await run(['gate', 'close', 'mt-2'])).err).toContain('mt-2 is a task, not a gate');
    await bd('gate', 'close', 'mt-1');
    expect(await bd('gate', 'check')).toBe('');
    expect(await ids('ready')).toEqual(['mt-2']);
  });
});

describe('whose work it is', () => {
  it('follows --rig, GC_RIG and the folder; an id works from anywhere', async () => {
    await bd('create', 'of the city');
    await bd('--rig', 'frontend', 'create', 'by option');
    await run(['create', 'by variable'], { env: { GC_RIG: 'frontend' } });
    await run(['create', 'by folder'], { cwd: join(base, 'fe', 'src') });
    expect(await ids('list')).toEqual(['mt-1']);
    expect(await ids('list', '--rig', 'frontend')).toEqual(['fe-2', 'fe-3', 'fe-4']);
    expect(await ids('ready', '--all-rigs')).toEqual(['mt-1', 'fe-2', 'fe-3', 'fe-4']);
    expect((await run(['show', 'mt-1'], { env: { GC_RIG: 'frontend' } })).code).toBe(0);
    const wrong = await run(['list', '--rig', 'backend']);
    expect([wrong.code, wrong.err]).toEqual([
      1,
      'gc bd: there is no rig "backend" of this city (its rigs: frontend)\n',
    ]);
  });

  it('is learnt again when the city file changes, and stays while it is wrong', async () => {
    await bd('create', 'a');
    writeCity('other-place');
    expect(await bd('create', 'b')).toBe('Created bead: op-2\n');
    writeFileSync(join(root, 'city.yaml'), 'workspace: [');
    const ran = await run(['create', 'c']);
    expect(ran.out).toMatch(/^Created bead: (op|mt)-3\n$/);
    rmSync(join(root, '.gc'), { recursive: true });
    expect((await run(['create', 'd'])).code).toBe(1);
  });
});

describe('errors', () => {
  it.each([
    [['show', 'mt-9'], 'bead not found: mt-9'],
    [['create', 'a', '--deps', 'mt-9'], 'bead not found: mt-9'],
    [['close'], 'close needs the id of a bead'],
    [['update', 'mt-1'], 'update says nothing to change'],
    [['update', 'mt-1', '--claim', '--assignee', 'x'], '--claim and --assignee exclude each other'],
    [['delete', 'mt-1'], 'nothing was deleted'],
    [['dep', 'add', 'mt-1'], 'dep wants: add <id> <needs>'],
    [['mol', 'burn'], '"mol" is not among the words of bd that gc understands'],
  ])('%j says what and changes nothing', async (words, message) => {
    const ran = await run(words);
    expect([ran.code, ran.out]).toEqual([1, '']);
    expect(ran.err).toContain(message);
    expect(ran.err.trimEnd().split('\n')).toHaveLength(1);
    expect(await ids('list')).toEqual([]);
  });

  it('of one id of several leave the others alone', async () => {
    await bd('create', 'a');
    expect((await run(['close', 'mt-1', 'mt-9'])).code).toBe(1);
    expect(await ids('list')).toEqual(['mt-1']);
  });
});

it('needs no city for its version, its help and init', async () => {
  for (const words of [['version'], ['help'], ['init'], []]) {
    const ran = await runIn(['bd', ...words], { cwd: base, env: { HOME: base } });
    expect([ran.code, ran.err]).toEqual([0, '']);
    expect(ran.out).not.toBe('');
  }
});

describe('the controller', () => {
  it('is woken by changes of who, for whom and how far, and by nothing else', async () => {
    const heard: string[] = [];
    const lifetime = new AbortController();
    lifetimes.push(lifetime);
    mkdirSync(join(root, '.gc'));
    const answer = async (line: string) => {
      heard.push(line);
      return 'ok';
    };
    await serveLines(controlSocketPath(root, env), answer, lifetime.signal);
    const pokes = async (...words: readonly string[]) => {
      heard.length = 0;
      await bd(...words);
      return heard;
    };
    expect(await pokes('create', 'a')).toEqual([]);
    expect(await pokes('create', 'b', '--assignee', 'me')).toEqual(['poke']);
    expect(await pokes('update', 'mt-1', '--title', 'c', '--notes', 'n')).toEqual([]);
    expect(await pokes('update', 'mt-1', '--set-metadata', 'gc.routed_to=w')).toEqual(['poke']);
    expect(await pokes('update', 'mt-1', '--claim')).toEqual(['poke']);
    expect(await pokes('close', 'mt-1', 'mt-2')).toEqual(['poke']);
    expect(await pokes('close', 'mt-1')).toEqual([]);
  });

  it('does not hold up a command when it is stuck', async () => {
    mkdirSync(join(root, '.gc'));
    const server = createServer(() => undefined);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(controlSocketPath(root, env), resolve));
    expect(await bd('create', 'a', '--assignee', 'me')).toBe('Created bead: mt-1\n');
  });
});

it('gives each of 40 beads to exactly one of 8 processes', { timeout: 120_000 }, async () => {
  for (let n = 1; n <= 40; n += 1) await bd('create', `t${n}`, '-q');
  const actors = Array.from({ length: 8 }, (_, n) => `w${n}`);
  claimers = await Promise.all(actors.map((actor) => startClaimer(root, actor, { ...process.env, ...env })));
  for (const { process: child } of claimers) child.stdin?.write('go\n');
  const told = await Promise.all(claimers.map(({ claimed }) => claimed));
  const beads = JSON.parse(await bd('list', '-n', '0', '--json')) as {
    id: string;
    assignee: string;
    status: string;
  }[];
  expect(told.flat().toSorted()).toEqual(beads.map(({ id }) => id).toSorted());
  expect(new Set(told.flat()).size).toBe(40);
  for (const { id, assignee, status } of beads) {
    expect([status, assignee]).toEqual(['in_progress', actors[told.findIndex((own) => own.includes(id))]]);
  }
});
