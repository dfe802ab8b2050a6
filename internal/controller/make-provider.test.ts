import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { whyNoPods } from '../../test/kube-api/sandbox.ts';
import { startKubeApi } from '../../test/kube-api/server.ts';
import { call, PODS, podManifest } from '../../test/kube-api/testing.ts';
import { loadCity } from '../config/load-city.ts';
import { systemClock } from '../platform/clock.ts';
import { seededIds } from '../platform/ids.ts';
import { canClose, canMeasure, canRoute } from '../runtime/provider.ts';
import type { ProviderName } from '../runtime/registry.ts';
import { acpDir } from './acp-sessions.ts';
import { type CityHolder, clusterCityId } from './cluster-city-id.ts';
import { standardProviders } from './make-provider.ts';
import type { MadeProvider } from './provider-decision.ts';

let dir: string;
let made: MadeProvider[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-make-'));
  made = [];
});
afterEach(async () => {
  for (const { provider } of made) if (canClose(provider)) await provider.close();
  rmSync(dir, { recursive: true, force: true });
});

const AGENT = 'agents: [{ name: a, start_command: cat }]';
const TALKER = [
  'providers: { talker: { command: sh, supports_acp: true } }',
  'agents: [{ name: a, provider: talker, session: acp }]',
].join('\n');

interface Asked {
  readonly yaml?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly tmuxSocket?: string;
  readonly machine?: string;
}

async function make(name: ProviderName, asked: Asked = {}): Promise<MadeProvider> {
  writeFileSync(join(dir, 'city.yaml'), `workspace: { name: town }\n${asked.yaml ?? AGENT}\n`);
  const loaded = await loadCity(dir, { env: {} });
  if (loaded.kind !== 'ok') throw new Error(JSON.stringify(loaded.problems));
  const makeProvider = standardProviders({
    hostCommand: ['/nowhere/host'],
    scriptsDir: join(dir, 'shipped'),
    node: process.execPath,
    version: '1',
    machine: () => asked.machine ?? 'here',
  });
  const provider = await makeProvider(name, {
    city: loaded.city,
    gcDir: join(dir, '.gc'),
    cityId: 'town',
    env: { PATH: '/nowhere', HOME: dir, XDG_RUNTIME_DIR: dir, ...asked.env },
    role: 'visitor',
    tmuxSocket: asked.tmuxSocket,
    clock: systemClock,
    ids: seededIds(1),
  });
  made.push(provider);
  return provider;
}

describe('the provider of a city', () => {
  it.each<[ProviderName, string]>([
    ['subprocess', 'subprocess'],
    ['acp', 'acp'],
    ['k8s', 'k8s'],
    ['hybrid', 'hybrid'],
    ['fake', 'fake'],
  ])('%s is made without asking anybody', async (name, kind) => {
    expect((await make(name)).provider.kind).toBe(kind);
  });

  it('says what it needs to know: the namespace of k8s, the names that are remote', async () => {
    const yaml = `session: { remote_match: far, k8s: { namespace: mine } }\n${AGENT}`;
    expect((await make('k8s', { yaml })).detail).toBe('namespace mine');
    expect((await make('k8s', { yaml, env: { GC_K8S_NAMESPACE: 'other' } })).detail).toBe('namespace other');
    expect((await make('hybrid', { yaml })).detail).toContain('"far"');
    expect((await make('hybrid', { yaml, env: { GC_HYBRID_REMOTE_MATCH: 'away' } })).detail).toContain(
      '"away"',
    );
    const half = make('hybrid', { env: { GC_K8S_DOLT_HOST: 'dolt' } });
    await expect(half).rejects.toThrow('requires both GC_K8S_DOLT_HOST and GC_K8S_DOLT_PORT');
    expect(canMeasure((await make('k8s')).provider)).toBe(true);
  });

  it('hybrid stays at the terminals that its living sessions have', async () => {
    expect((await make('hybrid', { tmuxSocket: 'town' })).tmuxSocket).toBe('town');
    expect((await make('hybrid', { tmuxSocket: '' })).tmuxSocket).toBeUndefined();
    expect((await make('hybrid')).tmuxSocket).toBeUndefined();
  });
});

