import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openCityDatabase } from '../../../internal/beads/sqlite/city-database.ts';
import { controlSocketPath } from '../../../internal/controller/control-socket-client.ts';
import { systemClock } from '../../../internal/platform/clock.ts';
import { serveLines } from '../../../internal/platform/line-socket.ts';
import { SessionStore } from '../../../internal/session/session-store.ts';
import { fakeCity, type RunOptions, runIn } from '../testing/fake-city.ts';
import { aSession } from '../testing/status-fixtures.ts';

let base: string;
let root: string;
let env: Record<string, string>;
const lifetimes: AbortController[] = [];

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'gc-sling-')));
  root = join(base, 'town');
  env = { HOME: base, GC_HOME: join(base, '.gc'), GC_CITY: root, PATH: process.env['PATH'] ?? '' };
  for (const dir of ['town/formulas', 'fe', 'be']) mkdirSync(join(base, dir), { recursive: true });
  writeFileSync(
    join(root, 'formulas', 'mol-x.toml'),
    'formula = "mol-x"\n[[steps]]\nid = "a"\ntitle = "A"\n',
  );
  writeFileSync(
    join(root, 'city.yaml'),
    `workspace: { name: my-town, start_command: sleep 60 }
agents:
  - { name: mayor, max_active_sessions: 1 }
  - { name: dog, max_active_sessions: 3 }
  - { name: idle, suspended: true }
  - { name: polecat, dir: frontend, max_active_sessions: 3 }
  - { name: polecat, dir: backend, max_active_sessions: 3 }
  - name: custom
    dir: frontend
    sling_query: 'echo "$GC_RIG $PWD "{} >> "$GC_CITY/slung"; test {} != fe-99'
  - { name: broken, dir: frontend, sling_query: 'echo no such pool >&2; exit 3' }
named_sessions:
  - { template: mayor, mode: on_demand }
rigs:
  - { name: frontend, path: ${join(base, 'fe')}, prefix: fe, default_sling_target: polecat }
  - { name: backend, path: ${join(base, 'be')}, prefix: be }
`,
  );
});
afterEach(() => {
  for (const lifetime of lifetimes.splice(0)) lifetime.abort();
  rmSync(base, { recursive: true, force: true });
});

const gc = (words: readonly string[], options: RunOptions = {}) =>
  runIn(words, { cwd: root, ...options, env: { ...env, ...options.env } });
const run = (words: readonly string[], options: RunOptions = {}) => gc(['sling', ...words], options);

async function sling(...words: readonly string[]): Promise<string> {
  const { code, out, err } = await run(words);
  expect([code, err]).toEqual([0, '']);
  return out;
}

async function bd(...words: readonly string[]): Promise<string> {
  const { code, out, err } = await gc(['bd', ...words]);
  expect([code, err]).toEqual([0, '']);
  return out;
}

const bead = async (id: string) => JSON.parse(await bd('show', id, '--json'))[0];
const create = async (rig: string, title = 'Parse dates', ...more: readonly string[]) =>
  (await bd('create', title, '--rig', rig, '--silent', ...more)).trim();

