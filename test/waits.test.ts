import { afterEach, expect, it } from 'vitest';
import { installAgent } from '../conformance/provider/agents.ts';
import { until, World } from './support/program.ts';
import { heardBy, recorderLine } from './support/recorder.ts';

let world: World;
afterEach(() => world.dispose());

it('sessions sleep until their beads are closed and are told once, also across kill -9 of the controller', async () => {
  world = new World('subprocess');
  const city = world.city('waiting', {
    'city.yaml': [
      'workspace: { name: waiting }',
      'agents:',
      recorderLine('early'),
      recorderLine('late'),
      'named_sessions:',
      '  - { template: early, mode: always }',
      '  - { template: late, mode: always }',
      '',
    ].join('\n'),
  });
  installAgent({ kind: 'recorder' }, city);
  const gc = (...words: string[]) => world.ok(['--city', city, ...words]);
  await gc('start');
  const ids = new Map((await world.status(city)).sessions.map((each) => [each.display_name, each.id]));

  const refused = await world.gc([
    '--city',
    city,
    'session',
    'wait',
    'early',
    '--on-beads',
    'gc-999',
    '--note',
    'n',
  ]);
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain('bead not found: gc-999; nothing was registered');

  const waits = new Map<string, { readonly bead: string; readonly wait: string }>();
  for (const name of ['early', 'late']) {
    const bead = (await gc('bd', 'create', `work of ${name}`, '--silent')).trim();
    const own = { env: { GC_SESSION_ID: ids.get(name) ?? '' } };
    const words = [
      '--city',
      city,
      'session',
      'wait',
      '--on-beads',
      bead,
      '--note',
      `merge ${name}`,
      '--sleep',
    ];
    const out = await world.ok(words, own);
    const [, wait = ''] = /^Registered wait (\S+) for session/.exec(out) ?? [];
    expect(out).toBe(
      `Registered wait ${wait} for session ${ids.get(name)}.\nSession ${ids.get(name)} draining to sleep.\n`,
    );
    waits.set(name, { bead, wait });
  }
  await until('both to sleep', async () => {
    const { sessions } = await world.status(city);
    return sessions.every(
      (each) =>
        each.condition === 'asleep' && each.detail === `waits on bead ${waits.get(each.display_name)?.bead}`,
    );
  });

  await gc('bd', 'close', waits.get('early')?.bead ?? '');
  await until('the first to be told', () => heardBy(city, 'early').length > 0);

  const { controller } = await world.status(city);
  if (controller.pid) process.kill(controller.pid, 'SIGKILL');
  await gc('bd', 'close', waits.get('late')?.bead ?? '');
  await gc('start');
  await until('the second to be told', () => heardBy(city, 'late').length > 0);
  await until('both waits to be over', async () => {
    const listed = await gc('wait', 'list', '--state', 'all');
    return [...waits.values()].every(({ wait }) => new RegExp(`^${wait} +\\S+ +closed `, 'm').test(listed));
  });
  for (const [name, { wait }] of waits) {
    expect(heardBy(city, name)).toEqual([`Wait satisfied (${wait}): merge ${name}`]);
  }
}, 120_000);
