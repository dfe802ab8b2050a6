import { HttpCityApi } from '../../../internal/api/http/city-client.ts';
import { askedFrom, type Place } from '../../../internal/controller/acting.ts';
import type { CityApi } from '../../../internal/controller/city-api.ts';
import { apiSocketPath } from '../../../internal/controller/control-socket-client.ts';
import { readRegisteredCities } from '../../../internal/controller/registry.ts';
import { commandActor } from '../../../internal/events/event-types.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { gcHome } from '../../../internal/platform/paths.ts';
import type { Context } from '../context.ts';
import { findCity } from './find-city.ts';

/** A controller that holds its lock is given this long to open its socket. */
const CONTROLLER_ANSWER_TIMEOUT_MS = 5_000;
const CONTROLLER_ANSWER_POLL_MS = 100;

export interface CityHandle {
  readonly root: string;
  readonly api: CityApi;
  /** A controller answered; otherwise the stores are used directly. */
  readonly live: boolean;
}

/** The folder of the city that this command works on; what could surprise is said on stderr. @throws NoCityError */
export async function cityRoot(context: Context, path?: string): Promise<string> {
  const found = await findCity({
    env: context.env,
    cwd: context.cwd,
    home: context.env['HOME'],
    option: context.cityOption,
    path,
    registered: async () => readRegisteredCities(gcHome(context.env)),
  });
  if (found.note) context.err.write(`gc: ${found.note}\n`);
  return found.root;
}

/** `withCityAt` on the city of the command line. */
export async function withCity<T>(
  context: Context,
  work: (city: CityHandle) => Promise<T>,
  path?: string,
): Promise<T> {
  return withCityAt(context, await cityRoot(context, path), work);
}

/**
 * Runs `work` against the controller of the city, or against its stores when no controller lives. `work` starts with a
 * call of the api: it is begun anew, on the stores, when that first call finds nobody.
 */
export async function withCityAt<T>(
  context: Context,
  root: string,
  work: (city: CityHandle) => Promise<T>,
): Promise<T> {
  const deadline = context.clock.monotonic() + CONTROLLER_ANSWER_TIMEOUT_MS;
  for (;;) {
    try {
      const { clock, env } = context;
      const api = new HttpCityApi(apiSocketPath(root, env), clock, commandActor(env), placeOf(context));
      return await work({ root, api, live: true });
    } catch (error) {
      if (!isUnreachable(error)) throw error;
      const { controllerPid, openLocalCity } = await import('./local-access.ts');
      const pid = controllerPid(root);
      if (pid === undefined) {
        const local = await openLocalCity(root, context);
        try {
          return await askedFrom(placeOf(context), () => work({ root, api: local.api, live: false }));
        } finally {
          await local.close();
        }
      }
      if (context.clock.monotonic() > deadline) throw notAnswering(pid, error);
    }
    await context.clock.sleep(CONTROLLER_ANSWER_POLL_MS, context.signal);
  }
}

/** Where names are typed: those of the rig that it is in are the nearest. */
function placeOf({ cwd, env }: Context): Place {
  return { dir: cwd, rig: env['GC_RIG'] ?? '' };
}

export const isUnreachable = (error: unknown): boolean =>
  error instanceof GcError && error.code === 'controller-unreachable';

function notAnswering(pid: number, cause: unknown): GcError {
  return new GcError('controller-silent', `the controller (pid ${pid}) holds the city but does not answer`, {
    cause,
    next: `look at it (ps ${pid}), then gc stop or kill ${pid}; its sessions live on`,
  });
}
