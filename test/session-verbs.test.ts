import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installAgent } from '../conformance/provider/agents.ts';
import { type Ran, until, World } from './support/program.ts';

let world: World;
let city: string;
let main: string;

const recorder = `exec '${process.execPath}' "$GC_CITY/recorder.mjs" 0 0 ''`;
const agent = (name: string, more: string): string =>
  `  - { name: ${name}, start_command: "mkdir -p $GC_SESSION_NAME && cd $GC_SESSION_NAME && ${recorder.replaceAll('"', '\\"')}", prompt_mode: none, ready_prompt_prefix: "READY> "${more} }`;

const CITY = [
  '# by hand',
  'workspace: { name: verbs }',
  'daemon: { shutdown_timeout: 1s, max_restarts: 0 }',
  'agents:',
  agent('mayor', ''),
  agent('helper', ''),
  agent('worker', ', dir: proj'),
  'rigs:',
  '  - { name: proj, path: proj }',
  'named_sessions:',
  '  - { template: mayor, mode: always }',
  '  - { template: helper, mode: on_demand }',
  '',
].join('\n');

const gc = (...args: readonly string[]): Promise<Ran> => world.gc(['--city', city, ...args]);
const says = async (...args: readonly string[]): Promise<string> => world.ok(['--city', city, ...args]);
interface Listed {
  readonly ID: string;
  readonly Alias: string;
  readonly Title: string;
  readonly SessionName: string;
  readonly State: string;
}
const list = async (...more: readonly string[]): Promise<readonly Listed[]> =>
  JSON.parse(await says('session', 'list', '--json', ...more));
const listed = async (name: string, ...more: readonly string[]): Promise<Listed | undefined> =>
  (await list(...more)).find(({ Alias, SessionName }) => [Alias, SessionName].includes(name));
const heard = (session: string): readonly string[] => {
  const text = readFileSync(join(city, session, 'messages.jsonl'), 'utf8').trim();
  return text.split('\n').map((line) => JSON.parse(line) as string);
};
const active = async (name: string): Promise<boolean> => (await listed(name))?.State === 'active';

beforeAll(async () => {
  world = new World('subprocess');
  city = world.city('verbs', { 'city.yaml': CITY });
  mkdirSync(join(city, 'proj'));
  installAgent({ kind: 'recorder' }, city);
  await world.ok(['--city', city, 'start']);
  await until('mayor is up', () => active('mayor'));
  main = (await listed('mayor'))?.ID ?? '';
});
afterAll(() => world.dispose());

