import { join } from 'node:path';
import { installAgent } from '../../conformance/provider/agents.ts';
import { HttpCityApi } from '../../internal/api/http/city-client.ts';
import type { CityStatus, SessionView } from '../../internal/controller/city-api.ts';
import { apiSocketPath } from '../../internal/controller/control-socket-client.ts';
import { systemClock } from '../../internal/platform/clock.ts';
import { type KubeApi, type KubeApiOptions, startKubeApi } from '../kube-api/server.ts';
import { type RunOptions, type StatusJson, until, World } from './program.ts';

/** The seconds of the cluster, so that a deleted pod is gone soon. */
const SECOND_MS = 20;

/** A world for the built program with clusters beside it. */
export class K8sWorld {
  readonly world = new World();
  readonly #clusters: KubeApi[] = [];

  async cluster(options: KubeApiOptions = {}): Promise<KubeApi> {
    const timing = { secondMs: SECOND_MS, ...options.timing };
    const api = await startKubeApi({ ...options, timing });
    this.#clusters.push(api);
    return api;
  }

  /** A city whose sessions are pods of that cluster. */
  city(
    api: KubeApi,
    name: string,
    lines: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): K8sCity {
    const head = [
      `workspace: { name: ${name} }`,
      'session: { provider: k8s, k8s: { image: "agent:1", cpu_request: 1m, mem_request: 1Mi } }',
    ];
    const root = this.world.city(name, { 'city.yaml': [...head, ...lines, ''].join('\n') });
    const kubeconfig = api.writeKubeconfig(join(this.world.root, `kubeconfig-${name}`));
    return new K8sCity(this.world, api, root, { KUBECONFIG: kubeconfig, ...env });
  }

  async dispose(): Promise<void> {
    await this.world.dispose();
    for (const api of this.#clusters) await api.close();
  }
}

export class K8sCity {
  readonly world: World;
  readonly api: KubeApi;
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;

  constructor(world: World, api: KubeApi, root: string, env: Readonly<Record<string, string>>) {
    this.world = world;
    this.api = api;
    this.root = root;
    this.env = env;
  }

  gc(args: readonly string[], options: RunOptions = {}) {
    return this.world.gc(['--city', this.root, ...args], { env: this.env, ...options });
  }

  ok(args: readonly string[], options: RunOptions = {}): Promise<string> {
    return this.world.ok(['--city', this.root, ...args], { env: this.env, ...options });
  }

  status(): Promise<StatusJson> {
    return this.world.status(this.root);
  }

  /** As `gc status --json` has it, without a process for it. */
  look(): Promise<CityStatus> {
    return new HttpCityApi(apiSocketPath(this.root, this.world.env), systemClock).status();
  }

  /** The first answer about a session that is so. */
  untilSession(
    name: string,
    what: string,
    holds: (session: SessionView) => boolean,
    limitMs?: number,
  ): Promise<SessionView> {
    const ask = async () =>
      (await this.look()).sessions.find((each) => each.display_name === name && holds(each));
    return until(`${name}: ${what}`, ask, limitMs);
  }

  /** The program of `RECORDER`, in the work dir. */
  install(): void {
    installAgent({ kind: 'recorder' }, this.root);
  }

  /** Names of the sessions that are up. */
  async up(): Promise<readonly string[]> {
    const { sessions } = await this.look();
    const up = sessions.filter(({ condition }) => ['idle', 'running', 'working'].includes(condition));
    return up.map((session) => session.session_name);
  }

  /** Of the city's living pods, by session name. */
  uids(): Readonly<Record<string, string>> {
    const living = this.api.pods().filter((pod) => pod.metadata.deletionTimestamp === undefined);
    return Object.fromEntries(
      living.map((pod) => [pod.metadata.annotations?.['gc-session-name'] ?? '', pod.metadata.uid]),
    );
  }
}

/** A quiet agent that is ready at once. */
export const QUIET = `printf 'READY> '; exec sleep 300`;

export const agentLine = (name: string, script = QUIET, more = ''): string =>
  `  - { name: ${name}, start_command: ${JSON.stringify(script)}, prompt_mode: none, ready_prompt_prefix: "READY> "${more} }`;

export const always = (...names: string[]): readonly string[] => [
  'named_sessions:',
  ...names.map((name) => `  - { template: ${name}, mode: always }`),
];

/** An agent that writes every message down, see `K8sCity.install`. */
export const RECORDER = `node recorder.mjs 0 0 ''`;
