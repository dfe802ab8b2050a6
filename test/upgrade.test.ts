import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { sleepers } from './support/cities.ts';
import { PROJECT_ROOT, until, World } from './support/program.ts';

let world: World;
afterEach(() => world.dispose());

/** How long the processes stand still: longer than every short timeout between them. */
const STANDSTILL_MS = 4_000;

describe('a running city', () => {
  it('goes on when the installed program is replaced by a newer build', async () => {
    world = new World();
    const installed = join(world.root, 'installed');
    mkdirSync(installed);
    cpSync(join(PROJECT_ROOT, 'dist'), join(installed, 'dist'), { recursive: true });
    symlinkSync(join(PROJECT_ROOT, 'node_modules'), join(installed, 'node_modules'));
    const program = join(installed, 'dist', 'main.js');
    const city = world.example('quickstart');
    await world.ok(['--city', city, 'start'], { program });
    const before = await world.status(city);

    rmSync(join(installed, 'dist'), { recursive: true });
    const killed = before.sessions.find((s) => s.display_name === 'worker-1')?.pid ?? 0;
    process.kill(killed, 'SIGKILL');
    await until('another worker-1 while no program is installed', async () => {
      const now = (await world.status(city)).sessions.find((s) => s.display_name === 'worker-1')?.pid;
      return now !== undefined && now !== killed;
    });

    cpSync(join(PROJECT_ROOT, 'dist'), join(installed, 'newer'), { recursive: true });
    renameSync(join(installed, 'newer'), join(installed, 'dist'));
    await world.ok(['--city', city, 'nudge', 'mayor', 'hello'], { program });
    const after = await world.status(city);
    expect(after.controller.pid).toBe(before.controller.pid);
    for (const name of ['mayor', 'worker-2']) {
      const pid = (of: typeof after) => of.sessions.find((s) => s.display_name === name)?.pid;
      expect(pid(after)).toBe(pid(before));
    }
  });

  it('LCK-02, REC-15 loses and restarts nothing when every process of ours stands still and goes on', async () => {
    world = new World();
    const city = world.city('still', { 'city.yaml': sleepers(5) });
    await world.ok(['--city', city, 'start']);
    const before = await world.status(city);
    const agents = new Set(before.sessions.map((s) => s.pid));
    const ours = world.processes().filter((pid) => !agents.has(pid));
    for (const pid of ours) process.kill(pid, 'SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, STANDSTILL_MS));
    for (const pid of ours) process.kill(pid, 'SIGCONT');
    await until('an answer', async () => (await world.status(city)).summary['running_sessions'] === 5);
    await world.ok(['--city', city, 'session', 'peek', 'a1']);
    const after = await world.status(city);
    expect(after.sessions.map((s) => s.pid)).toEqual(before.sessions.map((s) => s.pid));
    expect(after.sessions.every((s) => s.restarts === 0)).toBe(true);
  });

  it('LCK-06 is started once by ten starts at once, and all report success', async () => {
    world = new World();
    const city = world.city('ten', { 'city.yaml': sleepers(2) });
    const ran = await Promise.all(Array.from({ length: 10 }, () => world.gc(['--city', city, 'start'])));
    expect(ran.filter((r) => r.code !== 0).map((r) => r.stderr)).toEqual([]);
    const status = await world.status(city);
    expect(status.sessions.map((s) => s.restarts)).toEqual([0, 0]);
    const woke = JSON.parse(
      await world.ok(['--city', city, 'events', '--json', '--type', 'session.woke']),
    ) as unknown[];
    expect(woke).toHaveLength(2);
  });
});
