import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, type onTestFinished } from 'vitest';
import { readArguments } from '../internal/platform/process-table.ts';
import { rounds } from '../internal/platform/testing/campaign.ts';
import { whyNoPods } from './kube-api/sandbox.ts';
import type { KubeApi } from './kube-api/server.ts';
import { call, PODS, podManifest } from './kube-api/testing.ts';
import { agentLine, always, type K8sCity, K8sWorld, QUIET, RECORDER } from './support/k8s-city.ts';
import { PROJECT_ROOT, until } from './support/program.ts';

const reason = whyNoPods();
const LONG_MS = rounds(600_000, 90_000);

const MAYOR = [
  'daemon: { max_restarts: 1, shutdown_timeout: 200ms }',
  'agents:',
  agentLine('mayor'),
  ...always('mayor'),
];

function openWorld(finished: typeof onTestFinished): K8sWorld {
  const world = new K8sWorld();
  finished(() => world.dispose());
  return world;
}

describe.skipIf(reason !== undefined).concurrent(`a city in a cluster (${reason ?? 'pods run here'})`, () => {
  const WORKERS = rounds(100, 8);
  const FEW = 5;
  const IDLE_MS = rounds(20_000, 1_000);
  /** What the watch itself may cost while nothing happens: it may end and be opened again. */
  const IDLE_REQUESTS = 2;
  /** With other tests beside it, a machine of two cores has more to do than to look. */
  const SEEN_LIMIT_MS = rounds(1_000, 5_000);

  async function idleRequests(api: KubeApi): Promise<number> {
    const before = api.requests.count();
    await sleep(IDLE_MS);
    return api.requests.count() - before;
  }

  it(
    `a pool of ${WORKERS} follows its demand, costs nothing idle, and every end has its reason`,
    async ({ onTestFinished }) => {
      const k8s = openWorld(onTestFinished);
      const api = await k8s.cluster();
      const scale = `min_active_sessions: 0, max_active_sessions: ${WORKERS}, scale_check: "cat demand"`;
      const city = k8s.city(api, 'pool', [
        'daemon: { max_restarts: 1, patrol_interval: 300ms, shutdown_timeout: 200ms }',
        'agents:',
        agentLine('worker', QUIET, `, ${scale}, drain_timeout: 1s`),
      ]);
      const demand = (count: number) => writeFileSync(join(city.root, 'demand'), `${count}\n`);
      const areUp = (count: number) =>
        until(
          `${count} up`,
          async () => (await city.up()).length === count && api.pods().length === count,
          LONG_MS,
        );

      demand(FEW);
      await city.ok(['start', '--no-wait']);
      await areUp(FEW);
      const few = await idleRequests(api);
      demand(WORKERS - 1);
      await areUp(WORKERS - 1);
      const many = await idleRequests(api);
      expect([few, many].every((count) => count <= IDLE_REQUESTS)).toBe(true);

      const release = api.stuckPending(() => true);
      demand(WORKERS);
      const stuck = await until('a pod without a node', () =>
        api.pods().find(({ status }) => status.phase === 'Pending' && status.conditions?.length),
      );
      const name = stuck.metadata.annotations?.['gc-session-name'] ?? '';
      await city.untilSession(
        name,
        'is told why',
        ({ detail = '' }) => /Unschedulable: .*Insufficient memory/.test(detail),
        SEEN_LIMIT_MS,
      );
      expect(await city.ok(['status'])).toMatch(new RegExp(`${name} .*Unschedulable: 0/1 nodes`));
      release();
      await areUp(WORKERS);

      const [evicted = '', killed = '', deleted = ''] = await city.up();
      const podOf = (session: string) =>
        api.pods().find((pod) => pod.metadata.annotations?.['gc-session-name'] === session)?.metadata.name ??
        '';
      const ends: readonly (readonly [string, RegExp, () => unknown])[] = [
        [evicted, /^Evicted: The node was low on resource: memory/, () => api.evict(podOf(evicted))],
        [killed, /^OOMKilled/, () => api.oomKill(podOf(killed))],
        [deleted, /^deleted/, () => api.deletePodByHand(podOf(deleted))],
      ];
      for (const [session, why, end] of ends) {
        void end();
        await city.untilSession(
          session,
          `ended: ${why}`,
          ({ last_exit: exit }) => why.test(exit?.reason ?? ''),
          SEEN_LIMIT_MS,
        );
      }
      const text = await until('all of it in the text', async () => {
        const said = await city.ok(['status']);
        return said.includes('deleted after') ? said : undefined;
      });
      expect(text).toMatch(new RegExp(`${evicted} .*Evicted: The node was low`));
      expect(text).toMatch(new RegExp(`${killed} .*OOMKilled`));
      expect(text).toMatch(new RegExp(`${deleted} .*deleted after`));
      const json = JSON.parse(await city.ok(['status', '--json']));
      expect(json.sessions).toContainEqual(
        expect.objectContaining({
          session_name: killed,
          last_exit: expect.objectContaining({ reason: 'OOMKilled' }),
        }),
      );

      demand(0);
      const alive = () => api.pods().filter(({ status }) => status.phase === 'Running').length;
      await until('nobody is left', () => alive() === 0, LONG_MS);
      await city.ok(['stop']);
      expect(api.pods().map(({ metadata }) => metadata.name)).toEqual([]);
    },
    LONG_MS,
  );

  it(
    'the controller, the host of the streams and the cluster may die: pods go on, nothing is lost or doubled',
    async ({ onTestFinished }) => {
      const k8s = openWorld(onTestFinished);
      const api = await k8s.cluster();
      const city = k8s.city(api, 'tough', ['agents:', agentLine('mayor', RECORDER), ...always('mayor')]);
      city.install();
      await city.ok(['start']);
      const before = city.uids();
      const heard = (): readonly string[] => {
        const file = api.podFolder('mayor', '/workspace/messages.jsonl');
        return existsSync(file)
          ? readFileSync(file, 'utf8')
              .trim()
              .split('\n')
              .map((line) => JSON.parse(line))
          : [];
      };
      const arrived = (text: string) => until(`${text} arrived`, () => heard().includes(text));

      // In the middle of what it types, at another moment each time.
      const moments = rounds(20, 1);
      for (let round = 0; round < moments; round += 1) {
        const text = `round ${round} ${'x'.repeat(3_000)}`;
        await city.ok(['nudge', 'mayor', '-', '--delivery', 'queue'], { input: text });
        await sleep(60 + (round * 400) / moments);
        const { controller } = await city.look();
        process.kill(controller.pid ?? 0, 'SIGKILL');
        await city.ok(['start']);
        await arrived(text);
      }

      const host = await until('a host', () =>
        city.world.processes().find((pid) => readArguments(pid)?.some((word) => word.endsWith('/k8s'))),
      );
      process.kill(host, 'SIGKILL');
      expect(
        await until('the screen', async () =>
          (await city.ok(['session', 'peek', 'mayor'])).match(/ok: \d+/g)?.at(-1),
        ),
      ).toBe('ok: 3008');
      expect(await city.ok(['nudge', 'mayor', 'after the host'])).toContain('Nudged mayor');

      await api.goDown();
      const untold = await city.untilSession(
        'mayor',
        'cannot be told',
        ({ condition }) => condition === 'unknown',
      );
      expect(untold.detail).toMatch(/cannot be reached/);
      expect(await city.ok(['status'])).toMatch(/mayor +unknown .*cannot be reached/);
      await api.comeUp();
      await city.untilSession('mayor', 'is told again', ({ condition }) => condition === 'idle');
      expect(await city.ok(['nudge', 'mayor', 'after the cluster'])).toContain('Nudged mayor');
      await arrived('after the cluster');

      expect(city.uids()).toEqual(before);
      expect(new Set(heard()).size).toBe(heard().length);
      expect(heard()).toHaveLength(moments + 2);
    },
    LONG_MS,
  );

  it(
    'cities with equal session names, and a pod of somebody else, share a namespace',
    async ({ onTestFinished }) => {
      const k8s = openWorld(onTestFinished);
      const api = await k8s.cluster();
      await call(api, 'POST', PODS, podManifest('mayor', 'sleep 300'));
      await call(
        api,
        'POST',
        PODS,
        podManifest('mayor-2', 'sleep 300', {
          metadata: { name: 'mayor-2', labels: { app: 'gc-agent', 'gc-session': 'mayor' } },
        }),
      );
      const theirs = ['mayor', 'mayor-2'].map((name) => api.pod(name)?.metadata.uid);
      const [left, right] = ['left', 'right'].map((name) => k8s.city(api, name, MAYOR));
      if (!left || !right) throw new Error('two cities');
      await Promise.all([left.ok(['start']), right.ok(['start'])]);
      const ours = await Promise.all(
        [left, right].map(async (city) => [(await city.up()).length, api.pods().length]),
      );
      expect(ours).toEqual([
        [1, 4],
        [1, 4],
      ]);
      await left.ok(['stop']);
      expect(await right.up()).toEqual(['mayor']);
      expect(api.pods()).toHaveLength(3);
      await right.ok(['stop']);
      expect(
        api
          .pods()
          .map((pod) => pod.metadata.uid)
          .toSorted(),
      ).toEqual([...theirs].toSorted());
    },
    LONG_MS,
  );

  // It waits for a lease to run out; a shorter test of the lease runs with the others.
  if (rounds(1, 0) > 0)
    it(
      'of two controllers on one lease, the one that was frozen too long touches nothing and ends',
      async ({ onTestFinished }) => {
        const k8s = openWorld(onTestFinished);
        const api = await k8s.cluster();
        const [first, second] = [1, 2].map((number) => new Replica(k8s, api, number, onTestFinished));
        if (!first || !second) throw new Error('two controllers');
        first.start();
        await until(
          'the first has begun its agent',
          () => api.pods()[0]?.metadata.annotations?.['gc-begun'],
          LONG_MS,
        );
        const pods = () =>
          api.pods().map(({ metadata }) => [metadata.uid, metadata.annotations?.['gc-fence']]);
        const before = pods();
        expect(before).toEqual([[expect.any(String), '0']]);
        second.start();
        await until('the second waits', () => second.said.includes('is held by'), LONG_MS);
        first.signal('SIGSTOP');
        await until('the second has it', () => second.said.includes('City started.'), LONG_MS);
        expect(second.said).toContain('(term 1)');
        const written = api.requests.all.length;
        first.signal('SIGCONT');
        expect(await first.ended).toBe(4);
        expect(first.said).toContain('this controller ends; the sessions keep running');
        const wrote = api.requests.all
          .slice(written)
          .filter(
            ({ verb, resource }) =>
              resource.startsWith('pods') && ['create', 'delete', 'patch'].includes(verb),
          );
        expect(wrote).toEqual([]);
        expect(pods()).toEqual(before);
      },
      LONG_MS,
    );

  it(
    'a start that the cluster refuses says why and what to do, leaves nothing, and delays nobody',
    async ({ onTestFinished }) => {
      const k8s = openWorld(onTestFinished);
      const bystander = k8s.city(await k8s.cluster(), 'bystander', MAYOR);
      await bystander.ok(['start']);
      const cities = await Promise.all(
        REFUSALS.map(async ({ name, env, prepare }) => {
          const api = await k8s.cluster();
          prepare?.(api);
          return k8s.city(api, name, MAYOR, env);
        }),
      );
      const ran = await Promise.all(cities.map((city) => city.gc(['start'])));
      const said = ran.map(({ code, stdout, stderr }) => [code, stdout + stderr]);
      expect(said).toEqual(REFUSALS.map(({ says }) => [1, expect.stringMatching(says)]));
      await until('nothing is left', () => cities.every((city) => city.api.pods().length === 0));
      const peeked = await bystander.gc(['session', 'peek', 'mayor']);
      expect([peeked.stdout.trim(), peeked.ms < NOT_DELAYED_MS]).toEqual(['READY>', true]);

      // What may not be ended is said, and left as it is.
      const { api } = bystander;
      const allow = api.access.forbid('delete', 'pods');
      const refused = await bystander.gc(['stop']);
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('could not end: mayor')]);
      expect(api.pods()).toHaveLength(1);
      allow();
      expect(await bystander.ok(['stop'])).toContain('City stopped.');
      expect(api.pods()).toEqual([]);

      await bystander.ok(['start']);
      api.vanishNode();
      await bystander.untilSession(
        'mayor',
        'its node is gone',
        ({ condition, last_exit: exit }) =>
          condition === 'quarantined' && exit?.reason?.startsWith('NodeLost') === true,
      );
      expect(await bystander.ok(['status'])).toMatch(/mayor +quarantined .*NodeLost/);
    },
    LONG_MS,
  );
});

