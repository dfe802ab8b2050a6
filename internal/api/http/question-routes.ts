import type { CityApi } from '../../controller/city-api.ts';
import { GcError } from '../../platform/errors.ts';
import type { HttpApp } from './app.ts';
import { optionalText, requiredText } from './request-fields.ts';
import { paths } from './wire.ts';

const ACCEPTED = 202;

/** What agents ask, and the answers of people. Source of the routes of one session: Gas City; that of all is ours. */
export function addQuestionRoutes(app: HttpApp, api: CityApi): void {
  app.json('GET', paths.questions, async ({ query }) => ({
    json: await api.questions(query['session'] || undefined),
  }));
  app.json('GET', '/v0/session/:id/pending', async ({ params }) => ({
    json: await pendingOf(api, params['id'] ?? ''),
  }));
  app.json('POST', '/v0/session/:id/respond', async ({ params, body }) => {
    const id = params['id'] ?? '';
    const requestId = optionalText(body, 'request_id');
    const text = optionalText(body, 'text');
    const reply = await api.answer(id, {
      action: requiredText(body, 'action'),
      ...(requestId ? { request_id: requestId } : {}),
      ...(text === undefined ? {} : { text }),
    });
    return { status: ACCEPTED, json: { id, status: 'accepted', ...reply } };
  });
}

async function pendingOf(api: CityApi, target: string) {
  try {
    const { items, unknown } = await api.questions(target);
    const [item] = items;
    const [failed] = unknown;
    if (!item && failed) throw new GcError('runtime-unavailable', failed.reason);
    if (!item) return { supported: true };
    const { request_id, kind, prompt, options, metadata } = item;
    return { supported: true, pending: { request_id, kind, prompt, options, metadata } };
  } catch (error) {
    if (!(error instanceof GcError)) throw error;
    if (error.code === 'interaction-unsupported') return { supported: false };
    // It is down: then it asks nothing.
    if (error.code === 'session-no-pending') return { supported: true };
    throw error;
  }
}
