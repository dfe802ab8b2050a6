import { join } from 'node:path';
import { socketPlace } from '../../controller/control-socket-client.ts';
import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Log } from '../../platform/log.ts';
import { addressText, type NetworkAddress, parseTcpAddress } from '../../platform/network-address.ts';
import type { Environment } from '../../platform/paths.ts';
import type { CityService } from './city-service.ts';
import { assertMayListen, assertRegistryAddress, type BoundListener, bindListener } from './listener.ts';

/** How a city's sessions are served. */
export interface CitySessionsPlan {
  readonly project: string;
  /** `host:port`, besides the socket. */
  readonly grpc?: string;
  readonly registry?: string;
  /** What callers of `grpc` must show. */
  readonly token?: string;
}

export interface CityDoorOptions {
  /** Absolute path of the city's folder, symlinks resolved. */
  readonly root: string;
  readonly env: Environment;
  readonly plan: CitySessionsPlan;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** One line for whoever watches. */
  readonly print: (line: string) => void;
}

export interface CityDoor {
  /** Where the service can be reached; what could not be listened on is missing. */
  readonly addresses: readonly NetworkAddress[];
  close(): Promise<void>;
}

type Way = 'local' | 'remote' | 'registry';

const WHAT: Readonly<Record<Way, string>> = {
  local: 'Sessions',
  remote: 'Sessions',
  registry: 'Harness registry',
};

/**
 * Listens for callers of the city's Sessions service: on an owner-only socket in `.gc`, and where the config says. The
 * service itself is loaded, and the logs are opened, when the first of them comes: a city whose sessions nobody asks for
 * pays for the sockets only. An address that cannot be had is told and left out: it stops no agent.
 */
export async function openCityDoor(options: CityDoorOptions): Promise<CityDoor> {
  const { root, env, ids, plan } = options;
  const house = new House(options);
  const { path, alias } = socketPlace(root, 'sessions.sock', env);
  const bound: BoundListener[] = [];
  const open = async (way: Way, bind: () => Promise<BoundListener>): Promise<void> => {
    try {
      const listener = await bind();
      bound.push(listener);
      if (way !== 'local') options.print(`${WHAT[way]} on ${addressText(listener.address)}`);
      listener.serve((socket) => void house.admit(way, socket));
    } catch (error) {
      options.print(`${WHAT[way]} not served: ${messageOf(error)}`);
    }
  };
  await open('local', () => bindListener({ kind: 'unix', path }, ids, alias));
  const grpc = parseTcpAddress(plan.grpc ?? '');
  if (grpc) {
    await open('remote', async () => {
      assertMayListen(grpc, plan.token);
      return bindListener(grpc, ids);
    });
  }
  const registry = parseTcpAddress(plan.registry ?? '');
  if (registry) {
    await open('registry', async () => {
      assertRegistryAddress(registry, grpc ?? { kind: 'unix', path });
      return bindListener(registry, ids);
    });
  }
  return {
    addresses: bound.map(({ address }) => address),
    async close() {
      for (const listener of bound) listener.close();
      await house.close();
    },
  };
}

/** What is behind the door, once somebody has come. */
class House {
  readonly #options: CityDoorOptions;
  #service: Promise<CityService> | undefined;
  #closed = false;

  constructor(options: CityDoorOptions) {
    this.#options = options;
  }

  async admit(way: Way, socket: Parameters<CityService['local']['accept']>[0]): Promise<void> {
    // Until the service has it, nobody else hears that the connection broke.
    const broke = () => socket.destroy();
    socket.on('error', broke);
    try {
      if (this.#closed) throw new Error('the city is stopping');
      this.#service ??= this.#load();
      const service = await this.#service;
      socket.off('error', broke);
      service[way].accept(socket);
    } catch (error) {
      this.#service = undefined;
      this.#options.log.error('the sessions cannot be served', { error: messageOf(error) });
      socket.destroy();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    const service = await this.#service?.catch(() => undefined);
    await service?.close();
  }

  async #load(): Promise<CityService> {
    const { root, plan, clock, ids, log } = this.#options;
    const { openCityService } = await import('./city-service.ts');
    return openCityService({
      file: join(root, '.gc', 'sessions.db'),
      cwd: root,
      project: plan.project,
      ...(plan.token === undefined ? {} : { token: plan.token }),
      clock,
      ids,
      log,
    });
  }
}