describe('a script', () => {
  const script = (path: string) => {
    const file = join(dir, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '#!/bin/sh\nexit 2\n');
    chmodSync(file, 0o755);
  };

  it('is found from the folder of the city, or among those that come with the program', async () => {
    script('mine');
    script('shipped/gc-session-x');
    expect((await make('exec:./mine')).detail).toBe(`script ${join(dir, 'mine')}`);
    const shipped = await make('exec:gc-session-x');
    expect(shipped.detail).toBe(`script ${join(dir, 'shipped', 'gc-session-x')}`);
    expect(shipped.provider.kind).toBe('exec:gc-session-x');
    await expect(make('exec:./none')).rejects.toMatchObject({ code: 'script-missing' });
  });
});

describe('agents with session: acp', () => {
  it('get a provider of their own beside the one of the city', async () => {
    const routed = async (name: ProviderName, yaml?: string) =>
      canRoute((await make(name, yaml === undefined ? {} : { yaml })).provider);
    expect(await routed('subprocess', TALKER)).toBe(true);
    expect(await routed('hybrid', TALKER)).toBe(true);
    expect(await routed('fake', TALKER)).toBe(true);
    expect(await routed('acp', TALKER)).toBe(false);
    expect(await routed('subprocess')).toBe(false);
  });

  it('that are not in the config any more can still be seen and ended', async () => {
    const env = { XDG_RUNTIME_DIR: dir };
    mkdirSync(acpDir({ city: { root: dir, agents: [] }, env }), { recursive: true });
    expect(canRoute((await make('subprocess')).provider)).toBe(true);
  });
});

const noPods = whyNoPods();
describe.skipIf(noPods !== undefined)(
  `cities of one path in one namespace${noPods ? ` (${noPods})` : ''}`,
  () => {
    it('see and end the pods of their own machine or lease only', async () => {
      const cluster = await startKubeApi({ timing: { secondMs: 20 } });
      try {
        const KUBECONFIG = cluster.writeKubeconfig(join(dir, 'kubeconfig'));
        const podOf = (name: string, holder: CityHolder) => {
          const city = clusterCityId(dir, holder);
          const metadata = {
            name,
            labels: { app: 'gc-agent', 'gc-city': city, 'gc-session': 'worker' },
            annotations: { 'gc-session-name': 'worker', 'gc-city': city, 'gc-begun': '2026-01-01T00:00:00Z' },
          };
          return call(cluster, 'POST', PODS, podManifest(name, 'exec sleep 60', { metadata }));
        };
        await podOf('first', { kind: 'machine', identity: 'first' });
        await podOf('leased', { kind: 'lease', namespace: 'gc', name: 'l' });
        await Promise.all(['first', 'leased'].map((name) => cluster.untilPhase(name, 'Running')));
        const k8s = async (asked: Asked, name: ProviderName = 'k8s') =>
          (await make(name, { ...asked, env: { KUBECONFIG, ...asked.env } })).provider;
        const leased = { GC_K8S_LEASE: 'l' };

        const second = await k8s({ machine: 'second' });
        expect(await second.listRunning('')).toEqual([]);
        await second.stop('worker', { graceMs: 0 });
        expect(await (await k8s({ machine: 'second' }, 'hybrid')).listRunning('')).toEqual([]);
        expect(await (await k8s({ env: { GC_K8S_LEASE: 'other' } })).listRunning('')).toEqual([]);
        expect(cluster.pods()).toHaveLength(2);

        expect(await (await k8s({ machine: 'first' })).listRunning('')).toEqual(['worker']);
        const holder = await k8s({ machine: 'anywhere', env: leased });
        await holder.stop('worker', { graceMs: 0 });
        expect(cluster.pods().map((pod) => pod.metadata.name)).toEqual(['first']);
      } finally {
        await cluster.close();
      }
    });
  },
);
