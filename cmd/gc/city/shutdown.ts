import { controllerOf } from '../../../internal/controller/city-lock.ts';
import { reloadSupervisor, supervisorCities } from '../../../internal/controller/supervisor-client.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import type { Context } from '../context.ts';

const RELEASE_POLL_MS = 50;
/** More than the supervisor gives one city to end. */
const RELEASE_TIMEOUT_MS = 320_000;

/**
 * Tells the supervisor that its list has changed and waits until it has let go of the city: its lock is free and it is
 * not listed any more. @throws GcError `city-not-released`, naming the process that holds it
 */
export async function untilReleased(context: Context, root: string): Promise<void> {
  await askIfThere(() => reloadSupervisor(context.env));
  const started = context.clock.monotonic();
  for (;;) {
    const cities = await askIfThere(() => supervisorCities(context.env));
    const listed = cities?.some((city) => city.path === root) ?? false;
    const holder = controllerOf(`${root}/.gc`);
    if (!listed && holder === undefined) return;
    if (context.clock.monotonic() - started > RELEASE_TIMEOUT_MS) {
      throw new GcError(
        'city-not-released',
        `the city has not ended; ${holder ? `pid ${holder.pid} holds it` : 'the supervisor still lists it'}`,
        { next: 'gc supervisor logs' },
      );
    }
    await context.clock.sleep(RELEASE_POLL_MS, context.signal);
  }
}

/** `undefined` also when the supervisor ended while it was asked: it ends with its last city. */
async function askIfThere<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof GcError && error.code === 'no-reply') return undefined;
    throw error;
  }
}
