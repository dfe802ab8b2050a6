import type { CityApi, SessionView } from '../../controller/city-api.ts';
import type { EventFilter } from '../../events/event.ts';
import type { Clock } from '../../platform/clock.ts';
import { parseDuration } from '../../platform/duration.ts';
import { GcError } from '../../platform/errors.ts';
import type { ApiReply, ApiRequest, HttpApp } from './app.ts';
import { streamEvents } from './event-stream.ts';
import { addLifecycleRoutes } from './lifecycle-routes.ts';
import { addQuestionRoutes } from './question-routes.ts';
import {
  countOr,
  deliveryOf,
  flagOf,
  optionalText,
  queryCount,
  requiredText,
  takenMarks,
} from './request-fields.ts';
import { addRuleRoutes } from './rule-routes.ts';
import { streamText } from './text-stream.ts';
import { addTraceRoutes } from './trace-routes.ts';
import { addUpkeepRoutes, scaleIn } from './upkeep-routes.ts';
import { addWaitRoutes } from './wait-routes.ts';
import { assertNudgeFits, paths } from './wire.ts';

export interface RouteSurroundings {
  readonly clock: Clock;
  /** Aborts when the server closes: streams end with it. */
  readonly closing: AbortSignal;
}

const ACCEPTED = 202;
const DEFAULT_PEEK_LINES = 50;
/** Readers of events at the same time. */
const MAX_STREAMS = 256;

/**
 * The city's routes: paths, bodies and answers are Gas City's where it has the route; `status`, the session object and
 * `explain` carry this product's richer shapes.
 */
export function addCityRoutes(app: HttpApp, api: CityApi, around: RouteSurroundings): void {
  addCityWide(app, api);
  addSessions(app, api);
  addSessionActions(app, api);
  addNudges(app, api);
  addQuestionRoutes(app, api);
  addLifecycleRoutes(app, api);
  addEvents(app, api, around);
  addRuleRoutes(app, api);
  addTraceRoutes(app, api);
  addUpkeepRoutes(app, api);
  addWaitRoutes(app, api);
}

function addCityWide(app: HttpApp, api: CityApi): void {
  app.json('GET', paths.status, async () => ({ json: await api.status() }));
  app.json('GET', paths.resources, async () => ({ json: await api.resources() }));
  app.json('POST', paths.reload, async () => ({ json: await api.reload() }));
  app.json('POST', paths.stop, async () => ({ json: await api.stop() }));
  app.json('POST', '/v0/agent/*', async ({ params, body }) => {
    const match = /^(.+)\/(suspend|resume|scale)$/.exec(params['*'] ?? '');
    if (!match?.[1]) {
      throw new GcError(
        'action-not-found',
        'unknown agent action; runtime operations moved to /v0/session/{id}/*',
      );
    }
    if (match[2] === 'scale') return { json: await api.upkeep.scale(match[1], scaleIn(body)) };
    await api.setAgentSuspended(match[1], match[2] === 'suspend');
    return { json: { status: 'ok' } };
  });
}

function addSessions(app: HttpApp, api: CityApi): void {
  app.json('GET', paths.sessions, async ({ query }) => {
    const { state, template } = query;
    const items = await api.sessions({
      ...(state === undefined ? {} : { state }),
      ...(template === undefined ? {} : { template }),
    });
    return { json: { items, total: items.length } };
  });
  app.json('POST', paths.sessions, async ({ body }) => {
    const kind = optionalText(body, 'kind') ?? 'agent';
    if (kind !== 'agent') {
      throw new GcError('invalid-kind', `a session of kind ${JSON.stringify(kind)} cannot be made`, {
        next: 'use "kind": "agent" and the name of an agent of the city',
      });
    }
    const alias = optionalText(body, 'alias');
    const title = optionalText(body, 'title');
    const view = await api.newSession({
      template: requiredText(body, 'name'),
      ...(alias === undefined ? {} : { alias }),
      ...(title === undefined ? {} : { title }),
      ...(flagOf(body, 'force') ? { force: true } : {}),
    });
    return { status: ACCEPTED, json: view };
  });
  app.json('GET', session(), async ({ params }) => ({ json: await api.session(idOf(params)) }));
  app.json('GET', session('explain'), async ({ params }) => ({ json: await api.explain(idOf(params)) }));
  app.json('GET', session('transcript'), async ({ params, query }) => {
    const entries = await api.logs(idOf(params), { tail: queryCount(query['tail'], 'tail') ?? 0 });
    const turns = entries.map(({ at, type, text }) => ({ role: type, text, timestamp: at }));
    return { json: { id: idOf(params), format: 'conversation', turns } };
  });
  app.raw(session('peek'), async ({ params, query }, response) => {
    const lines = queryCount(query['lines'], 'lines') ?? DEFAULT_PEEK_LINES;
    await streamText(response, await api.peek(idOf(params), lines));
  });
}

