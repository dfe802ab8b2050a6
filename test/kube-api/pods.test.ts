import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { whyNoPods } from './sandbox.ts';
import { type KubeApi, startKubeApi } from './server.ts';
import { at, call, openWatch, PODS, POLL, podManifest } from './testing.ts';

const reason = whyNoPods();

describe.skipIf(reason !== undefined)(`a pod of the test cluster (${reason ?? 'runs here'})`, () => {
  let api: KubeApi;
  beforeAll(async () => {
    api = await startKubeApi({
      images: { 'agent:1': {}, 'users:1': { ownEtc: true } },
      hostFolders: [import.meta.dirname],
      secrets: { 'claude-credentials': { 'credentials.json': '{"a":1}' } },
      timing: { secondMs: 100 },
    });
  });
  afterAll(() => api.close());
  const create = (manifest: object) => call(api, 'POST', PODS, manifest);
  const state = (name: string, of = 'containerStatuses') => at(api.pod(name), 'status', of, 0, 'state');

  it('runs the command on a terminal, in its own root, with the environment of the manifest alone', async () => {
    const script = `env >env; pwd >pwd; tty >tty; ls ${dirname(import.meta.dirname)} >beside; echo x 2>/dev/null >/usr/x || echo read-only >usr; hostname >name; ls ${import.meta.dirname} >shown; ${process.execPath} -p 6*7 >node; exec sleep 100`;
    await create(
      podManifest('plain', script, { container: { env: [{ name: 'A', value: 'b=$(HOSTNAME)' }] } }),
    );
    await api.untilPhase('plain', 'Running');
    const file = (name: string) => api.podFolder('plain', `/workspace/${name}`);
    await expect
      .poll(() => existsSync(file('node')) && readFileSync(file('node'), 'utf8'), POLL)
      .toBe('42\n');
    const text = (name: string) => readFileSync(file(name), 'utf8');
    expect(text('pwd')).toBe('/workspace\n');
    expect(text('tty')).toMatch(/^\/dev\/pts\//);
    expect(text('usr')).toBe('read-only\n');
    expect(text('name')).toBe('plain\n');
    expect(text('shown')).toContain('pods.test.ts');
    expect(text('beside')).toBe(`${basename(import.meta.dirname)}\n`);
    const names = text('env')
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0])
      .sort();
    expect(names).toEqual(['A', 'HOME', 'HOSTNAME', 'PATH', 'PWD', 'TERM']);
    expect(text('env')).toContain('A=b=plain\n');
    expect(at(state('plain'), 'running', 'startedAt')).toMatch(/Z$/);
    await expect.poll(() => api.processes('plain').map((one) => one.command[0]), POLL).toEqual(['sleep']);
  });

  it('lets the init container and the main one share volumes, and starts the main one after it', async () => {
    const stage = {
      name: 'stage',
      image: 'agent:1',
      command: [
        '/bin/sh',
        '-c',
        'while [ ! -e /workspace/.ready ]; do sleep 0.02; done; cp /workspace/.ready /city-stage/copy',
      ],
      volumeMounts: [
        { name: 'ws', mountPath: '/workspace' },
        { name: 'city', mountPath: '/city-stage' },
      ],
    };
    const mounts = [
      { name: 'ws', mountPath: '/workspace' },
      { name: 'city', mountPath: '/somewhere/my city' },
      { name: 'claude', mountPath: '/tmp/claude-secret', readOnly: true },
      { name: 'absent', mountPath: '/absent' },
    ];
    const volumes = [
      { name: 'ws', emptyDir: {} },
      { name: 'city', emptyDir: {} },
      { name: 'claude', secret: { secretName: 'claude-credentials', optional: true } },
      { name: 'absent', secret: { secretName: 'git', optional: true } },
    ];
    const script = 'cat "/somewhere/my city/copy" /tmp/claude-secret/*; ls /absent; exit 0';
    await create(
      podManifest('staged', script, {
        spec: { initContainers: [stage], volumes },
        container: { volumeMounts: mounts, tty: false },
      }),
    );
    await api.until(
      'staged',
      (pod) => 'running' in Object(at(pod, 'status', 'initContainerStatuses', 0, 'state')),
    );
    expect(at(state('staged'), 'waiting', 'reason')).toBe('PodInitializing');
    expect(at(api.pod('staged'), 'status', 'phase')).toBe('Pending');
    writeFileSync(api.podFolder('staged', '/workspace/.ready', 'stage'), 'staged!');
    await api.untilPhase('staged', 'Succeeded');
    expect(api.output('staged')).toBe('staged!{"a":1}');
    expect(at(state('staged', 'initContainerStatuses'), 'terminated', 'reason')).toBe('Completed');
    expect(at(state('staged'), 'terminated')).toMatchObject({ exitCode: 0, reason: 'Completed' });
  });

  it('tells how a container ended: its code, its last lines, memory, a program that is not there', async () => {
    const container = { terminationMessagePolicy: 'FallbackToLogsOnError' };
    await create(podManifest('broken', 'echo no config; exit 7', { container }));
    await create(podManifest('said', 'echo because >/dev/termination-log; exit 1'));
    await create(podManifest('hungry', 'exec sleep 100'));
    await create(podManifest('absent-program', '', { container: { command: ['no-such-program'] } }));
    await api.untilPhase('hungry', 'Running');
    api.oomKill('hungry');
    for (const name of ['broken', 'said', 'hungry', 'absent-program']) await api.untilPhase(name, 'Failed');
    expect(at(state('broken'), 'terminated')).toMatchObject({
      exitCode: 7,
      reason: 'Error',
      message: 'no config\r\n',
    });
    expect(at(state('said'), 'terminated')).toMatchObject({ exitCode: 1, message: 'because\n' });
    expect(at(state('hungry'), 'terminated')).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
    expect(at(state('absent-program'), 'terminated')).toMatchObject({ exitCode: 128, reason: 'StartError' });
    expect(api.output('hungry')).toBe('');
  });

  it('waits for an image that cannot be pulled and for a secret that is not there', async () => {
    await create(podManifest('imageless', 'exit 0', { container: { image: 'nowhere/agent:9' } }));
    const env = [{ name: 'T', valueFrom: { secretKeyRef: { name: 'git-credentials', key: 'token' } } }];
    await create(podManifest('secretless', 'exit 0', { container: { env } }));
    const waiting = (name: string) => (pod: unknown) =>
      at(pod, 'status', 'containerStatuses', 0, 'state', 'waiting', 'reason') === name;
    await api.until('imageless', waiting('ErrImagePull'));
    await api.until('imageless', waiting('ImagePullBackOff'));
    await api.until('secretless', waiting('CreateContainerConfigError'));
    expect(at(state('secretless'), 'waiting', 'message')).toBe('secret "git-credentials" not found');
    expect(at(api.pod('imageless'), 'status', 'phase')).toBe('Pending');
    api.deletePodByHand('imageless', 30);
    await api.until('imageless', (pod) => pod === undefined);
  });

  it('keeps a pod without a node pending, with the reason', async () => {
    const release = api.stuckPending((pod) => pod.metadata.name === 'big');
    await create(podManifest('big', 'exec sleep 100'));
    await api.until('big', (pod) => at(pod, 'status', 'conditions', 0, 'reason') === 'Unschedulable');
    expect(at(api.pod('big'), 'spec', 'nodeName')).toBeUndefined();
    release();
    await api.untilPhase('big', 'Running');
  });

  it('gives a deleted pod its grace period, and takes every process of it down', async () => {
    await create(
      podManifest('stubborn', 'trap "" TERM; (setsid sleep 100 &) ; touch up; while :; do sleep 0.05; done'),
    );
    await create(
      podManifest('polite', 'trap "echo bye; exit 0" TERM; touch up; while :; do sleep 0.05; done'),
    );
    const up = (name: string) => existsSync(api.podFolder(name, '/workspace/up'));
    for (const name of ['stubborn', 'polite']) {
      await api.untilPhase(name, 'Running');
      await expect.poll(() => up(name), POLL).toBe(true);
    }
    const helpers = api.processes('stubborn').map((one) => one.pid);
    expect(helpers.length).toBeGreaterThan(1);
    const watch = await openWatch(api, `${PODS}?watch=1&resourceVersion=0`);
    const deleted = await call(api, 'DELETE', `${PODS}/stubborn`, { gracePeriodSeconds: 5 });
    expect(at(deleted.body, 'metadata', 'deletionGracePeriodSeconds')).toBe(5);
    expect(at(deleted.body, 'metadata', 'deletionTimestamp')).toMatch(/Z$/);
    await call(api, 'DELETE', `${PODS}/polite`, { gracePeriodSeconds: 300 });
    const ends: unknown[] = [];
    while (ends.length < 2) {
      const { object } = await watch.until((event) => event.type === 'DELETED');
      const code = at(object, 'status', 'containerStatuses', 0, 'state', 'terminated', 'exitCode');
      ends.push([at(object, 'metadata', 'name'), code]);
    }
    watch.close();
    expect(ends).toEqual(
      expect.arrayContaining([
        ['stubborn', 137],
        ['polite', 0],
      ]),
    );
    expect(api.output('polite')).toContain('bye');
    expect(api.processes('stubborn')).toEqual([]);
    expect(helpers.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'runs a container as another user, and lets an image of its own add one',
    async () => {
      const securityContext = { runAsUser: 1234, runAsGroup: 1235 };
      await create(
        podManifest('other', 'id -u; id -g; touch mine', { container: { tty: false, securityContext } }),
      );
      const add = 'useradd --create-home agent && su agent -c "id -un; cd; pwd; touch mine"';
      await create(podManifest('user', add, { container: { image: 'users:1', tty: false } }));
      await api.untilPhase('other', 'Succeeded');
      expect(api.output('other')).toBe('1234\n1235\n');
      await api.untilPhase('user', 'Succeeded');
      expect(api.output('user')).toBe('agent\n/home/agent\n');
      expect(existsSync(api.podFolder('user', '/home/agent/mine'))).toBe(true);
      expect(readFileSync(api.podFolder('user', '/etc/passwd'), 'utf8')).toContain('agent:');
      expect(readFileSync('/etc/passwd', 'utf8')).not.toContain('/home/agent:');
    },
  );

  it('can put a pod out', async () => {
    await create(podManifest('unlucky', 'exec sleep 100'));
    await api.untilPhase('unlucky', 'Running');
    await api.evict('unlucky');
    expect(at(api.pod('unlucky'), 'status')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
    expect(at(state('unlucky'), 'terminated', 'exitCode')).toBe(137);
  });

  it('starts and ends 24 pods within seconds and leaves no process and no folder', async () => {
    const own = await startKubeApi();
    const names = Array.from({ length: 24 }, (_, index) => `many-${index}`);
    await Promise.all(names.map((name) => call(own, 'POST', PODS, podManifest(name, 'exec sleep 100'))));
    await Promise.all(names.map((name) => own.untilPhase(name, 'Running')));
    const pids = names.flatMap((name) => own.processes(name).map((one) => one.pid));
    expect(pids.length).toBe(24);
    const folder = own.podFolder('many-0', '/workspace');
    await own.close();
    expect(pids.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
    expect(existsSync(folder)).toBe(false);
  });

  it('loses a node: its pods stay, unknown, and only a forced delete removes them', async () => {
    const own = await startKubeApi();
    try {
      await call(own, 'POST', PODS, podManifest('lost', 'exec sleep 100'));
      await own.untilPhase('lost', 'Running');
      own.vanishNode();
      expect(at(own.pod('lost'), 'status')).toMatchObject({ phase: 'Unknown', reason: 'NodeLost' });
      expect(at(own.pod('lost'), 'metadata', 'deletionTimestamp')).toBeDefined();
      await expect.poll(() => own.processes('lost'), POLL).toEqual([]);
      await call(own, 'DELETE', `${PODS}/lost`, { gracePeriodSeconds: 5 });
      expect(own.pod('lost')).toBeDefined();
      await call(own, 'DELETE', `${PODS}/lost`, { gracePeriodSeconds: 0 });
      expect(own.pod('lost')).toBeUndefined();
      own.restoreNode();
      await call(own, 'POST', PODS, podManifest('lost', 'exec sleep 100'));
      await own.untilPhase('lost', 'Running');
    } finally {
      await own.close();
    }
  });

  it('writes a kubeconfig that only its owner may read', () => {
    const file = api.writeKubeconfig(join(api.podFolder('plain', '/workspace'), 'kubeconfig'), {
      context: 'c',
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, 'utf8'))['current-context']).toBe('c');
  });
});
