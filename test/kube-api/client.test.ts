import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import {
  Attach,
  CoreV1Api,
  Exec,
  KubeConfig,
  type V1Pod,
  type V1Status,
  Watch,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { whyNoPods } from './sandbox.ts';
import { type KubeApi, startKubeApi } from './server.ts';
import { POLL, podManifest } from './testing.ts';

const reason = whyNoPods();

class Collected extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }
}

describe.skipIf(reason !== undefined)(`the public client library (${reason ?? 'runs here'})`, () => {
  let api: KubeApi;
  let dir: string;
  const config = new KubeConfig();
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'kubeconfig-'));
    api = await startKubeApi();
    config.loadFromFile(api.writeKubeconfig(join(dir, 'config')));
  });
  afterAll(async () => {
    await api.close();
    rmSync(dir, { recursive: true });
  });

  it('creates, watches, lists, execs in, attaches to, reads and deletes a pod', async () => {
    const core = config.makeApiClient(CoreV1Api);
    const seen: string[] = [];
    const watch = await new Watch(config).watch(
      '/api/v1/namespaces/gc/pods',
      {},
      (type, pod: V1Pod) => seen.push(`${type} ${pod.status?.phase}`),
      () => {},
    );
    const body = podManifest('real', 'echo up; exec cat') as V1Pod;
    const created = await core.createNamespacedPod({ namespace: 'gc', body });
    expect(created.metadata?.creationTimestamp).toBeInstanceOf(Date);
    await expect(core.createNamespacedPod({ namespace: 'gc', body })).rejects.toMatchObject({ code: 409 });
    await api.untilPhase('real', 'Running');
    const listed = await core.listNamespacedPod({ namespace: 'gc', labelSelector: 'app=gc-agent' });
    expect(listed.items.map((pod) => pod.status?.containerStatuses?.[0]?.ready)).toEqual([true]);

    const out = new Collected();
    const status = await new Promise<V1Status>((resolve, reject) => {
      const run = new Exec(config).exec(
        'gc',
        'real',
        'agent',
        ['sh', '-c', 'echo $HOSTNAME; exit 4'],
        out,
        new Collected(),
        null,
        false,
        resolve,
      );
      run.catch(reject);
    });
    expect(out.text).toBe('real\n');
    expect(status.details?.causes).toEqual([{ reason: 'ExitCode', message: '4' }]);

    const [screen, keys] = [new Collected(), new PassThrough()];
    const socket = await new Attach(config).attach('gc', 'real', 'agent', screen, null, keys, true);
    keys.write('typed\r');
    await expect.poll(() => screen.text, POLL).toBe('typed\r\ntyped\r\n');
    socket.close();
    expect(await core.readNamespacedPodLog({ name: 'real', namespace: 'gc', tailLines: 1 })).toBe(
      'typed\r\n',
    );

    await core.deleteNamespacedPod({ name: 'real', namespace: 'gc', gracePeriodSeconds: 1 });
    await api.until('real', (pod) => pod === undefined);
    await expect(core.readNamespacedPod({ name: 'real', namespace: 'gc' })).rejects.toMatchObject({
      code: 404,
    });
    await expect.poll(() => seen.at(-1), POLL).toMatch(/^DELETED/);
    expect(seen[0]).toBe('ADDED Pending');
    expect(seen).toContain('MODIFIED Running');
    watch.abort();
  });
});