const NOT_DELAYED_MS = 3_000;

interface Refusal {
  readonly name: string;
  readonly says: RegExp;
  readonly env?: Readonly<Record<string, string>>;
  readonly prepare?: (api: KubeApi) => void;
}

const forbidden = (verb: string, resource: string): Refusal => ({
  name: `${verb}-${resource.replace('/', '-')}`,
  says: new RegExp(`cannot ${verb} resource "${resource}".*(auth can-i|allow the verbs)`, 's'),
  prepare: (api) => api.access.forbid(verb, resource),
});

const ALL_REFUSALS: readonly Refusal[] = [
  { name: 'no-kubeconfig', says: /no kubeconfig: .*set KUBECONFIG/s, env: { KUBECONFIG: '/nowhere/config' } },
  {
    name: 'no-namespace',
    says: /there is no namespace nowhere.*kubectl create namespace nowhere/s,
    env: { GC_K8S_NAMESPACE: 'nowhere' },
  },
  forbidden('watch', 'pods'),
  {
    name: 'no-image',
    says: /ErrImagePull.*missing:1.*kubectl describe/s,
    env: { GC_K8S_IMAGE: 'missing:1' },
  },
  {
    name: 'expired-token',
    says: /does not accept our credentials.*log in anew/s,
    prepare: (api) => api.access.acceptTokens(),
  },
  { name: 'full-quota', says: /quota is full.*describe quota/s, prepare: (api) => api.access.limitPods(0) },
  forbidden('list', 'pods'),
  forbidden('create', 'pods'),
  forbidden('patch', 'pods'),
  forbidden('get', 'pods'),
  forbidden('get', 'pods/exec'),
  forbidden('get', 'pods/attach'),
];
/** Each of the others is seen without the program, too (internal/runtime/k8s). */
const REFUSALS = ALL_REFUSALS.slice(0, rounds(ALL_REFUSALS.length, 3));

