import type { NewPermissionRule, PermissionRule, RuleApi } from '../../controller/rule-api.ts';
import { type CityRequests, parse, READ_TIMEOUT_MS } from './city-requests.ts';
import { paths } from './wire.ts';

const RULE_KEYS = ['id', 'effect', 'scope', 'tool', 'by', 'at'] as const;
/** A file of the user's may be locked by another command meanwhile. */
const CHANGE_TIMEOUT_MS = 40_000;

/** The rules of a city whose controller answers. */
export class HttpRules implements RuleApi {
  readonly #requests: CityRequests;

  constructor(requests: CityRequests) {
    this.#requests = requests;
  }

  async list(): Promise<readonly PermissionRule[]> {
    const text = await this.#requests.get(paths.rules, READ_TIMEOUT_MS);
    return parse<{ items: readonly PermissionRule[] }>(text, ['items']).items;
  }

  async add(rule: NewPermissionRule): Promise<PermissionRule> {
    return parse<PermissionRule>(await this.#requests.post(paths.rules, rule, CHANGE_TIMEOUT_MS), RULE_KEYS);
  }

  async remove(id: string): Promise<PermissionRule> {
    const text = await this.#requests.post(`${paths.rule(id)}/remove`, {}, CHANGE_TIMEOUT_MS);
    return parse<PermissionRule>(text, RULE_KEYS);
  }
}
