import { chmodSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { sleepers } from './support/cities.ts';
import { World } from './support/program.ts';

let world: World;
afterEach(() => world.dispose());

const AGENT = 'agents: [{ name: a, start_command: "sleep 3600", prompt_mode: none }]\n';
const BAD_FILES: readonly (readonly [string, string, RegExp])[] = [
  ['an empty file', '', /city\.yaml.*(empty|no agents|workspace)/],
  ['a binary file', '\u0000\u0001\u0002\ufffd\u0000', /city\.yaml.*(binary|text)/],
  ['a cyclic file', 'workspace: &w { name: x, loop: *w }\n', /city\.yaml:\d+:\d+/],
  ['a wrong type', 'workspace: { name: x }\nagents: [{ name: a, args: "x" }]\n', /city\.yaml:2:\d+.*args/],
  [
    'two agents of one name',
    'workspace: { name: x }\nagents:\n  - { name: a, start_command: x }\n  - { name: a, start_command: y }\n',
    /city\.yaml:[34]:\d+[\s\S]*city\.yaml:[34]/,
  ],
  [
    'an unknown preset',
    'workspace: { name: x, provider: claud }\nagents: [{ name: a }]\n',
    /city\.yaml:1:\d+.*claud.*claude/s,
  ],
  [
    'an unknown session provider',
    `workspace: { name: x }\nsession: { provider: tmx }\n${AGENT}`,
    /city\.yaml:2:\d+.*tmx.*tmux/s,
  ],
  ['an unknown key', `workspace: { name: x }\n${AGENT}sesion: { }\n`, /city\.yaml:3:1.*sesion.*session/s],
  [
    'a misspelt key of an agent',
    'workspace: { name: x }\nagents:\n  - name: a\n    promt_template: p.md\n',
    /city\.yaml:4:5.*promt_template.*prompt_template/s,
  ],
  [
    'a pack that is not there',
    `workspace: { name: x }\n${AGENT}imports: { a: { source: ./x } }\n`,
    /city\.yaml:3:25: error: city import "a": there is no folder .*\/x.*create it, or correct the source/s,
  ],
];

describe('bad city files', () => {
  it.each(BAD_FILES)('%s', async (_what, content, expected) => {
    world = new World();
    const city = world.city('bad', { 'city.yaml': content });
    for (const args of [['start'], ['start', '--dry-run'], ['config', 'show']]) {
      const ran = await world.gc(['--city', city, ...args]);
      expect(ran.code, args.join(' ')).not.toBe(0);
      expect(ran.stderr).toMatch(expected);
    }
    expect(readdirSync(city)).toEqual(['city.yaml']);
    expect(world.processes()).toEqual([]);
  });

  it('a missing file, and a folder that is no city', async () => {
    world = new World();
    const city = world.city('none', { 'notes.txt': '' });
    for (const args of [
      ['start'],
      ['status'],
      ['session', 'list'],
      ['stop'],
      ['config', 'show'],
      ['doctor'],
    ]) {
      const ran = await world.gc(args, { cwd: city });
      expect(ran.code, args.join(' ')).not.toBe(0);
      expect(ran.stderr, args.join(' ')).toContain('not in a city directory');
      expect(ran.stderr).toContain('gc init');
    }
    expect(readdirSync(city)).toEqual(['notes.txt']);
  });
});

describe('bad surroundings', () => {
  it('a work_dir that cannot be made', async () => {
    world = new World();
    const city = world.city('wd', {
      'city.yaml':
        'workspace: { name: wd }\nagents: [{ name: a, start_command: "sleep 3600", prompt_mode: none, work_dir: file/below }]\nnamed_sessions: [{ template: a, mode: always }]\n',
      file: 'not a folder',
    });
    const ran = await world.gc(['--city', city, 'start']);
    expect(ran.code).not.toBe(0);
    expect(ran.stdout + ran.stderr).toMatch(/file\/below/);
  });

  it('TMX-10 a command that does not exist', async () => {
    world = new World();
    const city = world.city('cmd', {
      'city.yaml':
        'workspace: { name: cmd }\nagents: [{ name: a, start_command: "no-such-binary --x", prompt_mode: none }]\nnamed_sessions: [{ template: a, mode: always }]\n',
    });
    const ran = await world.gc(['--city', city, 'start']);
    expect(ran.code).not.toBe(0);
    expect(ran.stdout).toContain('no-such-binary');
    expect(ran.stdout).toContain('127');
  });

  it('CFG-08 a prompt file that is not there', async () => {
    world = new World();
    const city = world.city('prompt', {
      'city.yaml':
        'workspace: { name: prompt }\nagents: [{ name: a, start_command: "sleep 3600", prompt_template: prompts/nope.md }]\n',
    });
    const ran = await world.gc(['--city', city, 'start']);
    expect(ran.code).not.toBe(0);
    expect(ran.stderr).toContain('prompts/nope.md');
  });

  it('a .gc that is a file, and one that nobody may enter', async () => {
    world = new World();
    const city = world.city('perm', { 'city.yaml': sleepers(1), '.gc': 'not a folder' });
    const ran = await world.gc(['--city', city, 'start']);
    expect(ran.code).not.toBe(0);
    expect(ran.stderr + ran.stdout).toContain('.gc');
    if (process.getuid?.() === 0) return; // root may enter anything
    const closed = world.city('closed', { 'city.yaml': sleepers(1) });
    mkdirSync(join(closed, '.gc'));
    chmodSync(join(closed, '.gc'), 0o000);
    const refused = await world.gc(['--city', closed, 'start']);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr + refused.stdout).toContain('.gc');
    chmodSync(join(closed, '.gc'), 0o700);
  });

  it('LCK-01 stale sockets and lock files of a dead controller', async () => {
    world = new World();
    const city = world.city('stale', { 'city.yaml': sleepers(1) });
    mkdirSync(join(city, '.gc'), { mode: 0o700 });
    writeFileSync(join(city, '.gc', 'controller.lock.holder'), JSON.stringify({ pid: 1 }));
    await leaveSocket(join(city, '.gc', 'controller.sock'));
    await leaveSocket(join(city, '.gc', 'api.sock'));
    await world.ok(['--city', city, 'start']);
    expect((await world.status(city)).summary['running_sessions']).toBe(1);
  });

  it('LCK-06, LCK-07 a second controller names the first and exits with a code of its own', async () => {
    world = new World();
    const city = world.city('second', { 'city.yaml': sleepers(1) });
    await world.ok(['--city', city, 'start']);
    const pid = (await world.status(city)).controller.pid;
    const ran = await world.gc(['--city', city, 'start', '--foreground']);
    expect(ran.code).toBe(3);
    expect(ran.stderr).toContain(String(pid));
  });
});

