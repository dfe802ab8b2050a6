import type { City } from '../config/city.ts';
import { GcError, messageOf } from '../platform/errors.ts';
import { canCheckImage, type Provider } from '../runtime/provider.ts';

const IMAGE_VARIABLE = 'GC_DOCKER_IMAGE';

/**
 * Every image that the agents of a city name, once, before anything is started: one that is missing would fail each of
 * their starts. Source: Gas City's image pre-check. @throws GcError `image-pre-check`
 */
export async function checkImages(provider: Provider, city: Pick<City, 'agents'>): Promise<void> {
  if (!canCheckImage(provider)) return;
  const named = city.agents.map((agent) => agent.env[IMAGE_VARIABLE] ?? '').filter((image) => image !== '');
  for (const image of new Set(named)) {
    try {
      await provider.checkImage(image);
    } catch (error) {
      const next = error instanceof GcError ? error.next : undefined;
      throw new GcError('image-pre-check', `image pre-check: ${messageOf(error)}`, {
        cause: error,
        next: next ?? `get the image ${image}, or name another one in ${IMAGE_VARIABLE} of its agent`,
      });
    }
  }
}