function addNudges(app: HttpApp, api: CityApi): void {
  app.json('GET', paths.nudges, async ({ query }) => {
    const items = await api.nudgeQueues(query['session'] || undefined);
    return { json: { items, total: items.length } };
  });
  app.json('POST', session('nudges/take'), async ({ params }) => ({
    json: await api.takeNudges(idOf(params)),
  }));
  app.json('POST', session('nudges/acknowledge'), async ({ params, body }) => {
    await api.acknowledgeNudges(idOf(params), takenMarks(body));
    return { json: { status: 'ok' } };
  });
  app.json('POST', session('nudges/deliver'), async ({ params }) => ({
    json: await api.deliverNudges(idOf(params)),
  }));
}

function addSessionActions(app: HttpApp, api: CityApi): void {
  app.json('POST', session('messages'), async ({ params, body }) => {
    const text = requiredText(body, 'message');
    assertNudgeFits(text);
    const id = optionalText(body, 'id');
    const sender = optionalText(body, 'sender');
    const source = optionalText(body, 'source');
    const delivery = deliveryOf(optionalText(body, 'delivery'));
    const reply = await api.nudge(idOf(params), {
      text,
      wait_idle_ms: countOr(body, 'wait_idle_ms', 0),
      ...(id === undefined ? {} : { id }),
      ...(sender === undefined ? {} : { sender }),
      ...(source === undefined ? {} : { source }),
      ...(delivery === undefined ? {} : { delivery }),
    });
    return { status: ACCEPTED, json: { id: idOf(params), status: 'accepted', ...reply } };
  });
  const actions = {
    stop: (target: string) => api.interrupt(target),
    kill: (target: string) => api.kill(target),
    suspend: (target: string) => api.suspend(target),
    wake: (target: string, body: unknown) => api.wake(target, { force: flagOf(body, 'force') }),
    close: (target: string) => api.close(target),
  } as const;
  for (const [action, act] of Object.entries(actions)) {
    app.json('POST', session(action), async ({ params, body }) => done(await act(idOf(params), body)));
  }
  app.json('POST', session('rename'), async ({ params, body }) => ({
    json: await api.rename(idOf(params), requiredText(body, 'title')),
  }));
}

function done(view: SessionView): ApiReply {
  return { json: { id: view.id, status: 'ok', session: view } };
}

function addEvents(app: HttpApp, api: CityApi, { clock, closing }: RouteSurroundings): void {
  app.json('GET', paths.events, async ({ query }) => {
    const items = await api.events(eventFilter(query, clock));
    return { json: { items, total: items.length } };
  });
  let streams = 0;
  app.raw(paths.eventStream, async (request, response) => {
    const afterSeq = startOf(request);
    if (streams >= MAX_STREAMS) {
      throw new GcError('too-many-streams', `${MAX_STREAMS} event streams of this city are open already`, {
        next: 'end one of them (gc events --follow, a dashboard) and try again',
      });
    }
    streams += 1;
    try {
      const events = (signal: AbortSignal) => api.followEvents(afterSeq, signal);
      await streamEvents({ events, response, clock, closing });
    } finally {
      streams -= 1;
    }
  });
}

/** `since_ms` is a time, `since` an age (`10m`) as in Gas City; an unreadable age is ignored there and here. */
function eventFilter(query: Readonly<Record<string, string>>, clock: Clock): EventFilter {
  const age = parseDuration(query['since'] ?? '');
  const since =
    queryCount(query['since_ms'], 'since_ms') ?? (age === undefined ? undefined : clock.now() - age);
  const afterSeq = queryCount(query['after_seq'], 'after_seq');
  const limit = queryCount(query['limit'], 'limit');
  const { type, actor } = query;
  return {
    ...(type === undefined ? {} : { type }),
    ...(actor === undefined ? {} : { actor }),
    ...(since === undefined ? {} : { since }),
    ...(afterSeq === undefined ? {} : { afterSeq }),
    ...(limit === undefined ? {} : { limit }),
  };
}

/** `Last-Event-ID`, else `after_seq`, else everything from the start. */
function startOf({ headers, query }: ApiRequest): number {
  const last = headers['last-event-id'];
  if (typeof last === 'string' && /^\d{1,15}$/.test(last)) return Number(last);
  return queryCount(query['after_seq'], 'after_seq') ?? 0;
}

function session(action?: string): string {
  return action === undefined ? '/v0/session/:id' : `/v0/session/:id/${action}`;
}

function idOf(params: Readonly<Record<string, string>>): string {
  return params['id'] ?? '';
}
