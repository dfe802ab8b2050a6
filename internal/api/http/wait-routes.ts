import type { CityApi } from '../../controller/city-api.ts';
import type { WaitRequest } from '../../controller/wait-api.ts';
import { GcError } from '../../platform/errors.ts';
import type { HttpApp } from './app.ts';
import { flagOf, optionalCount, optionalText, textsOf } from './request-fields.ts';
import { WAIT_PATHS } from './wait-paths.ts';

const CREATED = 201;

/** Durable waits. The words are those of Gas City's wait beads, the routes ours. */
export function addWaitRoutes(app: HttpApp, api: CityApi): void {
  const idOf = (params: Readonly<Record<string, string>>): string => params['id'] ?? '';
  app.json('GET', WAIT_PATHS.list, async ({ query }) => {
    const { state, session } = query;
    const items = await api.waits.list({ ...(state ? { state } : {}), ...(session ? { session } : {}) });
    return { json: { items, total: items.length } };
  });
  app.json('POST', '/v0/session/:id/wait', async ({ params, body }) => ({
    status: CREATED,
    json: await api.waits.register(idOf(params), requestOf(body)),
  }));
  app.json('GET', '/v0/wait/:id', async ({ params }) => ({ json: await api.waits.inspect(idOf(params)) }));
  app.json('POST', '/v0/wait/:id/cancel', async ({ params }) => ({
    json: await api.waits.cancel(idOf(params)),
  }));
  app.json('POST', '/v0/wait/:id/ready', async ({ params }) => ({
    json: await api.waits.ready(idOf(params)),
  }));
}

/** What is not there is as if it were empty: the city says what a wait lacks. */
function requestOf(body: unknown): WaitRequest {
  const until = optionalText(body, 'until');
  const forMs = optionalCount(body, 'for_ms');
  const expiresInMs = optionalCount(body, 'expires_in_ms');
  return {
    on_beads: textsOf(body, 'on_beads'),
    on_sessions: textsOf(body, 'on_sessions'),
    mode: modeOf(optionalText(body, 'mode') ?? 'all'),
    note: optionalText(body, 'note') ?? '',
    sleep: flagOf(body, 'sleep'),
    created_by: optionalText(body, 'created_by') ?? '',
    ...(until === undefined ? {} : { until }),
    ...(forMs === undefined ? {} : { for_ms: forMs }),
    ...(expiresInMs === undefined ? {} : { expires_in_ms: expiresInMs }),
  };
}

function modeOf(word: string): WaitRequest['mode'] {
  if (word === 'all' || word === 'any') return word;
  throw new GcError('invalid-request', '"mode" must be all or any');
}
