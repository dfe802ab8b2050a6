import type { MeasuringProvider, SessionUsage } from '../provider.ts';
import type { TerminalProviderOptions } from '../terminal/options.ts';
import { TerminalProvider } from '../terminal/terminal-provider.ts';
import { K8sBackend } from './k8s-backend.ts';
import type { K8sBackendOptions } from './k8s-options.ts';

/** Sessions in pods: the one algorithm for terminals over `K8sBackend`, and what only the cluster can measure. */
export class K8sProvider extends TerminalProvider implements MeasuringProvider {
  readonly #backend: K8sBackend;

  constructor(options: Omit<TerminalProviderOptions, 'backend'>, k8s: K8sBackendOptions) {
    const backend = new K8sBackend(k8s);
    super({ ...options, backend });
    this.#backend = backend;
  }

  async usage(): Promise<ReadonlyMap<string, SessionUsage>> {
    return await this.#backend.usage();
  }

  /** Ends the session host of the streams when no stream is left in it. */
  async release(): Promise<void> {
    await this.#backend.release();
  }
}
