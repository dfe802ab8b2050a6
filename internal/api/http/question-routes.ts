import type { CityApi } from '../../controller/city-api.ts';
import type { AnswerRequest } from '../../controller/question-api.ts';
import { GcError } from '../../platform/errors.ts';
import type { HttpApp } from './app.ts';
import { optionalText, requiredText } from './request-fields.ts';
import { paths } from './wire.ts';

const ACCEPTED = 202;

/** What agents ask, and the answers of people. Source of the routes of one session: Gas City; the others are ours. */
export function addQuestionRoutes(app: HttpApp, api: CityApi): void {
  app.json('GET', paths.questions, async ({ query }) => ({
    json: await api.questions(query['session'] || undefined),
  }));
  app.json('POST', '/v0/pending/:id/respond', async ({ params, body }) => ({
    json: await api.answer(params['id'] ?? '', answerIn(body)),
  }));
  app.json('GET', '/v0/session/:id/pending', async ({ params }) => ({
    json: await pendingOf(api, params['id'] ?? ''),
  }));
  app.json('POST', '/v0/session/:id/respond', async ({ params, body }) => {
    const session = params['id'] ?? '';
    const { id: interaction, ...reply } = await api.answer(session, answerIn(body));
    return { status: ACCEPTED, json: { id: session, status: 'accepted', interaction, ...reply } };
  });
}

const SCOPES = ['once', 'session', 'project', 'city', 'always'] as const;

function answerIn(body: unknown): AnswerRequest {
  const requestId = optionalText(body, 'request_id');
  const text = optionalText(body, 'text');
  const channel = optionalText(body, 'channel');
  const said = optionalText(body, 'scope');
  const scope = SCOPES.find((each) => each === said);
  if (said !== undefined && !scope) {
    throw new GcError('invalid-scope', `"${said}" is no scope`, { next: `one of: ${SCOPES.join(', ')}` });
  }
  return {
    action: requiredText(body, 'action'),
    ...(requestId ? { request_id: requestId } : {}),
    ...(text === undefined ? {} : { text }),
    ...(scope ? { scope } : {}),
    ...(channel ? { channel } : {}),
  };
}

async function pendingOf(api: CityApi, target: string) {
  try {
    const { items, unknown } = await api.questions(target);
    const [item] = items;
    const [failed] = unknown;
    if (!item && failed) throw new GcError('runtime-unavailable', failed.reason);
    if (!item) return { supported: true };
    const { id, request_id, kind, prompt, options, metadata } = item;
    return { supported: true, pending: { request_id, kind, prompt, options, metadata, interaction: id } };
  } catch (error) {
    if (!(error instanceof GcError)) throw error;
    if (error.code === 'interaction-unsupported') return { supported: false };
    // It is down: then it asks nothing.
    if (error.code === 'session-no-pending') return { supported: true };
    throw error;
  }
}
