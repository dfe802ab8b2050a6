import type { CityApi, LifeRequest } from '../../controller/city-api.ts';
import { GcError } from '../../platform/errors.ts';
import type { HttpApp } from './app.ts';
import { optionalText, requiredText } from './request-fields.ts';

/** How sessions are asked to end, and what agents say about their own lives. */
export function addLifecycleRoutes(app: HttpApp, api: CityApi): void {
  const at = (action: string): string => `/v0/session/:id/${action}`;
  const idOf = (params: Readonly<Record<string, string>>): string => params['id'] ?? '';
  app.json('POST', at('drain'), async ({ params }) => ({ json: { session: await api.drain(idOf(params)) } }));
  app.json('POST', at('undrain'), async ({ params }) => ({
    json: { session: await api.undrain(idOf(params)) },
  }));
  app.json('GET', at('drain'), async ({ params, query }) => ({
    json: await api.drainState(idOf(params), lifeOf(query)),
  }));
  app.json('POST', at('drain-ack'), async ({ params, body }) => ({
    json: await api.acknowledgeDrain(idOf(params), lifeOf(body)),
  }));
  app.json('POST', at('request-restart'), async ({ params, body }) => ({
    json: { session: await api.requestRestart(idOf(params), lifeOf(body)) },
  }));
  app.json('POST', at('handoff'), async ({ params, body }) => ({
    json: await api.handoff(idOf(params), {
      ...lifeOf(body),
      from: requiredText(body, 'from'),
      subject: requiredText(body, 'subject'),
      body: optionalText(body, 'body') ?? '',
      by: byOf(requiredText(body, 'by')),
    }),
  }));
}

function lifeOf(fields: unknown): LifeRequest {
  const token = optionalText(fields, 'instance_token');
  return token ? { instance_token: token } : {};
}

function byOf(text: string): 'session' | 'other' {
  if (text === 'session' || text === 'other') return text;
  throw new GcError('invalid-request', '"by" must be "session" or "other"');
}