describe('gc sling', () => {
  it('routes a bead to a pool, and a second time changes nothing', async () => {
    const id = await create('frontend');
    expect(await sling('frontend/polecat', id)).toBe('Slung fe-1 → frontend/polecat\n');
    const routed = await bead(id);
    expect(routed).toMatchObject({ status: 'open', metadata: { 'gc.routed_to': 'frontend/polecat' } });
    expect(routed.assignee).toBeUndefined();
    expect(await sling('frontend/polecat', id)).toBe('Slung fe-1 → frontend/polecat (it was already)\n');
    expect(await bead(id)).toEqual(routed);
  });

  it('makes a bead of a text, where the target sees it', async () => {
    expect(await sling('frontend/polecat', 'Fix the parser')).toBe('Slung fe-1 → frontend/polecat\n');
    expect(await bead('fe-1')).toMatchObject({ title: 'Fix the parser', priority: 2, issue_type: 'task' });
    await sling('dog/', 'Sweep', '--title', 'Chore', '--merge', 'mr');
    expect(await bead('mt-2')).toMatchObject({
      title: 'Chore',
      description: 'Sweep',
      metadata: { 'gc.routed_to': 'dog', merge_strategy: 'mr' },
    });
    const read = await run(['dog', '--stdin'], { stdin: 'First line\n\nand more\n' });
    expect(read.out).toBe('Slung mt-3 → dog\n');
    expect(await bead('mt-3')).toMatchObject({ title: 'First line', description: 'and more' });
  });

  it('gives it to a named session as its own: that one takes nothing that is only routed', async () => {
    await sling('mayor', 'Plan the release');
    expect(await bead('mt-1')).toMatchObject({
      assignee: 'mayor',
      metadata: { 'gc.routed_to': 'mayor' },
    });
  });

  it('gives it to one session of a pool only while that is there', async () => {
    const id = await create('frontend');
    expect((await run(['frontend/polecat-2', id])).err).toContain(
      'there is no session "frontend/polecat-2" now',
    );
    const db = openCityDatabase(join(root, '.gc', 'city.db'), systemClock);
    await new SessionStore(db).create({
      template: 'frontend/polecat',
      agentName: 'frontend/polecat-2',
      alias: 'frontend/polecat-2',
      sessionName: 'frontend--polecat-2',
      origin: 'ephemeral',
      provider: '',
      workDir: root,
      command: 'sleep 60',
      instanceToken: 't',
      state: 'active',
    });
    db.close();
    await sling('frontend/polecat-2', id);
    expect(await bead(id)).toMatchObject({ assignee: 'frontend/polecat-2' });
  });

  it('takes work from somebody by force alone', async () => {
    const id = await create('frontend');
    await bd('update', id, '--claim', '--actor', 'w1');
    const refused = await run(['frontend/polecat', id]);
    expect(refused).toMatchObject({ code: 1, out: '' });
    expect(refused.err).toContain('fe-1 is in the hands of w1; nothing was changed');
    expect(await bead(id)).toMatchObject({ assignee: 'w1', status: 'in_progress' });
    await sling('frontend/polecat', id, '--force');
    const moved = await bead(id);
    expect([moved.assignee, moved.status]).toEqual([undefined, 'open']);
    await bd('update', id, '--claim', '--actor', 'polecat-1');
    expect(await sling('frontend/polecat', id)).toContain('(it was already)');
    expect(await bead(id)).toMatchObject({ assignee: 'polecat-1', status: 'in_progress' });
  });

  it('does not hand work to an agent that would not see it', async () => {
    const id = await create('frontend');
    for (const target of ['backend/polecat', 'dog']) {
      expect((await run([target, id])).err).toContain('belongs to the rig "frontend"');
    }
    expect(await sling('backend/polecat', id, '--force')).toBe('Slung fe-1 → backend/polecat\n');
    expect((await run(['frontend/polecat', id])).err).toContain('fe-1 was routed to backend/polecat');
  });

  it('finds the target by a short name in the rig of the bead, and by the default of the rig', async () => {
    const id = await create('frontend');
    expect(await sling('polecat', id)).toBe('Slung fe-1 → frontend/polecat\n');
    const other = await create('frontend');
    expect(await sling(other)).toBe('Slung fe-2 → frontend/polecat\n');
    expect((await run(['polecat', 'Some text'])).err).toContain(
      'agent "polecat" is ambiguous: frontend/polecat, backend/polecat',
    );
    expect((await run([await create('backend')])).err).toContain('has no default_sling_target');
    expect((await run([await create('')])).err).toContain('belongs to the city');
  });

  it('tells the controller to look', async () => {
    const lifetime = new AbortController();
    lifetimes.push(lifetime);
    const words: string[] = [];
    mkdirSync(join(root, '.gc'));
    const answer = async (line: string) => {
      words.push(line);
      return 'ok';
    };
    await serveLines(controlSocketPath(root, env), answer, lifetime.signal);
    await sling('dog', 'Sweep');
    expect(words).toEqual(['poke']);
  });

  it('only looks with --dry-run', async () => {
    const id = await create('frontend');
    expect(await sling('frontend/polecat', id, '-n')).toBe(
      [
        'Target:  frontend/polecat',
        'Bead:    fe-1 Parse dates',
        'For:     whoever of its sessions is free',
        "Query:   bd update 'fe-1' --set-metadata gc.routed_to=frontend/polecat",
        'No side effects executed (--dry-run).',
        '',
      ].join('\n'),
    );
    expect(await sling('custom', 'A text', '--dry-run')).toContain('Bead:    (new) A text\n');
    expect((await bead(id)).metadata).toBeUndefined();
    expect(await bd('list', '--all-rigs')).toBe('○ fe-1 [P2] [task] Parse dates\n');
  });

  it('nudges a session of the agent that is free, and prints data when asked', async () => {
    const city = await fakeCity();
    try {
      const sessions = [
        aSession('m-1', { template: 'mayor', condition: 'working' }),
        aSession('m-2', { template: 'mayor', condition: 'idle' }),
      ];
      city.api.statusNow = { ...city.api.statusNow, sessions };
      const slung = await city.run(['sling', 'mayor', 'A text', '--nudge', '--json']);
      expect(JSON.parse(slung.out)).toMatchObject({ bead: { id: 'fa-1' }, target: 'mayor', already: false });
      expect(slung.err).toBe('');
      expect(city.api.nudges).toMatchObject([
        { target: sessions[1]?.session_name, request: { text: 'Work is waiting for you: fa-1' } },
      ]);
      city.api.statusNow = { ...city.api.statusNow, sessions: [] };
      const alone = await city.run(['sling', 'mayor', 'A text', '--nudge']);
      expect(alone).toMatchObject({ code: 0, err: expect.stringContaining('it finds the work by itself') });
    } finally {
      await city.close();
    }
  });

  it('warns of a target that takes nothing now', async () => {
    const { code, out, err } = await run(['idle', 'A text']);
    expect([code, out]).toEqual([0, 'Slung mt-1 → idle\n']);
    expect(err).toContain('idle is suspended');
    expect(await sling('idle', 'Another text', '--force')).toBe('Slung mt-2 → idle\n');
  });
});

