import { execFileSync } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import { HAS_TMUX } from './support/cities.ts';
import { until, World } from './support/program.ts';

let world: World;
afterEach(() => world.dispose());

const city = (name: string, socket: string, agents: readonly string[]) =>
  [
    `workspace: { name: ${name} }`,
    `session: { provider: tmux, socket: ${socket} }`,
    'agents:',
    ...agents.map((a) => `  - { name: ${a}, start_command: "sleep 3600", prompt_mode: none }`),
    'named_sessions:',
    ...agents.map((a) => `  - { template: ${a}, mode: always }`),
    '',
  ].join('\n');

const skipped = HAS_TMUX ? '' : ' (skipped: tmux is not installed)';

describe('two cities and a person on one tmux server', () => {
  it.runIf(HAS_TMUX)(`stopping one ends its sessions only${skipped}`, async () => {
    world = new World('tmux');
    const tmux = (...args: string[]) =>
      execFileSync('tmux', ['-u', '-L', 'shared', '-f', '/dev/null', ...args], {
        env: { ...world.env },
        encoding: 'utf8',
      });
    tmux('new-session', '-d', '-s', 'w', 'sleep 3600');
    tmux('new-session', '-d', '-s', 'w-1x', 'sleep 3600');
    const one = world.city('one', { 'city.yaml': city('one', 'shared', ['w-1', 'w-2']) });
    const two = world.city('two', { 'city.yaml': city('two', 'shared', ['w-10', 'w-20']) });
    const keysBefore = tmux('list-keys');
    await world.ok(['--city', one, 'start']);
    await world.ok(['--city', two, 'start']);
    const pids = (await world.status(two)).sessions.map((s) => s.pid);
    await world.ok(['--city', one, 'stop']);
    expect((await world.status(two)).sessions.map((s) => s.pid)).toEqual(pids);
    expect(tmux('list-sessions', '-F', '#{session_name}')).toMatch(/^w$/m);
    expect(tmux('list-sessions', '-F', '#{session_name}')).toMatch(/^w-1x$/m);
    expect(tmux('list-keys')).toBe(keysBefore);
    await world.ok(['--city', two, 'stop']);
    await until(
      'only the person’s sessions',
      () => tmux('list-sessions', '-F', '#{session_name}').trim().split('\n').sort().join() === 'w,w-1x',
    );
  });

  it('NAM-03 two cities of one name in two folders do not see each other', async () => {
    world = new World('subprocess');
    const file = [
      'workspace: { name: twin }',
      'agents: [{ name: a, start_command: "sleep 3600", prompt_mode: none }]',
      'named_sessions: [{ template: a, mode: always }]',
      '',
    ].join('\n');
    const [left, right] = [
      world.city('left/twin', { 'city.yaml': file }),
      world.city('right/twin', { 'city.yaml': file }),
    ];
    await world.ok(['--city', left, 'start']);
    const clash = await world.gc(['--city', right, 'start']);
    // The machine-wide registry knows cities by name: the second one must be given another.
    expect(clash.code).toBe(1);
    expect(clash.stderr).toMatch(/twin/);
    await world.ok(['--city', right, 'register', '--name', 'twin-right']);
    await until(
      'both run',
      async () =>
        (await world.status(left)).summary['running_sessions'] === 1 &&
        (await world.status(right)).summary['running_sessions'] === 1,
    );
    await world.ok(['--city', left, 'stop']);
    expect((await world.status(right)).summary['running_sessions']).toBe(1);
  });
});