describe('gc session', () => {
  it('refuses what it does not know in a line', async () => {
    const refusals: readonly (readonly [args: readonly string[], fragment: string])[] = [
      [['session'], 'missing subcommand'],
      [['session', 'bogus'], 'unknown subcommand'],
      [['session', 'new', 'nobody'], 'not found'],
      [['session', 'new'], "missing required argument 'template'"],
      [['session', 'kill', 'mayr'], 'did you mean "mayor"?'],
      [['session', 'wake', 'template:mayor'], 'names an agent'],
      [['session', 'reset', 'lab/*'], 'no session fits'],
      [['session', 'new', 'worker', '--alias', 'human'], 'the person at the keyboard'],
      [['session', 'new', 'mayor', '--alias', 'helper'], 'already exists'],
    ];
    const runs = refusals.map(async ([args, fragment]) => {
      const ran = await gc(...args);
      expect([ran.code, ran.stdout], args.join(' ')).toEqual([1, '']);
      expect(ran.stderr, args.join(' ')).toContain(fragment);
    });
    await Promise.all(runs);
    expect((await list()).map(({ SessionName }) => SessionName)).toEqual(['mayor']);
  });

  it('gives one alias to one of two that ask at once', async () => {
    const ask = () => gc('session', 'new', 'worker', '--alias', 'solo', '--no-attach');
    const ran = await Promise.all([ask(), ask(), ask()]);
    expect(ran.map(({ code }) => code).sort()).toEqual([0, 1, 1]);
    for (const { code, stderr } of ran) {
      if (code === 1) expect(stderr).toContain('session alias already exists: "proj/solo"');
    }
    const made = ran.find(({ code }) => code === 0)?.stdout;
    expect(made).toMatch(
      /^Session gc-\d+ created from template "proj\/worker" \(reconciler will start it\)\.\n$/,
    );
    await until('proj/solo is up', () => active('proj/solo'));
    expect((await list()).filter(({ Alias }) => Alias === 'proj/solo')).toHaveLength(1);
    // In the rig's folder its own short names do.
    const near = await world.gc(['session', 'peek', 'solo'], { cwd: join(city, 'proj'), env: {} });
    expect([near.code, near.stdout]).toEqual([0, 'READY>\n']);
  });

  it('submits, pins and resets, in the words that scripts match', async () => {
    const before = JSON.parse(await says('status', '--json')).sessions as { id: string; pid: number }[];
    const pid = before.find((session) => session.id === main)?.pid;
    // The one comes up again while the other is spoken to.
    const [reset, submitted] = await Promise.all([
      says('session', 'reset', 'mayor'),
      says('session', 'submit', 'helper', 'first'),
    ]);
    expect(reset).toBe(`Session ${main} reset requested. Controller will restart it fresh.\n`);
    expect(submitted).toBe('Submitted to helper\n');
    expect(heard('helper')).toEqual(['first']);
    expect(await says('session', 'submit', 'helper', 'later', '--intent', 'follow-up')).toBe(
      'Queued follow-up for helper\n',
    );
    await until('it hears the rest', () => heard('helper').includes('later'));
    const id = (await listed('helper'))?.ID ?? '';
    expect(await says('session', 'pin', 'helper')).toBe(`Session ${id} pinned awake.\n`);
    expect(await says('session', 'unpin', 'helper')).toBe(`Session ${id} unpinned.\n`);
    await until('another life is idle', async () => {
      const now = (await world.status(city)).sessions.find((session) => session.display_name === 'mayor');
      return now?.condition === 'idle' && now.pid !== pid;
    });
    expect(JSON.parse(await says('session', 'wake', 'mayor', '--json'))).toEqual({
      id: main,
      session: 'mayor',
      result: 'already awake',
    });
  });

  it('does to each what a pattern names, and to nobody else', async () => {
    const make = (alias: string) =>
      says('session', 'new', 'worker', '--alias', alias, '--no-attach', '--title', `for ${alias}`);
    await Promise.all(['w-1', 'w-2'].map(make));
    const [one, two] = await until('both are up', async () => {
      const made = (await list()).filter(({ Alias }) => /^proj\/w-[12]$/.test(Alias));
      const up = made
        .filter(({ State }) => State === 'active')
        .toSorted((a, b) => a.Alias.localeCompare(b.Alias));
      return up.length === 2 && up.map(({ ID }) => ID);
    });
    const suspended = await says('session', 'suspend', 'proj/w-*');
    expect(suspended).toBe(
      `Session ${one} suspended. Resume with: gc session wake proj/w-1\n` +
        `Session ${two} suspended. Resume with: gc session wake proj/w-2\n2 of 2 sessions suspended.\n`,
    );
    await says('session', 'wake', 'proj/w-2');
    await until('proj/w-2 is up', () => active('proj/w-2'));
    const killed = await gc('session', 'kill', 'proj/w-?');
    expect([killed.code, killed.stdout]).toEqual([
      1,
      `Session ${two} killed.\n1 of 2 sessions killed, 1 failed.\n`,
    ]);
    expect(killed.stderr).toContain('proj/w-1: session proj/w-1 is not active');
    expect(await active('proj/solo')).toBe(true);
    expect(await says('session', 'prune')).toBe('No sessions to prune.\n');
    await until(
      'it is pruned',
      async () => (await says('session', 'prune', '--before', '1ms')) === 'Pruned 1 session(s).\n',
      5_000,
    );
    expect((await listed('proj/w-1', '--state', 'closed'))?.State).toBe('closed');
    expect((await gc('session', 'wake', one ?? '')).stderr).toContain('is closed');
    expect(await says('session', 'close', 'proj/*')).toContain('2 of 2 sessions closed.');
  });

  it('scales an agent where it is declared', async () => {
    expect(await says('agent', 'scale', 'worker', '--min', '1', '--max', '2')).toBe(
      "Scaled agent 'proj/worker': min 1, max 2\n",
    );
    expect(readFileSync(join(city, 'city.yaml'), 'utf8')).toBe(
      CITY.replace('dir: proj }', 'dir: proj, min_active_sessions: 1, max_active_sessions: 2 }'),
    );
    await until('a worker is up', async () =>
      (await list('--template', 'proj/worker')).some(({ State }) => State === 'active'),
    );
  });
});
