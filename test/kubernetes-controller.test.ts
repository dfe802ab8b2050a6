import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../internal/platform/clock.ts';
import { seededIds } from '../internal/platform/ids.ts';
import { openLease } from '../internal/runtime/k8s/lease/open-lease.ts';
import { type KubeApi, startKubeApi } from './kube-api/server.ts';
import { at, call } from './kube-api/testing.ts';
import { PROJECT_ROOT, until, World } from './support/program.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/gc/leases';
const CITY = `workspace: { name: leased }
session: { provider: fake }
agents: [{ name: mayor, start_command: "true" }]
named_sessions: [{ template: mayor, mode: always }]
`;

let api: KubeApi;
let world: World;
let kubeconfig: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  api = await startKubeApi();
  world = new World();
  kubeconfig = api.writeKubeconfig(join(world.root, 'kubeconfig'));
});
afterAll(async () => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
  await world.dispose();
  await api.close();
});

/** As another controller would write it. */
async function setHolder(name: string, holderIdentity: string, leaseTransitions: number): Promise<void> {
  const { body } = await call(api, 'GET', `${LEASES}/${name}`);
  const spec = {
    holderIdentity,
    leaseTransitions,
    leaseDurationSeconds: 60,
    renewTime: '2026-01-01T00:00:00.000000Z',
  };
  const metadata = { name, resourceVersion: at(body, 'metadata', 'resourceVersion') };
  const known = metadata.resourceVersion !== undefined;
  const written = await call(api, known ? 'PUT' : 'POST', known ? `${LEASES}/${name}` : LEASES, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata,
    spec,
  });
  // The holder may have renewed it in between.
  if (written.status === 409) return setHolder(name, holderIdentity, leaseTransitions);
}

const holderOf = async (name: string) =>
  at((await call(api, 'GET', `${LEASES}/${name}`)).body, 'spec', 'holderIdentity');

/** A city under the lease of its name. */
function controller(name: string) {
  const city = world.city(name, { 'city.yaml': CITY });
  const child = spawn(
    process.execPath,
    [join(PROJECT_ROOT, 'dist', 'main.js'), 'start', '--foreground', city],
    {
      env: {
        ...world.env,
        GC_HOME: join(world.root, `${name}-home`),
        KUBECONFIG: kubeconfig,
        GC_K8S_LEASE: name,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  children.push(child);
  const running = { child, said: '', ended: once(child, 'exit').then(([code]) => code as number | null) };
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text: Buffer) => {
      running.said += text;
    });
  }
  return running;
}

describe.concurrent('a controller with a lease', () => {
  it('waits for it, controls while it holds it, and ends with its own code when another has it', async () => {
    await setHolder('contended', 'another', 3);
    const running = controller('contended');
    await until('it waits', () => running.said.includes('Waiting: lease gc/contended is held by another'));
    expect(running.said).not.toContain('City started.');
    await setHolder('contended', '', 3);
    await until('the city has started', () => running.said.includes('City started.'));
    expect(running.said).toContain('Lease contended is held (term 4).');
    await setHolder('contended', 'thief', 5);
    expect(await running.ended).toBe(4);
    expect(running.said).toContain(
      'lease gc/contended is held by thief now: this controller ends; the sessions keep running',
    );
    expect(await holderOf('contended')).toBe('thief');
  });

  it('gives it back when it is asked to end', async () => {
    const running = controller('returned');
    await until('the city has started', () => running.said.includes('City started.'));
    expect(await holderOf('returned')).toContain('_');
    running.child.kill('SIGTERM');
    expect([await running.ended, await holderOf('returned')]).toEqual([0, '']);
  });
});

describe('a city for a cluster', () => {
  it('is made by gc init --template k8s, and is valid', async () => {
    const city = join(world.root, 'cities', 'made');
    expect(await world.ok(['init', city, '--template', 'k8s'])).toContain('default provider "claude"');
    const shown = await world.ok(['--city', city, 'config', 'show', '--validate']);
    expect(shown).toContain('Config valid.');
    expect(readFileSync(join(city, 'city.yaml'), 'utf8')).toContain('provider: k8s');
  });
});

describe('a lease in a cluster', () => {
  const open = (hostName: string, waits: string[] = [], env: Readonly<Record<string, string>> = {}) =>
    openLease({
      env: { KUBECONFIG: kubeconfig, GC_K8S_LEASE: 'shared', ...env },
      hostName,
      clock: systemClock,
      ids: seededIds(hostName),
      signal: AbortSignal.timeout(10_000),
      onWait: (why) => waits.push(why),
    });

  it('goes from one to the next, with a higher number', async () => {
    const first = await open('a');
    const waits: string[] = [];
    const next = open('b', waits);
    await until('it waits', () => waits.length > 0);
    api.faults.add({ verb: 'update', resource: 'leases' }, { kind: 'status', code: 409 }, 1);
    api.faults.add({ verb: 'update', resource: 'leases' }, { kind: 'drop', after: true }, 1);
    await first.release();
    const second = await next;
    expect([waits[0], first.held(), second.held()]).toEqual([
      expect.stringMatching(/^lease gc\/shared is held by a_/),
      false,
      true,
    ]);
    expect(second.fence).toBeGreaterThan(first.fence);
    await second.release();
  });

  it('says what is missing where it may not be had', async () => {
    const giveBack = api.access.forbid('get', 'leases');
    await expect(open('a')).rejects.toMatchObject({ code: 'k8s-forbidden' });
    giveBack();
    await expect(open('a', [], { GC_K8S_LEASE: 'Not a name' })).rejects.toMatchObject({
      code: 'k8s-settings',
      message: expect.stringContaining('GC_K8S_LEASE'),
    });
  });
});
