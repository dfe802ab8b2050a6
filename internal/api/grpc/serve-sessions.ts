import type { Clock } from '../../platform/clock.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Log } from '../../platform/log.ts';
import type { NetworkAddress } from '../../platform/network-address.ts';
import type { HarnessRegistryHost, SessionsHost } from '../../session/service/sessions-host.ts';
import { RpcEndpoint } from './endpoint.ts';
import { DEFAULT_LIMITS, type RpcLimits } from './limits.ts';
import { assertMayListen, type BoundListener, bindListener } from './listener.ts';
import { registryRoutes, sessionsRoutes } from './routes.ts';

export interface RpcServing {
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'hex'>;
  readonly log: Log;
  /** What callers must bear as `authorization: Bearer`. */
  readonly token?: string;
  readonly limits?: Partial<RpcLimits>;
}

export interface RpcServer {
  readonly address: NetworkAddress;
  /** Lets nothing new in, lets what is under way end for a bounded time, cuts the rest. */
  close(): Promise<void>;
}

/**
 * Serves Sessions over gRPC, gRPC-Web and Connect (JSON), HTTP/1.1 and HTTP/2, on one address.
 * @throws GcError `token-needed`, `listen-failed` and what else `bindListener` throws
 */
export async function serveSessions(
  options: RpcServing & { readonly host: SessionsHost; readonly listen: NetworkAddress },
): Promise<RpcServer> {
  assertMayListen(options.listen, options.token);
  return sessionsOn(await bindListener(options.listen, options.ids), options.host, options);
}

/** The same on an address that is bound already. */
export function sessionsOn(bound: BoundListener, host: SessionsHost, serving: RpcServing): RpcServer {
  return serveOn(bound, sessionsEndpoint(host, serving));
}

export function registryOn(bound: BoundListener, host: HarnessRegistryHost, serving: RpcServing): RpcServer {
  return serveOn(bound, endpoint(serving, registryRoutes(host)));
}

/** For sockets that somebody else accepts. */
export function sessionsEndpoint(host: SessionsHost, serving: RpcServing): RpcEndpoint {
  return endpoint(serving, sessionsRoutes(host));
}

export function endpoint(
  { limits, ...serving }: RpcServing,
  routes: ReturnType<typeof sessionsRoutes>,
): RpcEndpoint {
  return new RpcEndpoint({ ...serving, routes, limits: { ...DEFAULT_LIMITS, ...limits } });
}

export function serveOn(bound: BoundListener, served: RpcEndpoint): RpcServer {
  bound.serve((socket) => served.accept(socket));
  return {
    address: bound.address,
    async close() {
      bound.close();
      await served.close();
    },
  };
}
