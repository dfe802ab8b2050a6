import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Node } from './node.ts';
import type { PodRunner } from './pod-runner.ts';
import { type Pod, timestamp } from './shapes.ts';

export interface PodProcess {
  readonly pid: number;
  readonly container: string;
  readonly command: readonly string[];
  readonly residentBytes: number;
  readonly cpuMs: number;
}

const PAGE_BYTES = 4_096;
/** `USER_HZ` is 100 on every Linux that Node runs on. */
const TICK_MS = 10;

/** Every living process of a pod: those in the process namespaces of its containers. */
export function processesOf(runner: PodRunner): PodProcess[] {
  const spaces = new Map<string, string>();
  for (const container of runner.running) {
    const space = container.pid === undefined ? undefined : spaceOf(String(container.pid));
    if (space !== undefined) spaces.set(space, container.spec.name);
  }
  if (spaces.size === 0) return [];
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    const container = spaces.get(spaceOf(pid) ?? '');
    return container === undefined ? [] : (readProcess(pid, container) ?? []);
  });
}

function spaceOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined; // gone meanwhile
  }
}

function readProcess(pid: string, container: string): PodProcess | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const [user, system, resident] = [fields[11], fields[12], fields[21]].map(Number);
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
    const residentBytes = (resident ?? 0) * PAGE_BYTES;
    return {
      pid: Number(pid),
      container,
      command,
      residentBytes,
      cpuMs: ((user ?? 0) + (system ?? 0)) * TICK_MS,
    };
  } catch {
    return undefined; // gone meanwhile
  }
}

/** One measurement of a pod, in the shape of `metrics.k8s.io`. The rate is over the time since the last one. */
export class Metrics {
  readonly #last = new Map<string, { readonly at: number; readonly cpuMs: number }>();

  podMetrics(node: Node, pod: Pod): object | undefined {
    const runner = node.runnerOf(pod);
    if (node.lost || runner.running.length === 0) return undefined;
    const processes = processesOf(runner);
    const at = Date.now();
    const containers = runner.running.map((container) => {
      const { name } = container.spec;
      const own = processes.filter((process) => process.container === name);
      const bytes = own.reduce((sum, process) => sum + process.residentBytes, 0);
      const cpuMs = own.reduce((sum, process) => sum + process.cpuMs, 0);
      const cpu = this.#rate(`${pod.metadata.uid}/${name}`, at, cpuMs, pod.status.startTime);
      return { name, usage: { cpu: `${Math.round(cpu * 1e9)}n`, memory: `${Math.ceil(bytes / 1_024)}Ki` } };
    });
    const { name, namespace, labels = {}, creationTimestamp } = pod.metadata;
    return {
      kind: 'PodMetrics',
      apiVersion: 'metrics.k8s.io/v1beta1',
      metadata: { name, namespace, labels, creationTimestamp },
      timestamp: timestamp(at),
      window: '15s',
      containers,
    };
  }

  /** Cores in use. */
  #rate(key: string, at: number, cpuMs: number, startTime: string | undefined): number {
    const before = this.#last.get(key) ?? {
      at: startTime === undefined ? at : Date.parse(startTime),
      cpuMs: 0,
    };
    this.#last.set(key, { at, cpuMs });
    const passed = at - before.at;
    return passed <= 0 ? 0 : Math.max(0, cpuMs - before.cpuMs) / passed;
  }
}
