import type { Clock } from '../../platform/clock.ts';
import type { Provider } from '../provider.ts';
import type { BackEnd } from '../routing/back-ends.ts';
import { RoutedProvider } from '../routing/routed-provider.ts';

export interface HybridProviderOptions {
  readonly local: Provider;
  readonly remote: Provider;
  /** Sessions whose name contains this run remotely; `''`: none does. */
  readonly remoteMatch: string;
  readonly clock: Clock;
}

/**
 * Some sessions on this machine, some elsewhere, by their names. Source: Gas City's hybrid router. A session that is
 * where it would not be started now, after the pattern changed, is still found and ended there.
 */
export class HybridProvider extends RoutedProvider {
  readonly #remoteMatch: string;

  constructor({ local, remote, remoteMatch, clock }: HybridProviderOptions) {
    super({
      kind: 'hybrid',
      clock,
      backEnds: [
        { route: '', label: 'local', provider: local },
        { route: remote.kind, label: remote.kind, provider: remote },
      ],
    });
    this.#remoteMatch = remoteMatch;
  }

  protected override homeOf(name: string): BackEnd {
    const [local, remote] = this.backEnds;
    return this.#remoteMatch !== '' && name.includes(this.#remoteMatch) ? remote : local;
  }
}
