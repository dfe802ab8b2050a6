import type { Clock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Log } from '../../platform/log.ts';
import { ECHO_MODEL } from '../../session/turn/builtin/echo-harness.ts';
import { echoModel } from '../../session/turn/builtin/echo-model.ts';
import type { ModelProvider } from '../../session/turn/harness.ts';
import { connectHarness } from './connect-harness.ts';
import type { RpcEndpoint } from './endpoint.ts';
import { openService } from './open-service.ts';
import { registryRoutes } from './routes.ts';
import { endpoint, sessionsEndpoint } from './serve-sessions.ts';

/** A city that stops does not wait longer than this for its callers. Milliseconds. */
const STOP_MS = 2_000;

export interface CityServiceOptions {
  readonly file: string;
  /** What relative socket paths of harnesses count from. */
  readonly cwd: string;
  readonly project: string;
  readonly token?: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** The city's sessions for its three kinds of callers. */
export interface CityService {
  /** Through the owner-only socket: the file's mode is what lets them in. */
  readonly local: RpcEndpoint;
  /** Over the network, with the token where there is one. */
  readonly remote: RpcEndpoint;
  readonly registry: RpcEndpoint;
  close(): Promise<void>;
}

export async function openCityService(options: CityServiceOptions): Promise<CityService> {
  const { token, clock, ids, cwd } = options;
  const service = await openService({
    ...options,
    harnesses: new Map(),
    model: ownModelsOnly,
    remote: { connect: (address) => connectHarness(address, { clock, cwd }) },
  });
  const serving = { clock, ids, log: options.log, limits: { stopMs: STOP_MS } };
  const secured = token === undefined ? serving : { ...serving, token };
  const local = sessionsEndpoint(service.sessions, serving);
  const remote = sessionsEndpoint(service.sessions, secured);
  const registry = endpoint(serving, registryRoutes(service.registry));
  return {
    local,
    remote,
    registry,
    async close() {
      await registry.close();
      await Promise.all([local.close(), remote.close()]);
      await service.close();
    },
  };
}

/** A city keeps no key of a model: a harness that wants one asks its own. */
const ownModelsOnly: ModelProvider = {
  streams: false,
  complete: (call, options) => {
    if (call.model === '' || call.model === ECHO_MODEL) return echoModel.complete(call, options);
    throw new GcError('no-model', `this city calls no models, ${call.model} neither`, {
      next: 'use a harness that brings its own model, or gc serve --model',
    });
  },
};
