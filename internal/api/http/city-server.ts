import type { CityApi } from '../../controller/city-api.ts';
import { publishSocket } from '../../controller/control-socket-file.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Log } from '../../platform/log.ts';
import { createHttpApp } from './app.ts';
import { addCityRoutes } from './city-routes.ts';

export interface CityServerOptions {
  readonly api: CityApi;
  /** Absolute path of the owner-only Unix socket; the caller holds the city's lock. */
  readonly socketPath: string;
  /** The name that leads to it where its own is out of the way. */
  readonly socketAlias?: string;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'hex'>;
  readonly log: Log;
}

export interface CityServer {
  readonly path: string;
  /** Ends streams, answers what is in flight (for a few seconds), removes the socket. */
  close(): Promise<void>;
}

const CLOSE_GRACE_MS = 5_000;

/** Serves one city over HTTP on a Unix socket. @throws GcError `socket-in-use`, `socket-path-taken` */
export async function serveCity(options: CityServerOptions): Promise<CityServer> {
  const closing = new AbortController();
  const app = createHttpApp(options.log);
  addCityRoutes(app, options.api, { clock: options.clock, closing: closing.signal });
  const { socketPath: path, socketAlias: alias } = options;
  const place = { path, ...(alias === undefined ? {} : { alias }) };
  const socket = await publishSocket(place, options.ids, (staged) => app.listen(staged));
  return {
    path: socket.path,
    async close() {
      socket.remove();
      closing.abort();
      const graceOver = new AbortController();
      const cut = options.clock.sleep(CLOSE_GRACE_MS, graceOver.signal).then(
        () => {
          options.log.warn('requests were still in flight when the server closed');
          app.drop();
        },
        () => undefined, // everything was answered in time
      );
      await app.close();
      graceOver.abort();
      await cut;
    },
  };
}
