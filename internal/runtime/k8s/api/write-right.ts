import { RuntimeUnavailableError } from '../../errors.ts';
import type { WriteRight } from '../k8s-options.ts';
import type { KubeApi } from './kube-api.ts';

/** @throws RuntimeUnavailableError when it is not held */
export function assertMayWrite(right: WriteRight | undefined): void {
  if (!right || right.held()) return;
  throw new RuntimeUnavailableError(
    'the right to control the city is in doubt: nothing is written to the cluster',
  );
}

/** Reads as before; changes nothing, and runs nothing in a pod, without the right to. */
export function withWriteRight(api: KubeApi, right: WriteRight): KubeApi {
  return {
    listPods: (...args) => api.listPods(...args),
    watchPods: (...args) => api.watchPods(...args),
    getPod: (...args) => api.getPod(...args),
    podLog: (...args) => api.podLog(...args),
    podMetrics: (...args) => api.podMetrics(...args),
    close: () => api.close(),
    createPod: async (...args) => {
      assertMayWrite(right);
      return await api.createPod(...args);
    },
    annotatePod: async (...args) => {
      assertMayWrite(right);
      return await api.annotatePod(...args);
    },
    deletePod: async (...args) => {
      assertMayWrite(right);
      await api.deletePod(...args);
    },
    exec: async (request) => {
      assertMayWrite(right);
      return await api.exec(request);
    },
  };
}
