import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../platform/fake-clock.ts';
import { seededIds } from '../platform/ids.ts';
import { FakeProvider } from '../runtime/fake.ts';
import { EMPTY_RUNTIME_CONFIG } from '../runtime/runtime-config.ts';
import { type OpenCityOptions, type OpenedCity, openCity } from './open-city.ts';
import type { MakeProvider, ProviderFacts } from './provider-decision.ts';
import { cityYaml } from './testing/city-harness.ts';

let dir: string;
let made: [string, ProviderFacts][];
let opened: OpenedCity[];
const clock = new FakeClock();
let providers: Map<string, FakeProvider>;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-open-'));
  writeFileSync(join(dir, 'city.yaml'), cityYaml(['a']));
  made = [];
  opened = [];
  providers = new Map();
});
afterEach(async () => {
  for (const city of opened) await city.close();
  rmSync(dir, { recursive: true, force: true });
});

const make: MakeProvider = async (name, facts) => {
  made.push([name, facts]);
  const provider = providers.get(name) ?? new FakeProvider(clock, name);
  providers.set(name, provider);
  return name === 'tmux' ? { provider, tmuxSocket: facts.tmuxSocket ?? 'test' } : { provider };
};

async function open(env: Record<string, string>, over: Partial<OpenCityOptions> = {}): Promise<OpenedCity> {
  const city = await openCity({
    cityDir: dir,
    env: { PATH: '/nowhere', ...env },
    clock,
    ids: seededIds(1),
    role: 'controller',
    program: 'gc',
    makeProvider: make,
    ...over,
  });
  opened.push(city);
  return city;
}

async function startIn(name: string): Promise<void> {
  const signal = new AbortController().signal;
  const start = providers.get(name)?.start('a', EMPTY_RUNTIME_CONFIG, { signal });
  await clock.advance(1);
  await start;
}

describe('which provider a city has', () => {
  it('is GC_SESSION, then the config, then what the machine has', async () => {
    expect((await open({ GC_SESSION: 'fake' })).providerInfo).toMatchObject({
      name: 'fake',
      chosen_by: 'GC_SESSION',
    });
    writeFileSync(join(dir, 'city.yaml'), cityYaml(['a'], 'session: { provider: fail }'));
    expect((await open({})).providerInfo).toMatchObject({ name: 'fail', chosen_by: 'config' });
    writeFileSync(join(dir, 'city.yaml'), cityYaml(['a']));
    expect((await open({})).providerInfo).toMatchObject({ name: 'subprocess', chosen_by: 'default' });
  });

  it('stays what it is while a session lives in it, with its socket and its environment', async () => {
    const first = await open({ GC_SESSION: 'tmux', TOKEN: 'one' });
    expect(first.providerInfo).toMatchObject({ name: 'tmux', tmux_socket: 'test' });
    await startIn('tmux');
    const second = await open({ GC_SESSION: 'fake', TOKEN: 'two' });
    expect(second.providerInfo).toMatchObject({ name: 'tmux', chosen_by: 'record', tmux_socket: 'test' });
    expect(second.env['TOKEN']).toBe('one');
    await providers.get('tmux')?.stop('a');
    const third = await open({ GC_SESSION: 'fake', TOKEN: 'three' });
    expect(third.providerInfo).toMatchObject({ name: 'fake', chosen_by: 'GC_SESSION' });
    expect(third.env['TOKEN']).toBe('three');
  });

  it('is another one as soon as nothing lives in the old one, and that is told', async () => {
    await open({ GC_SESSION: 'tmux' });
    await startIn('tmux');
    const swaps = async (city: OpenedCity) =>
      (await city.db.events.list({ type: 'provider.swapped' })).map(({ message }) => message);
    expect(await swaps(await open({ GC_SESSION: 'exec:./mine' }))).toEqual([]);
    await providers.get('tmux')?.stop('a');
    const swapped = await open({ GC_SESSION: 'exec:./mine' });
    expect(swapped.providerInfo.name).toBe('exec:./mine');
    expect(await swaps(swapped)).toEqual(['tmux → exec:./mine']);
    expect(await swaps(await open({ GC_SESSION: 'exec:./mine' }))).toHaveLength(1);
  });

  it('stays when nobody can tell whether a session lives in it', async () => {
    await open({ GC_SESSION: 'tmux' });
    const provider = providers.get('tmux');
    if (provider) provider.broken = true;
    expect((await open({ GC_SESSION: 'fake' })).providerInfo).toMatchObject({
      name: 'tmux',
      chosen_by: 'record',
    });
  });

  it('that cannot be asked is reached by the way that whoever starts it says', async () => {
    await open({ GC_SESSION: 'tmux', KUBECONFIG: '/gone', TOKEN: 'one' });
    const provider = providers.get('tmux');
    if (provider) provider.broken = true;
    const again = await open({ GC_SESSION: 'fake', KUBECONFIG: '/there', TOKEN: 'two' });
    expect(again.providerInfo.name).toBe('tmux');
    expect(again.env).toMatchObject({ KUBECONFIG: '/there', TOKEN: 'one' });
  });

  it('is the recorded one for every visitor, whatever that visitor’s environment says', async () => {
    await open({ GC_SESSION: 'tmux' });
    const visitor = await open({ GC_SESSION: 'fake' }, { role: 'visitor' });
    expect(visitor.providerInfo).toMatchObject({ name: 'tmux', chosen_by: 'record' });
    expect(made.at(-1)?.[1]).toMatchObject({ role: 'visitor' });
    expect((await open({ GC_SESSION: 'fake' })).providerInfo).toMatchObject({ name: 'fake' });
  });
});

describe('opening a city', () => {
  it('refuses a broken config to a controller, and gives a visitor the last good one', async () => {
    await open({ GC_SESSION: 'fake' });
    writeFileSync(join(dir, 'city.yaml'), 'agents: [');
    await expect(open({}, { role: 'controller' })).rejects.toMatchObject({ code: 'config-invalid' });
    const visitor = await open({}, { role: 'visitor' });
    expect(visitor.configError).toContain('city.yaml');
    expect(visitor.city.agents.map((agent) => agent.name)).toEqual(['a']);
  });

  it('keeps what it writes for its owner alone', async () => {
    await open({ GC_SESSION: 'fake' });
    expect(statSync(join(dir, '.gc')).mode & 0o777).toBe(0o700);
    expect(statSync(join(dir, '.gc', 'city.db')).mode & 0o777).toBe(0o600);
  });
});
