import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { City } from '../config/city.ts';
import type { Clock } from '../platform/clock.ts';
import { cityRuntimeDir, type Environment } from '../platform/paths.ts';
import type { MadeProvider } from './provider-decision.ts';

interface Place {
  readonly city: Pick<City, 'root' | 'agents'>;
  readonly env: Environment;
}

/** The runtime folder of the host of a city's ACP sessions. */
export function acpDir({ city, env }: Place): string {
  return join(cityRuntimeDir(env, city.root), 'acp');
}

/**
 * Some agent is spoken to in the Agent Client Protocol, or was: sessions of an agent that is not in the config any more
 * are to be seen and ended too. Source of the first: Gas City.
 */
export function needsRouter(place: Place): boolean {
  return place.city.agents.some((agent) => agent.session === 'acp') || existsSync(acpDir(place));
}

/** The city's own provider, with a second one beside it for ACP sessions. */
export async function withAcp(own: MadeProvider, acp: MadeProvider, clock: Clock): Promise<MadeProvider> {
  const { AutoProvider } = await import('../runtime/auto/auto-provider.ts');
  return {
    ...own,
    provider: new AutoProvider({ fallback: own.provider, acp: acp.provider, clock }),
    tidy: () => Promise.all([own.tidy?.(), acp.tidy?.()]),
  };
}