describe('a sling query of the config', () => {
  it('runs in the folder of the rig, with the id quoted', async () => {
    const id = await create('frontend');
    expect(await sling('custom', id)).toBe('Slung fe-1 → frontend/custom\n');
    expect(readFileSync(join(root, 'slung'), 'utf8')).toBe(`frontend ${join(base, 'fe')} fe-1\n`);
    expect((await bead(id)).metadata).toBeUndefined();
  });

  it('says what it said when it fails, and that a bead was made', async () => {
    const { code, err } = await run(['broken', 'A text']);
    expect(code).toBe(1);
    expect(err).toContain('exit 3: no such pool');
    expect(err).toContain("bead fe-1 was made and is nobody's yet\n  next: gc sling frontend/broken fe-1");
  });
});

describe('what is wrong', () => {
  it.each([
    [[], 'requires 1 or 2 arguments'],
    [['a', 'b', 'c'], 'requires 1 or 2 arguments'],
    [['dog', 'x y', '--merge', 'squash'], '--merge must be direct, mr, or local'],
    [['dog', 'x y', '--owned', '--no-convoy'], '--owned requires a convoy (cannot use with --no-convoy)'],
    [['dog', 'x y', '--stdin'], '--stdin requires exactly 1 argument (target)'],
    [['just some text'], 'inline text requires explicit target'],
    [['mol-x', '-f'], '--formula requires explicit target'],
    [['dog', 'mol-x', '-f', '--var', 'a=b'], 'formula "mol-x" can be read, but formulas cannot be run yet'],
    [['dog', 'mol-x'], 'formula "mol-x" can be read, but formulas cannot be run yet'],
    [['dog', 'x y', '--on', 'mol-x'], 'formulas cannot be run yet'],
    [['dog', 'x y', '--var', 'a=b'], '--var goes with --formula or --on'],
    [['dog', 'x y', '--owned'], 'convoys are not made yet'],
    [['dgo', 'x y'], 'agent "dgo" not found in config; did you mean "dog"?'],
    [['dog', 'mt-77'], 'bead not found: mt-77'],
  ])('%j', async (words, said) => {
    expect(await run(words)).toEqual({ code: 1, out: '', err: expect.stringContaining(said) });
    expect(await bd('list', '--all-rigs')).toBe('');
  });

  it.each(['epic', 'gate', 'message'])('hands out no %s', async (type) => {
    const id = await create('', 'A thing', '-t', type);
    expect((await run(['dog', id])).err).toContain(`bead ${id} is a ${type}, which no agent can take`);
  });

  it('hands out nothing that is closed', async () => {
    const id = await create('');
    await bd('close', id);
    expect((await run(['dog', id])).err).toContain(`bead ${id} is closed`);
  });
});
