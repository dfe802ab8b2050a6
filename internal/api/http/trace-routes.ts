import type { CityApi } from '../../controller/city-api.ts';
import type { TraceFilter } from '../../controller/trace-api.ts';
import { GcError } from '../../platform/errors.ts';
import type { HttpApp } from './app.ts';
import { countOr, flagOf, optionalText, queryCount, requiredText } from './request-fields.ts';
import { TRACE_PATHS } from './trace-paths.ts';

/** What is watched of the controller's decisions, and what was seen. The words are Gas City's, the routes ours. */
export function addTraceRoutes(app: HttpApp, api: CityApi): void {
  app.json('GET', TRACE_PATHS.status, async () => ({ json: await api.trace.status() }));
  app.json('POST', TRACE_PATHS.arm, async ({ body }) => ({
    json: await api.trace.arm({
      template: requiredText(body, 'template'),
      for_ms: countOr(body, 'for_ms', 0),
      level: oneOf('level', requiredText(body, 'level'), ['baseline', 'detail']),
      source: oneOf('source', optionalText(body, 'source') ?? 'manual', ['manual', 'auto']),
    }),
  }));
  app.json('POST', TRACE_PATHS.disarm, async ({ body }) => ({
    json: await api.trace.disarm({ template: requiredText(body, 'template'), all: flagOf(body, 'all') }),
  }));
  app.json('GET', TRACE_PATHS.records, async ({ query }) => {
    const items = await api.trace.records(filterOf(query));
    return { json: { items, total: items.length } };
  });
  app.json('GET', TRACE_PATHS.reasons, async ({ query }) => ({
    json: { reasons: await api.trace.reasons(filterOf(query)) },
  }));
}

function oneOf<T extends string>(field: string, word: string, words: readonly T[]): T {
  const found = words.find((each) => each === word);
  if (found !== undefined) return found;
  throw new GcError('invalid-request', `"${field}" must be ${words.join(' or ')}`);
}

function filterOf(query: Readonly<Record<string, string>>): TraceFilter {
  const { template, session, trace_id, type, reason } = query;
  const texts = { template, session, trace_id, type, reason };
  const numbers = {
    tick: queryCount(query['tick'], 'tick'),
    since_ms: queryCount(query['since_ms'], 'since_ms'),
    after_seq: queryCount(query['after_seq'], 'after_seq'),
    limit: queryCount(query['limit'], 'limit'),
    last: queryCount(query['last'], 'last'),
  };
  return Object.fromEntries(
    Object.entries({ ...texts, ...numbers }).filter(([, value]) => value !== undefined),
  );
}