/** A controller of the same city on a machine of its own: the same path, another disk. */
class Replica {
  said = '';
  ended: Promise<number | null> = Promise.resolve(null);
  readonly #city: K8sCity;
  readonly #command: readonly string[];
  #child: ChildProcess | undefined;

  constructor(k8s: K8sWorld, api: KubeApi, number: number, finished: typeof onTestFinished) {
    const { root } = k8s.world;
    this.#city = k8s.city(api, `disk-${number}`, MAYOR, { GC_K8S_LEASE: 'shared' });
    const at = join(root, 'cities', 'shared');
    mkdirSync(at, { recursive: true });
    // `exec` in both: what is signalled is the controller itself.
    const script = 'mount --bind "$0" "$1" && exec "$2" "$3" start --foreground "$1"';
    const main = join(PROJECT_ROOT, 'dist', 'main.js');
    this.#command = ['--mount', 'sh', '-c', script, this.#city.root, at, process.execPath, main];
    finished(() => {
      this.#child?.kill('SIGCONT');
      this.#child?.kill('SIGKILL');
    });
  }

  start(): void {
    const { env, world, root } = this.#city;
    const own = { GC_HOME: `${root}-home`, XDG_RUNTIME_DIR: `${root}-run` };
    mkdirSync(own.XDG_RUNTIME_DIR, { mode: 0o700 });
    const child = spawn('unshare', this.#command, {
      env: { ...world.env, ...env, ...own },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.ended = once(child, 'exit').then(([code]) => code as number | null);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (text: Buffer) => {
        this.said += text;
      });
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }
}