describe('bad targets', () => {
  const NAMES = ['a/b', 'a.b', 'a:b', 'a b', 'n'.repeat(300), '🙂', '', '../a', '-x'];
  it('names that nobody has, of every shape', async () => {
    world = new World();
    const city = world.city('names', { 'city.yaml': sleepers(2) });
    await world.ok(['--city', city, 'start']);
    for (const name of NAMES) {
      for (const args of [
        ['nudge', '--', name, 'hello'],
        ['session', 'peek', '--', name],
        ['session', 'kill', '--', name],
      ]) {
        const ran = await world.gc(args, { cwd: city });
        expect(ran.code, JSON.stringify(args)).not.toBe(0);
        expect(ran.stderr.trim(), JSON.stringify(args)).not.toBe('');
        expect(ran.stderr.length, 'short enough to read').toBeLessThan(1_200);
      }
      const created = await world.gc(['session', 'new', 'a1', '--no-attach', '--alias', name], { cwd: city });
      if (!['a.b', 'a/b'].includes(name)) expect(created.code, `alias ${JSON.stringify(name)}`).not.toBe(0);
    }
    const near = await world.gc(['session', 'kill', 'a11'], { cwd: city });
    expect(near.stderr).toMatch(/did you mean "a1"/);
    expect((await world.status(city)).sessions.filter((s) => s.restarts > 0)).toEqual([]);
  });

  it('a peek of a very long output answers, bounded', async () => {
    world = new World();
    const city = world.city('flood', {
      'city.yaml':
        'workspace: { name: flood }\nagents: [{ name: a, start_command: "sh -c \'yes 0123456789012345678901234567890123456789 | head -c 60000000; echo END; sleep 3600\'", prompt_mode: none }]\nnamed_sessions: [{ template: a, mode: always }]\n',
    });
    await world.ok(['--city', city, 'start']);
    const ran = await world.gc(['--city', city, 'session', 'peek', 'a', '--lines', '0']);
    expect(ran.code).toBe(0);
    expect(existsSync(city)).toBe(true);
    expect(ran.stdout.length).toBeLessThan(64_000_000);
  });
});

/** A socket file that nobody answers on, as a killed process leaves it. */
async function leaveSocket(path: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(`${path}.tmp`, resolve));
  const { renameSync } = await import('node:fs');
  renameSync(`${path}.tmp`, path);
  await new Promise<void>((resolve) => server.close(() => resolve()));
}
