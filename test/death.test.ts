import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { identityOf } from '../internal/platform/process-identity.ts';
import { PROVIDERS, sleepers } from './support/cities.ts';
import { type StatusJson, until, World } from './support/program.ts';

let world: World;
afterEach(() => world.dispose());

const session = (status: StatusJson, name: string) => status.sessions.find((s) => s.display_name === name);

interface EventJson {
  readonly seq: number;
  readonly type: string;
  readonly subject?: string;
  readonly message?: string;
}

const events = async (city: string): Promise<readonly EventJson[]> =>
  JSON.parse(await world.ok(['--city', city, 'events', '--json'])) as EventJson[];

describe.each(PROVIDERS)('death on $provider', ({ provider, available }) => {
  const title = (text: string) => `${text}${available ? '' : ' (skipped: tmux is not installed)'}`;

  it.runIf(available)(
    title('an agent that is killed comes back, and the event says how it ended'),
    async () => {
      world = new World(provider);
      const city = world.example('quickstart');
      await world.ok(['--city', city, 'start']);
      const before = session(await world.status(city), 'worker-1')?.pid ?? 0;
      expect(before).toBeGreaterThan(0);
      process.kill(before, 'SIGKILL');
      await until('another one', async () => {
        const now = session(await world.status(city), 'worker-1');
        return now?.pid !== undefined && now.pid !== before && now.condition !== 'starting';
      });
      const crashed = (await events(city)).filter((e) => e.type === 'session.crashed');
      expect(crashed).toHaveLength(1);
      expect(crashed[0]).toMatchObject({ subject: 'worker-1' });
      expect(crashed[0]?.message).toContain('SIGKILL');
      expect(session(await world.status(city), 'mayor')?.restarts).toBe(0);
    },
  );

  it.runIf(available)(
    title('one that crashes on every start backs off, is quarantined, and a wake tries at once'),
    async () => {
      world = new World(provider);
      const city = world.city('crash', {
        'city.yaml': [
          'workspace: { name: crash }',
          'daemon: { max_restarts: 2, restart_window: 1h }',
          'agents: [{ name: a, start_command: "sh -c \'test -f broken && { echo out of luck; exit 3; }; sleep 3600\'", prompt_mode: none }]',
          'named_sessions: [{ template: a, mode: always }]',
          '',
        ].join('\n'),
        broken: '',
      });
      const started = await world.gc(['--city', city, 'start']);
      expect(started.code).toBe(1);
      const quarantined = await until('quarantine', async () => {
        const now = session(await world.status(city), 'a');
        return now?.condition === 'quarantined' && now;
      });
      expect(quarantined.next_try_at).toBeDefined();
      expect(quarantined.last_exit?.code).toBe(3);
      expect(quarantined.last_exit?.last_lines).toContain('out of luck');
      const explained = await world.ok(['--city', city, 'explain', 'a']);
      expect(explained).toContain('exit 3');
      expect(explained).toContain('gc session wake a');
      expect((await events(city)).filter((e) => e.type === 'session.quarantined')).toHaveLength(1);
      rmSync(join(city, 'broken'));
      await world.ok(['--city', city, 'session', 'wake', 'a']);
      await until('running again', async () => session(await world.status(city), 'a')?.pid !== undefined);
    },
  );

  it.runIf(available)(
    title('kill -9 of the controller touches no agent, and the next start adopts all 20'),
    async () => {
      world = new World(provider);
      const city = world.city('sleepers', { 'city.yaml': sleepers(20) });
      await world.ok(['--city', city, 'start']);
      const before = await world.status(city);
      const pids = before.sessions.map((s) => s.pid);
      expect(new Set(pids).size).toBe(20);
      process.kill(before.controller.pid ?? 0, 'SIGKILL');
      await until('no controller', async () => !(await world.status(city)).controller.running);
      const [first, second] = await Promise.all([
        world.gc(['--city', city, 'start']),
        world.gc(['--city', city, 'start']),
      ]);
      expect([first.code, second.code], `${first.stderr}${second.stderr}`).toEqual([0, 0]);
      const after = await world.status(city);
      expect(after.sessions.map((s) => s.pid)).toEqual(pids);
      expect(after.sessions.every((s) => s.restarts === 0)).toBe(true);
      expect(after.controller.pid).not.toBe(before.controller.pid);
      await world.ok(['--city', city, 'stop']);
      await until('nothing left', () => world.processes().length === 0 && world.tmuxServers().length === 0);
    },
  );
});

describe('infrastructure', () => {
  it.runIf(PROVIDERS[1]?.available)(
    'REC-03 a killed tmux server is one event, no strike, and everything is back once',
    async () => {
      world = new World('tmux');
      const city = world.example('quickstart');
      await world.ok(['--city', city, 'start']);
      const before = await world.status(city);
      for (const pid of world.tmuxServers()) process.kill(pid, 'SIGKILL');
      await until('all back', async () => {
        const now = await world.status(city);
        return (
          now.summary['running_sessions'] === 3 &&
          now.sessions.every((s, i) => s.pid !== undefined && s.pid !== before.sessions[i]?.pid)
        );
      });
      const seen = await events(city);
      expect(seen.filter((e) => e.type === 'session.crashed')).toEqual([]);
      expect(seen.filter((e) => e.type === 'provider.lost')).toHaveLength(1);
      expect((await world.status(city)).sessions.map((s) => s.condition)).not.toContain('backing-off');
    },
  );

  it('a killed session host ends its agents by the ledger, and they come back once', async () => {
    world = new World('subprocess');
    const city = world.example('quickstart');
    await world.ok(['--city', city, 'start']);
    const before = await world.status(city);
    const host = hostPid(world);
    process.kill(host, 'SIGKILL');
    await until('all back', async () => {
      const now = await world.status(city);
      return (
        now.summary['running_sessions'] === 3 &&
        now.sessions.every((s, i) => s.pid !== undefined && s.pid !== before.sessions[i]?.pid)
      );
    });
    const left = before.sessions.filter((s) => s.pid !== undefined && identityOf(s.pid) !== undefined);
    expect(left).toEqual([]);
    const seen = await events(city);
    expect(seen.filter((e) => e.type === 'session.crashed')).toEqual([]);
    expect(seen.filter((e) => e.type === 'provider.lost')).toHaveLength(1);
  });
});

function hostPid(of: World): number {
  const found = of.processes().find((pid) => commandLine(pid).includes('/host.js'));
  if (!found) throw new Error('no session host runs');
  return found;
}

function commandLine(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
}
