import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { whyNoPods } from '../../../test/kube-api/sandbox.ts';
import type { K8sProvider } from './k8s-provider.ts';
import { resolveK8sSettings } from './k8s-settings.ts';
import { K8sWorld, startOptions } from './testing/k8s-world.ts';

const reason = whyNoPods();

describe.skipIf(reason !== undefined)(`what a cluster refuses (${reason ?? 'run here'})`, () => {
  let world: K8sWorld;
  beforeAll(async () => {
    world = await K8sWorld.open();
  });
  afterAll(() => world.close());

  const failedStart = async (provider: K8sProvider) => {
    const name = world.name();
    const error: unknown = await provider.start(name, world.config(), startOptions()).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    await expect.poll(() => world.cluster.pod(name)).toBeUndefined();
    return error;
  };

  it('no kubeconfig: says where it was looked for and what to set', async () => {
    const provider = world.provider({ target: { kubeconfig: '', context: '', service: '' } });
    expect(await failedStart(provider)).toMatchObject({
      message: expect.stringMatching(/no kubeconfig: .*KUBECONFIG.*set KUBECONFIG/s),
    });
    expect(await provider.isRunning('any')).toBe('unknown');
  });

  it('a context that is not there: names those that are', async () => {
    const target = { kubeconfig: world.kubeconfig, context: 'prod', service: '' };
    expect(await failedStart(world.provider({ target }))).toMatchObject({
      message: expect.stringContaining('has no context "prod"; it has test'),
    });
  });

  it('a token that has expired: says so, and is not tried again and again', async () => {
    const kubeconfig = world.cluster.writeKubeconfig(join(world.scratch, 'expired'), { token: 'old' });
    const provider = world.provider({ target: { kubeconfig, context: '', service: '' } });
    const before = world.cluster.requests.count({});
    expect(await failedStart(provider)).toMatchObject({
      message: expect.stringContaining('does not accept our credentials'),
    });
    expect(world.cluster.requests.count({}) - before).toBeLessThan(8);
  });

  it('nobody at the address: could not be told, never "not running"', async () => {
    const kubeconfig = world.cluster.writeKubeconfig(join(world.scratch, 'nobody'), {
      server: 'http://127.0.0.1:1',
    });
    for (const role of ['controller', 'visitor'] as const) {
      const provider = world.provider({ target: { kubeconfig, context: '', service: '' }, role });
      expect(await provider.isRunning('any')).toBe('unknown');
      expect(await provider.observe()).toMatchObject({ kind: 'unknown' });
      await expect(provider.listRunning('')).rejects.toThrow('cannot be reached');
    }
  });

  it('a namespace that does not exist: tells how it is made', async () => {
    const settings = resolveK8sSettings({ GC_K8S_IMAGE: 'agent:1', GC_K8S_NAMESPACE: 'nowhere' });
    const error = await failedStart(world.provider({ settings }));
    const { message, next } = error as { message: string; next?: string };
    // A real cluster lists nothing in it, and tells with the first creation.
    expect(`${message} ${next}`).toMatch(/there is no namespace nowhere.*kubectl create namespace nowhere/s);
  });

  it('a full quota is no matter of permissions', async () => {
    world.cluster.access.limitPods(0);
    expect(await failedStart(world.provider())).toMatchObject({
      code: 'k8s-quota',
      next: 'kubectl -n gc describe quota',
    });
    world.cluster.access.limitPods(undefined);
  });

  it.each([
    ['create', 'pods', 'kubectl -n gc auth can-i create pods'],
    ['patch', 'pods', 'kubectl -n gc auth can-i patch pods'],
    ['get', 'pods/exec', 'allow the verbs get and create on pods/exec'],
    ['get', 'pods/attach', 'allow the verbs get and create on pods/attach'],
  ])(
    'without the right to %s %s a start says which right is missing, and leaves nothing',
    async (verb, resource, next) => {
      const provider = world.provider();
      await provider.observe();
      const allow = world.cluster.access.forbid(verb, resource);
      try {
        expect(await failedStart(provider)).toMatchObject({
          code: 'k8s-forbidden',
          next: expect.stringContaining(next),
        });
      } finally {
        allow();
      }
    },
  );

  it('without the right to list nothing can be told', async () => {
    const allow = world.cluster.access.forbid('list', 'pods');
    const provider = world.provider();
    expect(await provider.observe()).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('auth can-i list pods'),
    });
    allow();
  });

  it('without the right to delete a stop fails, and says so', async () => {
    const provider = world.provider();
    const name = world.name();
    await provider.start(name, world.config(), startOptions());
    const allow = world.cluster.access.forbid('delete', 'pods');
    await expect(provider.stop(name)).rejects.toMatchObject({ code: 'k8s-forbidden' });
    expect(await provider.isRunning(name)).toBe('yes');
    allow();
    await provider.stop(name, { graceMs: 50 });
    expect(await provider.isRunning(name)).toBe('no');
  });

  it('a node that is gone: its sessions end with that reason, and their names stay taken until the pods go', async () => {
    const provider = world.provider();
    const name = world.name();
    await provider.start(name, world.config(), startOptions());
    world.cluster.vanishNode();
    await expect
      .poll(async () => {
        const survey = await provider.observe();
        return survey.kind === 'seen' ? survey.sessions.get(name)?.liveness : undefined;
      })
      .toMatchObject({ kind: 'exited', exit: { reason: expect.stringContaining('NodeLost') } });
    const impatient = world.provider({ timings: { goneMs: 200 } });
    await expect(impatient.stop(name, { graceMs: 50 })).rejects.toMatchObject({
      code: 'kill-incomplete',
      next: expect.stringContaining('--force'),
    });
    world.cluster.restoreNode();
  });
});
