import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { whyNoPods } from '../../../test/kube-api/sandbox.ts';
import type { RuntimeEvent } from '../provider.ts';
import type { K8sProvider } from './k8s-provider.ts';
import { resolveK8sSettings } from './k8s-settings.ts';
import { K8sWorld, startOptions } from './testing/k8s-world.ts';

const reason = whyNoPods();
const GONE_LIMIT_MS = 1_000;

describe.skipIf(reason !== undefined)(`sessions in pods (${reason ?? 'run here'})`, () => {
  let world: K8sWorld;
  let provider: K8sProvider;
  const events: RuntimeEvent[] = [];
  const stop = new AbortController();

  beforeAll(async () => {
    world = await K8sWorld.open({ images: ['agent:1', 'slow:1'] });
    provider = world.provider();
    (async () => {
      for await (const event of provider.watch(stop.signal)) events.push(event);
    })();
  });
  afterAll(async () => {
    stop.abort();
    await world.close();
  });

  const exitOf = async (name: string) => {
    const find = () => events.find((event) => event.kind === 'exited' && event.name === name);
    await expect.poll(find, { interval: 10, timeout: 2 * GONE_LIMIT_MS }).toBeDefined();
    return find();
  };
  const started = async (script = '', over = {}) => {
    const name = world.name();
    await provider.start(name, world.config(script, over), startOptions());
    return name;
  };
  const file = (name: string, path: string) => world.cluster.podFolder(name, `/workspace/${path}`);

  it('every end has its reason: the exit code, memory, the node, somebody’s hand', async () => {
    const [coded, memory, evicted, deleted] = await Promise.all([
      started(
        'trap "echo bye; exit 9" USR1; printf "READY> "; while :; do [ -e go ] && { echo bye; exit 9; }; sleep 0.02; done; ',
      ),
      started(),
      started(),
      started(),
    ]);
    writeFileSync(file(coded, 'go'), '');
    world.cluster.oomKill(memory);
    void world.cluster.evict(evicted, 'The node was low on memory.');
    world.cluster.deletePodByHand(deleted);
    expect(await exitOf(coded)).toMatchObject({
      exit: { code: 9 },
      lastLines: expect.stringContaining('bye'),
    });
    expect(await exitOf(memory)).toMatchObject({ exit: { signal: 'SIGKILL', reason: 'OOMKilled' } });
    expect(await exitOf(evicted)).toMatchObject({ exit: { reason: 'Evicted: The node was low on memory.' } });
    expect(await exitOf(deleted)).toMatchObject({ exit: { reason: 'deleted' } });
    const survey = await provider.observe();
    expect(survey.kind === 'seen' && survey.sessions.get(deleted)?.liveness).toMatchObject({
      kind: 'exited',
    });
    await provider.start(deleted, world.config(), startOptions());
    expect(await provider.isRunning(deleted)).toBe('yes');
  });

  it('brings the city, the work dir, overlays and files, and nothing of the city’s state', async () => {
    const city = world.folder('city');
    const workDir = world.folder('city/rigs/front');
    world.folder('city/.gc');
    world.folder('city/rigs/other/.git');
    const overlay = world.folder('overlay/per-provider/claude/.claude');
    world.folder('city/rigs/front/.claude');
    writeFileSync(join(city, 'notes.txt'), 'of the city');
    writeFileSync(join(city, '.gc', 'city.db'), 'secret');
    writeFileSync(join(city, 'rigs/other/big'), 'another project');
    writeFileSync(join(workDir, 'main.ts'), 'x'.repeat(200_000));
    writeFileSync(join(workDir, '.git'), 'gitdir: /nowhere');
    writeFileSync(join(workDir, '.claude/settings.json'), '{"a":1}');
    writeFileSync(join(overlay, 'settings.json'), '{"b":2}');
    symlinkSync('main.ts', join(workDir, 'link.ts'));
    symlinkSync('/etc/passwd', join(workDir, 'away'));
    symlinkSync('missing', join(workDir, 'dangling'));
    const name = await started('cat link.ts >/dev/null && ', {
      workDir,
      env: { GC_CITY: city },
      installAgentHooks: ['claude'],
      overlayDir: join(world.scratch, 'overlay'),
      preStart: [`test -e ${city}/notes.txt && echo ok > ${workDir}/prepared`],
    });
    expect(readFileSync(file(name, 'rigs/front/prepared'), 'utf8')).toBe('ok\n');
    expect(readFileSync(file(name, 'rigs/front/main.ts'), 'utf8')).toHaveLength(200_000);
    expect(JSON.parse(readFileSync(file(name, 'rigs/front/.claude/settings.json'), 'utf8'))).toEqual({
      a: 1,
      b: 2,
    });
    expect(readFileSync(file(name, 'rigs/front/away'), 'utf8')).toBe(readFileSync('/etc/passwd', 'utf8'));
    for (const left of ['.gc/city.db', 'rigs/other/big', 'rigs/front/.git'])
      expect(existsSync(file(name, left))).toBe(false);
    expect(readFileSync(join(workDir, '.claude/settings.json'), 'utf8')).toBe('{"a":1}');
  });

  it('K8S-04 files arrive whole over a protocol that cannot end an input', async () => {
    world.cluster.speak('v4.channel.k8s.io');
    try {
      const source = join(world.folder('k8s04'), 'data');
      writeFileSync(source, 'y'.repeat(300_000));
      const name = await started();
      await provider.copyTo(name, source, 'in/data');
      expect(readFileSync(file(name, 'in/data'), 'utf8')).toHaveLength(300_000);
    } finally {
      world.cluster.speak('v5.channel.k8s.io', 'v4.channel.k8s.io');
    }
  });

  it('K8S-03 a set-up command is over before the next one begins, and its failure is told', async () => {
    const result = await provider.start(
      world.name(),
      world.config('', {
        sessionSetup: [
          'sleep 0.3; echo one >> order',
          'cat order && echo two >> order',
          'echo broken >&2; exit 3',
        ],
      }),
      startOptions(),
    );
    expect(result).toMatchObject({ kind: 'ready', warnings: ['session_setup[2] warning: exit 3: broken'] });
  });

  it('a set-up script of this machine runs in the pod', async () => {
    const script = join(world.folder('scripts'), 'setup.sh');
    writeFileSync(script, 'echo "$GC_SESSION in $(pwd)" > from-script\n');
    const name = await started('', { sessionSetupScript: script });
    expect(readFileSync(file(name, 'from-script'), 'utf8')).toBe(`${name} in /workspace\n`);
  });

  it('K8S-07 an image that is not there ends the start at once, with the message, and leaves nothing', async () => {
    const other = world.provider({ settings: resolveK8sSettings({ GC_K8S_IMAGE: 'missing:1' }) });
    const name = world.name();
    const error = await other.start(name, world.config(), startOptions()).catch((e: unknown) => e);
    expect(error).toMatchObject({
      code: 'pod-not-started',
      message: expect.stringContaining('ErrImagePull'),
    });
    expect(world.cluster.pod(name)).toBeUndefined();
    expect(await other.isRunning(name)).toBe('no');
  });

  it('K8S-06 a pull that outlasts the deadline goes on; the session is initializing, then there', async () => {
    const release = world.cluster.stuckPending((pod) => pod.metadata.name === 'pulls');
    const error = await provider.start('pulls', world.config(), startOptions(400)).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'session-initializing' });
    await expect(provider.start('pulls', world.config(), startOptions())).rejects.toMatchObject({
      code: 'session-initializing',
    });
    const survey = await provider.observe();
    expect(survey.kind === 'seen' && survey.sessions.get('pulls')?.note).toContain('Unschedulable');
    release();
    await provider.continueStart('pulls', world.config(), startOptions());
    expect(await provider.peek('pulls', 3)).toContain('READY>');
  });

  it('K8S-01 a pod that another process prepares is left alone', async () => {
    const release = world.cluster.stuckPending((pod) => pod.metadata.name === 'prepared');
    const starting = provider.start('prepared', world.config(), startOptions());
    await expect.poll(() => world.cluster.pod('prepared')).toBeDefined();
    const uid = world.cluster.pod('prepared')?.metadata.uid;
    const other = world.provider();
    await expect(other.start('prepared', world.config(), startOptions())).rejects.toMatchObject({
      code: 'session-initializing',
    });
    release();
    await starting;
    expect(world.cluster.pod('prepared')?.metadata.uid).toBe(uid);
  });

  it('two cities share a namespace: each sees, starts and stops its own', async () => {
    const name = await started();
    const host = { dir: world.folder('host-2'), command: [], env: {} };
    const theirs = world.provider({ cityId: 'another city', role: 'visitor', host });
    expect(await theirs.listRunning('')).toEqual([]);
    await theirs.setMeta(name, 'k', 'v').catch(() => undefined);
    await theirs.stop(name);
    expect(await provider.isRunning(name)).toBe('yes');
    expect(await provider.getMeta(name, 'k')).toBe('');
    const pod = await world.createIn('another city', name);
    expect(pod.metadata.name).toMatch(new RegExp(`^${name}-[0-9a-f]{8}$`));
    expect(await theirs.listRunning('')).toEqual([name]);
    await theirs.stop(name, { graceMs: 50 });
    expect(await provider.isRunning(name)).toBe('yes');
  });

  it('K8S-08 the status of a hundred agents is one request', async () => {
    const visitor = world.provider({ role: 'visitor' });
    await visitor.observe();
    const before = world.cluster.requests.count({});
    await visitor.observe();
    expect(world.cluster.requests.count({}) - before).toBe(1);
    const inMemory = world.cluster.requests.count({ verb: 'list' });
    for (let round = 0; round < 50; round += 1) await provider.observe();
    expect(world.cluster.requests.count({ verb: 'list' })).toBe(inMemory);
  });

  it('a watch that breaks in the middle loses nothing', async () => {
    const name = await started();
    world.cluster.cutConnections();
    world.cluster.compact();
    world.cluster.deletePodByHand(name);
    expect(await exitOf(name)).toMatchObject({ exit: { reason: 'deleted' } });
  });

  it('a start that fails after the pod was made leaves none, whatever broke', async () => {
    for (const resource of ['pods/exec', 'pods/attach']) {
      const fault = world.cluster.faults.add({ resource }, { kind: 'status', code: 500 });
      const name = world.name();
      await expect(provider.start(name, world.config(), startOptions(3_000))).rejects.toThrow();
      fault.remove();
      await expect.poll(() => world.cluster.pod(name)).toBeUndefined();
      expect(await provider.isRunning(name)).toBe('no');
    }
  });

  it('the death of the session host takes no session with it: streams are opened anew', async () => {
    const name = await started();
    const [host] = world.hostPids();
    expect(host).toBeDefined();
    if (host) process.kill(host, 'SIGKILL');
    await expect.poll(() => world.hostPids()).not.toContain(host);
    expect(await provider.isRunning(name)).toBe('yes');
    await expect.poll(() => provider.peek(name, 3)).toContain('READY>');
    expect(events.filter((event) => event.kind === 'infrastructure-gone')).toEqual([]);
  });

  it('what pods use is told by their session', async () => {
    const name = await started();
    await expect.poll(async () => (await provider.usage()).get(name)?.memoryBytes ?? 0).toBeGreaterThan(0);
  });
});
