import type { WaitApi, WaitFilter, WaitReply, WaitRequest, WaitView } from '../../controller/wait-api.ts';
import { type CityRequests, parse, READ_TIMEOUT_MS, SESSION_TIMEOUT_MS, withQuery } from './city-requests.ts';
import { WAIT_PATHS } from './wait-paths.ts';

/** The waits of a city whose controller answers. */
export class HttpWaits implements WaitApi {
  readonly #requests: CityRequests;

  constructor(requests: CityRequests) {
    this.#requests = requests;
  }

  async register(target: string, request: WaitRequest): Promise<WaitReply> {
    return reply(await this.#requests.post(WAIT_PATHS.register(target), request, SESSION_TIMEOUT_MS));
  }

  async list({ state, session }: WaitFilter = {}): Promise<readonly WaitView[]> {
    const path = withQuery(WAIT_PATHS.list, { state, session });
    const text = await this.#requests.get(path, READ_TIMEOUT_MS);
    return parse<{ items: WaitView[] }>(text, ['items']).items;
  }

  async inspect(id: string): Promise<WaitView> {
    return view(await this.#requests.get(WAIT_PATHS.one(id), READ_TIMEOUT_MS));
  }

  async cancel(id: string): Promise<WaitView> {
    return view(await this.#requests.post(WAIT_PATHS.action(id, 'cancel'), {}, READ_TIMEOUT_MS));
  }

  async ready(id: string): Promise<WaitReply> {
    return reply(await this.#requests.post(WAIT_PATHS.action(id, 'ready'), {}, READ_TIMEOUT_MS));
  }
}

const view = (text: string): WaitView => parse<WaitView>(text, ['id', 'state', 'session_id']);

const reply = (text: string): WaitReply => parse<WaitReply>(text, ['wait', 'sleeps']);
