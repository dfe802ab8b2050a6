import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KubeApi, type KubeApiOptions, startKubeApi } from '../../../../test/kube-api/server.ts';
import { systemClock } from '../../../platform/clock.ts';
import { systemIds } from '../../../platform/ids.ts';
import { runShell } from '../../run-shell.ts';
import { EMPTY_RUNTIME_CONFIG, type RuntimeConfig } from '../../runtime-config.ts';
import { localSessionLock } from '../../terminal/session-lock.ts';
import { openKubeApi } from '../api/http-kube-api.ts';
import type { Pod } from '../api/pod.ts';
import { createPod } from '../create-pod.ts';
import type { K8sBackendOptions } from '../k8s-options.ts';
import { K8sProvider } from '../k8s-provider.ts';
import { resolveK8sSettings } from '../k8s-settings.ts';
import { pathMapOf } from '../path-map.ts';
import { bundledHost } from './bundled-host.ts';

/** A test cluster, and providers on it as a controller and as single commands have them. */
export class K8sWorld {
  readonly cluster: KubeApi;
  readonly scratch: string;
  readonly kubeconfig: string;
  readonly #opened: K8sProvider[] = [];
  readonly #host: Awaited<ReturnType<typeof bundledHost>>;
  #names = 0;

  static async open(options: KubeApiOptions = {}): Promise<K8sWorld> {
    const timing = { secondMs: 50, ...options.timing };
    const [cluster, host] = await Promise.all([startKubeApi({ ...options, timing }), bundledHost()]);
    return new K8sWorld(cluster, host);
  }

  private constructor(cluster: KubeApi, host: Awaited<ReturnType<typeof bundledHost>>) {
    this.cluster = cluster;
    this.#host = host;
    this.scratch = mkdtempSync(join(tmpdir(), 'gc-k8s-'));
    this.kubeconfig = cluster.writeKubeconfig(join(this.scratch, 'kubeconfig'));
  }

  provider(change: Partial<K8sBackendOptions> = {}): K8sProvider {
    const provider = new K8sProvider(
      {
        clock: systemClock,
        ids: systemIds,
        launcherDir: join(this.scratch, 'launch'),
        hostEnv: {},
        runShell,
        lock: localSessionLock(),
        timings: { readyTimeoutMs: 10_000, settleMs: 50 },
      },
      {
        settings: resolveK8sSettings({
          GC_K8S_IMAGE: 'agent:1',
          GC_K8S_CPU_REQUEST: '1m',
          GC_K8S_MEM_REQUEST: '1Mi',
        }),
        target: { kubeconfig: this.kubeconfig, context: '', service: '' },
        cityId: 'city-of-the-test',
        host: {
          dir: join(this.scratch, 'host'),
          command: this.#host.command,
          env: { PATH: process.env['PATH'] ?? '', HOME: this.scratch },
        },
        clock: systemClock,
        ids: systemIds,
        ...change,
      },
    );
    this.#opened.push(provider);
    return provider;
  }

  /** The pod of a session of that city, made and left to itself. */
  async createIn(cityId: string, session: string): Promise<Pod> {
    const settings = resolveK8sSettings({ GC_K8S_IMAGE: 'agent:1' });
    const api = openKubeApi({ kubeconfig: this.kubeconfig, context: '', service: '' }, 'gc', systemClock);
    const config = this.config();
    try {
      return await createPod({
        api,
        clock: systemClock,
        plan: {
          session,
          cityId,
          settings,
          config,
          map: pathMapOf(config),
          commandLine: 'true',
          staged: false,
        },
        goneMs: 1_000,
        signal: new AbortController().signal,
      });
    } finally {
      api.close();
    }
  }

  name(): string {
    this.#names += 1;
    return `s${this.#names}`;
  }

  /** An agent that shows `READY> ` after `script`, and stays. */
  config(script = '', over: Partial<RuntimeConfig> = {}): RuntimeConfig {
    return {
      ...EMPTY_RUNTIME_CONFIG,
      command: `${script}printf 'READY> '; exec sleep 300`,
      readyPromptPrefix: 'READY> ',
      ...over,
    };
  }

  /** Processes that hold the streams of this world. */
  hostPids(): readonly number[] {
    const ours = `--dir\0${join(this.scratch, 'host')}\0`;
    return readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid))
      .filter((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(ours);
        } catch {
          return false; // ended meanwhile
        }
      })
      .map(Number);
  }

  folder(name: string): string {
    const path = join(this.scratch, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  async close(): Promise<void> {
    const [first] = this.#opened;
    this.cluster.faults.clear();
    for (const pod of this.cluster.pods()) this.cluster.deletePodByHand(pod.metadata.name);
    for (const name of (await first?.listRunning('').catch(() => [])) ?? [])
      await first?.stop(name).catch(() => undefined);
    await first?.release().catch(() => undefined); // it may not have been started
    for (const provider of this.#opened) await provider.close();
    // A test that failed may have left streams, and a host with them.
    for (const pid of this.hostPids()) process.kill(pid, 'SIGKILL');
    await this.cluster.close();
    this.#host.remove();
    rmSync(this.scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

export const startOptions = (timeoutMs = 15_000) => ({ signal: AbortSignal.timeout(timeoutMs) });
