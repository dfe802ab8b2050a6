import type {
  TraceApi,
  TraceArm,
  TraceDisarm,
  TraceFilter,
  TraceRecord,
  TraceStatus,
} from '../../controller/trace-api.ts';
import { type CityRequests, parse, READ_TIMEOUT_MS, withQuery } from './city-requests.ts';
import { TRACE_PATHS } from './trace-paths.ts';

/** The trace of a city whose controller answers. */
export class HttpTrace implements TraceApi {
  readonly #requests: CityRequests;

  constructor(requests: CityRequests) {
    this.#requests = requests;
  }

  async arm(request: TraceArm): Promise<TraceStatus> {
    return status(await this.#requests.post(TRACE_PATHS.arm, request, READ_TIMEOUT_MS));
  }

  async disarm(request: TraceDisarm): Promise<TraceStatus> {
    return status(await this.#requests.post(TRACE_PATHS.disarm, request, READ_TIMEOUT_MS));
  }

  async status(): Promise<TraceStatus> {
    return status(await this.#requests.get(TRACE_PATHS.status, READ_TIMEOUT_MS));
  }

  async records(filter: TraceFilter): Promise<readonly TraceRecord[]> {
    const path = withQuery(TRACE_PATHS.records, queryOf(filter));
    const text = await this.#requests.get(path, READ_TIMEOUT_MS);
    return parse<{ items: TraceRecord[] }>(text, ['items']).items;
  }

  async reasons(filter: TraceFilter): Promise<Readonly<Record<string, number>>> {
    const path = withQuery(TRACE_PATHS.reasons, queryOf(filter));
    const text = await this.#requests.get(path, READ_TIMEOUT_MS);
    return parse<{ reasons: Record<string, number> }>(text, ['reasons']).reasons;
  }
}

function status(text: string): TraceStatus {
  return parse<TraceStatus>(text, ['arms', 'records']);
}

function queryOf(filter: TraceFilter): Record<string, string> {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([key, value]) => [key, String(value)]));
}
