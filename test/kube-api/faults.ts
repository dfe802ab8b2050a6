import type { ApiRequest } from './request.ts';
import { StatusError } from './status-error.ts';

/** What goes wrong with a request. */
export type Fault =
  /** The connection is cut with no answer. `after` does the work first: only the answer (of an exec: its end) is lost. */
  | { readonly kind: 'drop'; readonly after?: boolean }
  | { readonly kind: 'delay'; readonly ms: number }
  /** Accepted, never answered. */
  | { readonly kind: 'half-open' }
  | {
      readonly kind: 'status';
      readonly code: number;
      readonly reason?: string;
      readonly message?: string;
      readonly retryAfterSeconds?: number;
    }
  /** 410, for a list or get as an answer, for a watch as an ERROR event. */
  | { readonly kind: 'gone' }
  /** A watch, log, exec or attach that opens and then says nothing more, after so many events or frames. */
  | { readonly kind: 'silent'; readonly after?: number }
  /** A watch, log, exec or attach that is cut after so many events or frames; a WebSocket with a close frame of that code, or none. */
  | { readonly kind: 'cut'; readonly after: number; readonly closeFrame?: number };

export interface FaultMatch {
  readonly verb?: string;
  /** `pods`, `pods/exec`, ... */
  readonly resource?: string;
  readonly name?: string;
  readonly when?: (request: ApiRequest) => boolean;
}

interface Rule {
  readonly match: FaultMatch;
  readonly fault: Fault;
  left: number;
  hits: number;
}

export interface FaultHandle {
  readonly hits: number;
  remove(): void;
}

/** The faults that wait for a request to hit. */
export class Faults {
  readonly #rules = new Set<Rule>();

  /** From now on, for the next `times` matching requests (default: all). The oldest rule that matches wins. */
  add(match: FaultMatch, fault: Fault, times = Number.POSITIVE_INFINITY): FaultHandle {
    const rule: Rule = { match, fault, left: times, hits: 0 };
    this.#rules.add(rule);
    return {
      get hits() {
        return rule.hits;
      },
      remove: () => this.#rules.delete(rule),
    };
  }

  clear(): void {
    this.#rules.clear();
  }

  take(request: ApiRequest): Fault | undefined {
    for (const rule of this.#rules) {
      if (!matches(rule.match, request)) continue;
      rule.left -= 1;
      rule.hits += 1;
      if (rule.left <= 0) this.#rules.delete(rule);
      return rule.fault;
    }
    return undefined;
  }
}

export function matches(match: FaultMatch, request: ApiRequest): boolean {
  return (
    (match.verb === undefined || match.verb === request.verb) &&
    (match.resource === undefined || match.resource === request.resource) &&
    (match.name === undefined || match.name === request.name) &&
    (match.when === undefined || match.when(request))
  );
}

const REASONS: Record<number, readonly [string, string]> = {
  401: ['Unauthorized', 'Unauthorized'],
  403: ['Forbidden', 'forbidden'],
  404: ['NotFound', 'the server could not find the requested resource'],
  409: [
    'Conflict',
    'Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version and try again',
  ],
  410: ['Expired', 'The resourceVersion for the provided watch is too old.'],
  429: ['TooManyRequests', 'Too many requests, please try again later.'],
  500: ['InternalError', 'Internal error occurred: etcdserver: request timed out'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: ['Timeout', 'Timeout: request did not complete within requested timeout'],
};

export function faultStatus(fault: Extract<Fault, { kind: 'status' }>): StatusError {
  const [reason, message] = REASONS[fault.code] ?? ['Unknown', 'unknown'];
  const { retryAfterSeconds } = fault;
  const details = retryAfterSeconds === undefined ? undefined : { retryAfterSeconds };
  return new StatusError(fault.code, fault.reason ?? reason, fault.message ?? message, details);
}
