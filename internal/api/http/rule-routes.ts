import type { CityApi } from '../../controller/city-api.ts';
import type { NewPermissionRule } from '../../controller/rule-api.ts';
import { GcError } from '../../platform/errors.ts';
import type { HttpApp } from './app.ts';
import { optionalText, requiredText } from './request-fields.ts';
import { paths } from './wire.ts';

/** Standing answers to what agents ask. These routes are ours. */
export function addRuleRoutes(app: HttpApp, api: CityApi): void {
  app.json('GET', paths.rules, async () => ({ json: { items: await api.rules.list() } }));
  app.json('POST', paths.rules, async ({ body }) => ({ json: await api.rules.add(ruleIn(body)) }));
  app.json('POST', '/v0/rules/:id/remove', async ({ params }) => ({
    json: await api.rules.remove(params['id'] ?? ''),
  }));
}

const NAMES = ['rig', 'agent', 'session', 'project', 'input'] as const;

function ruleIn(body: unknown): NewPermissionRule {
  const names = NAMES.flatMap((key) => {
    const value = optionalText(body, key);
    return value === undefined ? [] : [[key, value] as const];
  });
  return {
    effect: oneOf(requiredText(body, 'effect'), ['allow', 'deny'], 'effect'),
    scope: oneOf(requiredText(body, 'scope'), ['session', 'project', 'city', 'always'], 'scope'),
    tool: requiredText(body, 'tool'),
    ...Object.fromEntries(names),
  };
}

function oneOf<T extends string>(said: string, known: readonly T[], what: string): T {
  const found = known.find((each) => each === said);
  if (found) return found;
  throw new GcError('invalid-rule', `"${said}" is no ${what} of a rule`, {
    next: `one of: ${known.join(', ')}`,
  });
}
