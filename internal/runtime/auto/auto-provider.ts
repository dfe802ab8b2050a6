import type { Clock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import type { AttachPlan, Provider, RoutingProvider } from '../provider.ts';
import type { BackEnd } from '../routing/back-ends.ts';
import { RoutedProvider } from '../routing/routed-provider.ts';

/** The route of sessions whose agents speak the Agent Client Protocol; the default one is `''`. */
export const ACP_ROUTE = 'acp';

export interface AutoProviderOptions {
  /** The city's own provider. */
  readonly fallback: Provider;
  readonly acp: Provider;
  readonly clock: Clock;
}

/**
 * Sends the sessions of agents with `session: acp` to a second provider, all others to the city's own. Which session is
 * which is told by `routeTo`, from the config before a start and from the records afterwards.
 * Source: Gas City's automatic router; it never forgets a route at a stop, and a stop that found nothing looks on the
 * other side too.
 */
export class AutoProvider extends RoutedProvider implements RoutingProvider {
  readonly #routes = new Map<string, BackEnd>();

  constructor({ fallback, acp, clock }: AutoProviderOptions) {
    super({
      kind: 'auto',
      clock,
      backEnds: [
        { route: '', label: 'default', provider: fallback },
        { route: ACP_ROUTE, label: 'acp', provider: acp },
      ],
    });
  }

  routeTo(name: string, route: string): void {
    const [fallback, acp] = this.backEnds;
    this.#routes.set(name, route === acp.route ? acp : fallback);
  }

  routeOf(name: string): string {
    return this.#routes.get(name)?.route ?? '';
  }

  async findRoute(name: string): Promise<string | undefined> {
    return (await this.runs(name))?.route;
  }

  override async attach(name: string): Promise<AttachPlan> {
    const { route, provider } = await this.holder(name);
    if (route !== ACP_ROUTE) return provider.attach(name);
    throw new GcError('attach-unsupported', `agent "${name}" uses ACP transport (no terminal to attach to)`, {
      next: `gc session peek ${name}, gc nudge ${name} "..."`,
    });
  }

  /** What runs tells its route better than who was told it. */
  protected override livesIn(name: string, backEnd: BackEnd): void {
    this.#routes.set(name, backEnd);
  }

  protected override homeOf(name: string): BackEnd | undefined {
    return this.#routes.get(name);
  }
}
