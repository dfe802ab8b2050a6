import type { SessionUsage } from '../provider.ts';
import type { PodMetricsList } from './api/pod.ts';

const FACTORS: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

/** What pods use, by their name. Source: metrics.k8s.io. */
export function usageOf(metrics: PodMetricsList): ReadonlyMap<string, SessionUsage> {
  return new Map(
    metrics.items.map(({ metadata, containers }) => {
      const sum = (amounts: readonly string[]) => amounts.reduce((all, each) => all + amountOf(each), 0);
      const usage: SessionUsage = {
        memoryBytes: Math.round(sum(containers.map((each) => each.usage.memory))),
        cpuMs: undefined,
        cpuShare: sum(containers.map((each) => each.usage.cpu)),
      };
      return [metadata.name, usage];
    }),
  );
}

/** `250m` is 0.25, `64Mi` 67,108,864; 0 for what is no amount. */
export function amountOf(quantity: string): number {
  const match = /^(\d+(?:\.\d+)?)([a-zA-Z]*)$/.exec(quantity);
  const factor = FACTORS[match?.[2] ?? '?'];
  return match && factor !== undefined ? Number(match[1]) * factor : 0;
}
