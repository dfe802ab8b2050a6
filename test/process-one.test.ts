import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readProcesses } from '../internal/platform/process-table.ts';
import { PROJECT_ROOT, until, World } from './support/program.ts';

const CHECKS = 20;
const NO_INIT = 'warning: gc is process 1 here and collects no orphans';

const namespaces = ['--fork', '--pid', '--mount-proc', '--kill-child=SIGKILL'];
const UNSHARE = process.getuid?.() === 0 ? namespaces : ['--map-root-user', ...namespaces];
const why =
  spawnSync('unshare', [...UNSHARE, 'true']).status === 0 ? '' : ' (namespaces cannot be made here)';

let world: World;
const started: ChildProcess[] = [];
beforeAll(() => {
  world = new World('tmux'); // nothing here looks for tmux: the machine's own PATH will do
});
afterAll(async () => {
  for (const child of started) if (child.exitCode === null) child.kill('SIGKILL');
  await world.dispose();
});

/** The program as the first process of a namespace, as in a container without an init. */
function asProcessOne(args: readonly string[], home: string) {
  const main = join(PROJECT_ROOT, 'dist', 'main.js');
  const child = spawn('unshare', [...UNSHARE, process.execPath, main, ...args], {
    env: { ...world.env, GC_HOME: join(world.root, home) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  started.push(child);
  const run = { said: '', ended: once(child, 'exit').then(([code]) => code as number | null) };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text: Buffer) => {
      run.said += text;
    });
  }
  const first = () => readProcesses().find((each) => each.ppid === child.pid);
  const end = async () => {
    process.kill(first()?.pid ?? 0, 'SIGTERM');
    return run.ended;
  };
  return { run, first, end };
}

const lines = (file: string): number => {
  try {
    return readFileSync(file, 'utf8').split('\n').length - 1;
  } catch {
    return 0; // no check has run yet
  }
};

describe.skipIf(why !== '')(`as process 1${why}`, () => {
  it('SUB-04 a controller leaves none of its scale checks as zombies, says that it needs an init, and ends when told', async () => {
    const done = join(world.root, 'checks');
    const agent = (i: number) =>
      `  - { name: a${i}, start_command: cat, scale_check: "echo x >> ${done}; echo 0", max_active_sessions: 2 }`;
    const agents = Array.from({ length: CHECKS }, (_, i) => agent(i));
    const yaml = ['workspace: { name: one }', 'session: { provider: fake }', 'agents:', ...agents].join('\n');
    const city = world.city('one', { 'city.yaml': `${yaml}\n` });
    const { run, first, end } = asProcessOne(['start', '--foreground', city], 'one-home');
    await until('every check has run', async () => lines(done) >= CHECKS);
    await until('every check is over', async () => {
      const below = readProcesses().filter((each) => each.ppid === first()?.pid);
      return below.every((each) => each.state !== 'Z' && each.comm !== 'sh');
    });
    expect(run.said).toContain(NO_INIT);
    expect(await end()).toBe(0);
  });

  it('SUB-04 a supervisor says that it needs an init', async () => {
    const { run, end } = asProcessOne(['supervisor', 'run'], 'all-home');
    await until('the supervisor to be up', async () => /started/i.test(run.said));
    expect(run.said).toContain(NO_INIT);
    expect(await end()).toBe(0);
  });
});
