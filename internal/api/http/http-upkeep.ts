import type { SessionView } from '../../controller/city-api.ts';
import type {
  PruneReply,
  PruneRequest,
  ScaleReply,
  ScaleRequest,
  SubmitReply,
  SubmitRequest,
  UpkeepApi,
} from '../../controller/upkeep-api.ts';
import type { PatternMatch } from '../../session/name-pattern.ts';
import { type CityRequests, parse, READ_TIMEOUT_MS, SESSION_TIMEOUT_MS, withQuery } from './city-requests.ts';
import { UPKEEP_PATHS } from './upkeep-paths.ts';
import { assertNudgeFits, paths } from './wire.ts';

/** A session may be started or interrupted first, and then be at work for a while. */
const SUBMIT_TIMEOUT_MS = 180_000;

/** The upkeep of a city whose controller answers. */
export class HttpUpkeep implements UpkeepApi {
  readonly #requests: CityRequests;

  constructor(requests: CityRequests) {
    this.#requests = requests;
  }

  pin(target: string): Promise<SessionView> {
    return this.#act(target, 'pin');
  }

  unpin(target: string): Promise<SessionView> {
    return this.#act(target, 'unpin');
  }

  reset(target: string): Promise<SessionView> {
    return this.#act(target, 'reset');
  }

  async prune(request: PruneRequest): Promise<PruneReply> {
    const text = await this.#requests.post(UPKEEP_PATHS.prune, request, SESSION_TIMEOUT_MS);
    return { pruned: parse<PruneReply>(text, ['pruned']).pruned };
  }

  async submit(target: string, request: SubmitRequest): Promise<SubmitReply> {
    assertNudgeFits(request.message);
    const path = paths.sessionAction(target, 'submit');
    const text = await this.#requests.post(path, request, SUBMIT_TIMEOUT_MS);
    const { id, session, intent, queued, interrupted, outcome } = parse<SubmitReply>(text, [
      'id',
      'session',
      'intent',
      'outcome',
    ]);
    return { id, session, intent, queued, interrupted, outcome };
  }

  async matching(pattern: string): Promise<readonly PatternMatch[]> {
    const text = await this.#requests.get(withQuery(UPKEEP_PATHS.matching, { pattern }), READ_TIMEOUT_MS);
    return parse<{ items: PatternMatch[] }>(text, ['items']).items;
  }

  async scale(agent: string, request: ScaleRequest): Promise<ScaleReply> {
    const text = await this.#requests.post(paths.agentAction(agent, 'scale'), request, SESSION_TIMEOUT_MS);
    return parse<ScaleReply>(text, ['agent', 'min', 'max']);
  }

  async #act(target: string, action: string): Promise<SessionView> {
    const text = await this.#requests.post(paths.sessionAction(target, action), {}, SESSION_TIMEOUT_MS);
    return parse<{ session: SessionView }>(text, ['session']).session;
  }
}
