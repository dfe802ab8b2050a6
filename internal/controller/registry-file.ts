import { ensurePrivateDir } from '../platform/atomic-file.ts';
import type { Clock } from '../platform/clock.ts';
import { GcError, messageOf } from '../platform/errors.ts';
import type { Ids } from '../platform/ids.ts';
import { editUnderLock } from './locked-file.ts';
import {
  type RegisteredCity,
  type RegisterOutcome,
  type Registry,
  readRegistry,
  register,
  registryFile,
  renderRegistry,
  resolveCityPath,
  unregister,
} from './registry.ts';

export interface RegistryPlace {
  /** The folder of `cities.toml`. */
  readonly home: string;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Adds or renames a city in the registry. @throws GcError `registry-name-invalid`, `registry-name-taken`, `registry-busy`, `registry-invalid`, `registry-unwritable` */
export async function registerCity(place: RegistryPlace, city: RegisteredCity): Promise<RegisterOutcome> {
  const resolved = { path: resolveCityPath(city.path), name: city.name };
  return editRegistry(place, (registry) => {
    const { registry: next, outcome } = register(registry, resolved);
    return { next, answer: outcome };
  });
}

/** Takes a city out of the registry and answers what stood there; its folder need not exist any more. */
export async function unregisterCity(
  place: RegistryPlace,
  path: string,
): Promise<RegisteredCity | undefined> {
  const resolved = resolveCityPath(path);
  return editRegistry(place, (registry) => {
    const { registry: next, removed } = unregister(registry, resolved);
    return { next, answer: removed };
  });
}

/** Changes the file under its lock; the same registry again means that nothing changed. */
export async function editRegistry<T>(
  place: RegistryPlace,
  edit: (registry: Registry) => { next: Registry; answer: T },
): Promise<T> {
  const file = registryFile(place.home);
  try {
    ensurePrivateDir(place.home);
    const { clock, ids } = place;
    return await editUnderLock({ file, clock, ids, busyCode: 'registry-busy' }, () => {
      const { registry } = readRegistry(place.home);
      const { next, answer } = edit(registry);
      return { text: next === registry ? undefined : renderRegistry(next), answer };
    });
  } catch (error) {
    throw asRegistryError(error, file);
  }
}

function asRegistryError(error: unknown, file: string): unknown {
  if (error instanceof GcError) return error;
  return new GcError('registry-unwritable', `cannot change ${file}: ${messageOf(error)}`, {
    cause: error,
    next: 'check the permissions of that folder and the space on its disk',
  });
}
