import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { HAS_TMUX, mainly } from './support/cities.ts';
import { until, World } from './support/program.ts';
import { PersonsTerminal } from './support/terminal.ts';

let world: World;
afterEach(() => world.dispose());

describe.each(mainly('subprocess'))('the first minute on $provider', ({ provider, available }) => {
  it.runIf(available)(
    `a city comes up, answers and goes away${available ? '' : ' (skipped: tmux is not installed)'}`,
    async () => {
      world = new World(provider);
      const city = world.example('quickstart');
      const started = await world.gc(['--city', city, 'start']);
      expect(started.stderr).toBe('');
      expect(started.code).toBe(0);
      expect(started.stdout).toContain('City started');
      const status = await world.status(city);
      expect(status.provider.name).toBe(provider);
      expect(status.sessions.map((s) => s.display_name).sort()).toEqual(['mayor', 'worker-1', 'worker-2']);
      expect(status.summary).toMatchObject({ running_sessions: 3, wanted_sessions: 3 });

      const nudged = await world.ok(['nudge', 'mayor', 'hello'], { cwd: city });
      expect(nudged).toBe('Nudged mayor\n');
      await until('the answer', async () =>
        (await world.ok(['session', 'peek', 'mayor'], { cwd: city })).includes(
          'mayor: you said "hello" (5 bytes)',
        ),
      );
      expect(await world.ok(['events'], { cwd: city })).toContain('session.woke');

      const stopped = await world.gc(['stop'], { cwd: city });
      expect(stopped.code).toBe(0);
      expect(stopped.stdout).toContain('City stopped.');
      const exported = readFileSync(join(city, '.gc', 'events.jsonl'), 'utf8')
        .trim()
        .split('\n');
      expect(exported.map((line) => (JSON.parse(line) as { seq: number }).seq)).toEqual(
        exported.map((_, i) => i + 1),
      );
      expect(exported.join()).toContain('session.woke');
      await until(
        'nothing of the city runs',
        () => world.processes().length === 0 && world.tmuxServers().length === 0,
      );
    },
  );

  it.runIf(HAS_TMUX)(
    `a person sits down at an agent and gets up again${HAS_TMUX ? '' : ' (skipped: tmux is not installed)'}`,
    async () => {
      world = new World(provider);
      const city = world.example('quickstart');
      await world.ok(['--city', city, 'start']);
      const pid = (await world.status(city)).sessions.find((s) => s.display_name === 'mayor')?.pid;
      const terminal = new PersonsTerminal(
        world,
        `node "${process.cwd()}/dist/main.js" --city "${city}" session attach mayor`,
      );
      try {
        await terminal.see('demo>');
        await terminal.see('leave with');
        terminal.type('say typed by hand');
        terminal.key('Enter');
        await terminal.see(/^typed by hand/m);
        terminal.resize(70, 20);
        if (provider === 'tmux') terminal.key('C-b', 'd');
        else terminal.key('C-q');
        // A nested tmux takes its own prefix first; what counts is that the person is back at the shell.
        await terminal.see('[left: 0]');
      } finally {
        terminal.close();
      }
      const after = (await world.status(city)).sessions.find((s) => s.display_name === 'mayor');
      expect(after?.pid).toBe(pid);
      expect(after?.restarts).toBe(0);
    },
  );
});

describe('commands', () => {
  it('print machine-readable data where they print data', async () => {
    world = new World();
    const city = world.example('quickstart');
    await world.ok(['--city', city, 'start']);
    for (const args of [
      ['status'],
      ['session', 'list'],
      ['events'],
      ['agent', 'list'],
      ['config', 'show'],
      ['config', 'explain'],
      ['explain', 'mayor'],
      ['cities'],
      ['doctor'],
    ]) {
      const ran = await world.gc(['--city', city, ...args, '--json']);
      expect(ran.code, `${args.join(' ')}: ${ran.stderr}`).toBe(0);
      expect(() => JSON.parse(ran.stdout), args.join(' ')).not.toThrow();
    }
    const list = JSON.parse(await world.ok(['--city', city, 'session', 'list', '--json'])) as Record<
      string,
      unknown
    >[];
    expect(Object.keys(list[0] ?? {})).toEqual(
      expect.arrayContaining(['ID', 'Template', 'State', 'Closed', 'SessionName', 'Attached']),
    );
  });

  it('NAM-04 take every name that status prints', async () => {
    world = new World();
    const city = world.example('quickstart');
    await world.ok(['--city', city, 'start']);
    for (const session of (await world.status(city)).sessions) {
      for (const name of [session.id, session.display_name, session.session_name]) {
        await world.ok(['--city', city, 'session', 'peek', name]);
        await world.ok(['--city', city, 'explain', name]);
      }
    }
  });
});
