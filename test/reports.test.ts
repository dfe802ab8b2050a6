import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { HAS_TMUX } from './support/cities.ts';
import { until, World } from './support/program.ts';
import { PersonsTerminal } from './support/terminal.ts';

let world: World;
afterEach(() => world.dispose());

const needsTmux = HAS_TMUX ? '' : ' (skipped: tmux is not installed)';

describe('public reports, from the outside', () => {
  it.runIf(HAS_TMUX)(
    `TMX-14 an agent whose prompt scrolled away is attached at once${needsTmux}`,
    async () => {
      world = new World();
      const city = world.example('quickstart');
      await world.ok(['--city', city, 'start']);
      await world.ok(['--city', city, 'nudge', 'mayor', 'hang']);
      await until('a busy agent', async () =>
        (await world.ok(['--city', city, 'session', 'peek', 'mayor'])).includes('esc to interrupt'),
      );
      const terminal = new PersonsTerminal(
        world,
        `node "${process.cwd()}/dist/main.js" --city "${city}" session attach mayor`,
      );
      try {
        await terminal.see('esc to interrupt', 5_000);
      } finally {
        terminal.close();
      }
    },
  );

  it.runIf(HAS_TMUX)(`TMX-21 the socket is found without any environment${needsTmux}`, async () => {
    world = new World('tmux');
    const city = world.example('quickstart');
    await world.ok(['--city', city, 'start']);
    const status = await world.status(city);
    expect(status.provider.tmux_socket).toBe('quickstart');
    const bare = { HOME: '', LANG: '', TERM: '', TMUX_TMPDIR: '', TMPDIR: '' };
    const listed = await world.ok(['session', 'list', '--json'], { cwd: city, env: bare });
    expect((JSON.parse(listed) as { State: string }[]).map((s) => s.State)).toEqual([
      'active',
      'active',
      'active',
    ]);
  });

  it('CFG-04 two reloads at once restart the changed agent only', async () => {
    world = new World();
    const file = (command: string) =>
      [
        'workspace: { name: reload }',
        'agents:',
        `  - { name: a, start_command: "${command}", prompt_mode: none }`,
        '  - { name: b, start_command: "sleep 3600", prompt_mode: none }',
        '  - { name: c, start_command: "sleep 3600", prompt_mode: none }',
        'named_sessions: [{ template: a, mode: always }, { template: b, mode: always }, { template: c, mode: always }]',
        '',
      ].join('\n');
    const city = world.city('reload', { 'city.yaml': file('sleep 3601') });
    await world.ok(['--city', city, 'start']);
    const before = (await world.status(city)).sessions.map((s) => s.pid);
    writeFileSync(join(city, 'city.yaml'), file('sleep 3602'));
    await Promise.all([world.ok(['supervisor', 'reload']), world.ok(['supervisor', 'reload'])]);
    const after = await until('a new life of a', async () => {
      const now = (await world.status(city)).sessions.map((s) => s.pid);
      return now[0] !== undefined && now[0] !== before[0] && now;
    });
    expect(after.slice(1)).toEqual(before.slice(1));
  });

  it('NAM-05, NAM-06 a session is known by one name everywhere, also to itself', async () => {
    world = new World();
    const city = world.example('quickstart');
    await world.ok(['--city', city, 'start']);
    await world.ok(['session', 'new', 'worker-1', '--alias', 'second', '--no-attach'], { cwd: city });
    const session = await until('the new session', async () =>
      (await world.status(city)).sessions.find((s) => s.display_name === 'second' && s.condition === 'idle'),
    );
    await world.ok(['nudge', 'second', 'env GC_ALIAS'], { cwd: city });
    await until('its own word for itself', async () =>
      (await world.ok(['session', 'peek', session.id], { cwd: city })).includes('GC_ALIAS=second'),
    );
    await world.ok(['explain', session.session_name], { cwd: city });
    await world.ok(['session', 'close', 'second'], { cwd: city });
    const left = (await world.status(city)).sessions.filter((s) => s.condition !== 'closed');
    expect(left.map((s) => s.display_name).sort()).toEqual(['mayor', 'worker-1', 'worker-2']);
  });
});
