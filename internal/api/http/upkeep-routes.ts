import type { CityApi, SessionView } from '../../controller/city-api.ts';
import type { ScaleRequest } from '../../controller/upkeep-api.ts';
import { GcError } from '../../platform/errors.ts';
import type { HttpApp } from './app.ts';
import { countOr, optionalNumber, optionalText, requiredText } from './request-fields.ts';
import { UPKEEP_PATHS } from './upkeep-paths.ts';
import { assertNudgeFits } from './wire.ts';

const ACCEPTED = 202;

/** `submit` is Gas City's route; what else is here, it has on its command line alone. */
export function addUpkeepRoutes(app: HttpApp, { upkeep }: CityApi): void {
  const acts: Readonly<Record<string, (target: string) => Promise<SessionView>>> = {
    pin: (target) => upkeep.pin(target),
    unpin: (target) => upkeep.unpin(target),
    reset: (target) => upkeep.reset(target),
  };
  for (const [action, act] of Object.entries(acts)) {
    app.json('POST', `/v0/session/:id/${action}`, async ({ params }) => {
      const session = await act(params['id'] ?? '');
      return { json: { id: session.id, status: 'ok', session } };
    });
  }
  app.json('POST', '/v0/session/:id/submit', async ({ params, body }) => {
    const message = requiredText(body, 'message');
    assertNudgeFits(message);
    const fields = {
      intent: optionalText(body, 'intent'),
      id: optionalText(body, 'id'),
      sender: optionalText(body, 'sender'),
    };
    const given = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
    const reply = await upkeep.submit(params['id'] ?? '', { message, ...given });
    return { status: ACCEPTED, json: { ...reply, status: 'accepted' } };
  });
  app.json('POST', UPKEEP_PATHS.prune, async ({ body }) => ({
    json: await upkeep.prune({ before_ms: countOr(body, 'before_ms', 0) }),
  }));
  app.json('GET', UPKEEP_PATHS.matching, async ({ query }) => {
    const { pattern } = query;
    if (!pattern) throw new GcError('invalid-request', '"pattern" is required');
    const items = await upkeep.matching(pattern);
    return { json: { items, total: items.length } };
  });
}

/** What an agent is to have. @throws GcError `invalid-request` */
export function scaleIn(body: unknown): ScaleRequest {
  const min = optionalNumber(body, 'min');
  const max = optionalNumber(body, 'max');
  return { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) };
}
