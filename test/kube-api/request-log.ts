import { type FaultMatch, matches } from './faults.ts';
import type { ApiRequest } from './request.ts';

export interface LoggedRequest extends ApiRequest {
  readonly at: number;
  /** Unknown while it is not answered; 0 when the connection was cut without an answer. */
  status: number | undefined;
}

/** Every request that came, in order. */
export class RequestLog {
  #all: LoggedRequest[] = [];

  get all(): readonly LoggedRequest[] {
    return this.#all;
  }

  note(request: ApiRequest): LoggedRequest {
    const entry: LoggedRequest = { ...request, at: Date.now(), status: undefined };
    this.#all.push(entry);
    return entry;
  }

  matching(match: FaultMatch): readonly LoggedRequest[] {
    return this.#all.filter((request) => matches(match, request));
  }

  count(match: FaultMatch = {}): number {
    return this.matching(match).length;
  }

  /** `{ 'list pods': 1, 'watch pods': 2 }` */
  counts(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { verb, resource } of this.#all) {
      const key = `${verb} ${resource}`;
      counts[key] = (counts[key] ?? 0) + 1;
    }
    return counts;
  }

  clear(): void {
    this.#all = [];
  }
}
