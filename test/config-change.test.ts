import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { until, World } from './support/program.ts';

let world: World;
afterEach(() => world.dispose());

const cityFile = (command: string, live: string) =>
  [
    'workspace: { name: drift }',
    'daemon: { drift_drain_timeout: 2s }',
    'agents:',
    `  - { name: a, start_command: "${command}", prompt_mode: none, session_live: ["${live}"] }`,
    '  - { name: b, start_command: "sleep 3600", prompt_mode: none }',
    'named_sessions: [{ template: a, mode: always }, { template: b, mode: always }]',
    '',
  ].join('\n');

async function up(): Promise<{
  city: string;
  file: string;
  pid: (name: string) => Promise<number | undefined>;
}> {
  world = new World();
  const city = world.city('drift', { 'city.yaml': cityFile('sleep 3601', 'echo one >> live.txt') });
  await world.ok(['--city', city, 'start']);
  const pid = async (name: string) =>
    (await world.status(city)).sessions.find((s) => s.display_name === name)?.pid;
  return { city, file: join(city, 'city.yaml'), pid };
}

describe('editing the file of a running city', () => {
  it('a changed command restarts that agent only', async () => {
    const { file, pid } = await up();
    const [a, b] = [await pid('a'), await pid('b')];
    writeFileSync(file, cityFile('sleep 3602', 'echo one >> live.txt'));
    await until('a new life of a', async () => {
      const now = await pid('a');
      return now !== undefined && now !== a;
    });
    expect(await pid('b')).toBe(b);
  });

  it('a changed session_live is applied again without a restart', async () => {
    const { city, file, pid } = await up();
    const a = await pid('a');
    writeFileSync(file, cityFile('sleep 3601', 'echo two >> live.txt'));
    await until('the live command', () => readFileSync(join(city, 'live.txt'), 'utf8').includes('two'));
    expect(await pid('a')).toBe(a);
    expect(readFileSync(join(city, 'live.txt'), 'utf8')).toBe('one\ntwo\n');
  });

  it('a touched file changes nothing', async () => {
    const { city, file, pid } = await up();
    const before = await world.ok(['--city', city, 'events', '--seq']);
    const a = await pid('a');
    utimesSync(file, new Date(), new Date());
    // The reload that this asks for runs after the one that the watcher would have begun.
    await world.ok(['--city', city, 'supervisor', 'reload']);
    expect(await pid('a')).toBe(a);
    expect(await world.ok(['--city', city, 'events', '--seq'])).toBe(before);
  });

  it('CFG-14 a broken edit keeps the last good config and shows the error', async () => {
    const { city, file, pid } = await up();
    const good = await world.status(city);
    const a = await pid('a');
    writeFileSync(file, cityFile('sleep 3602', 'x').replace('workspace', 'workspce'));
    const broken = await until('the error', async () => {
      const now = await world.status(city);
      return now.config.error !== undefined && now;
    });
    expect(broken.config.error).toContain('workspce');
    expect(broken.config.revision).toBe(good.config.revision);
    expect(await pid('a')).toBe(a);
    writeFileSync(file, cityFile('sleep 3601', 'echo one >> live.txt'));
    await until('the error is gone', async () => (await world.status(city)).config.error === undefined);
    expect(await pid('a')).toBe(a);
  });
});
