import type { City } from '../config/city.ts';
import type { Environment } from '../platform/paths.ts';

/** What the names of a hybrid city's remote sessions contain; `''`: none is remote. Source: Gas City. */
export function remoteMatch(env: Environment, city: Pick<City, 'session'>): string {
  return env['GC_HYBRID_REMOTE_MATCH'] || city.session.remoteMatch;
}
