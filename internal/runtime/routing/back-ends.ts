import { messageOf } from '../../platform/errors.ts';
import { RuntimeUnavailableError } from '../errors.ts';
import type { Provider } from '../provider.ts';

/** One of the two providers that a router delegates to. */
export interface BackEnd {
  /** `''` for the default one, else its kind: what the record of a session calls it. */
  readonly route: string;
  /** For messages: `default`, `acp`, `local`, `remote`. */
  readonly label: string;
  readonly provider: Provider;
}

/** The first one is where a session goes that nothing is known of. */
export type BackEnds = readonly [BackEnd, BackEnd];

/** Some sessions could be listed and others not. Source of the text: Gas City's automatic router. */
export class PartialListError extends RuntimeUnavailableError {
  /** What could be listed. */
  readonly names: readonly string[];

  constructor(failed: BackEnd, other: BackEnd, names: readonly string[], cause: unknown) {
    super(`${failed.label} backend: ${messageOf(cause)} (${other.label} results included)`, cause);
    this.names = names;
  }
}

/** All names, each once. @throws PartialListError; RuntimeUnavailableError when neither could be asked */
export async function listBoth([first, second]: BackEnds, prefix: string): Promise<readonly string[]> {
  const [one, two] = await Promise.allSettled([
    first.provider.listRunning(prefix),
    second.provider.listRunning(prefix),
  ]);
  if (one.status === 'fulfilled' && two.status === 'fulfilled')
    return [...new Set([...one.value, ...two.value])].sort();
  if (one.status === 'fulfilled' && two.status === 'rejected')
    throw new PartialListError(second, first, one.value, two.reason);
  if (one.status === 'rejected' && two.status === 'fulfilled')
    throw new PartialListError(first, second, two.value, one.reason);
  const reasons = [one, two].map((each) => (each.status === 'rejected' ? messageOf(each.reason) : ''));
  throw new RuntimeUnavailableError(
    `${first.label} backend: ${reasons[0]}\n${second.label} backend: ${reasons[1]}`,
  );
}
