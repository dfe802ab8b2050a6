import type { Place } from '../../controller/acting.ts';
import type { Clock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import { call } from './http-request.ts';
import { ACTOR_HEADER, PLACE_HEADERS } from './wire.ts';

/** Answers come from memory. */
export const READ_TIMEOUT_MS = 10_000;
/** A session's runtime is started, stopped or captured on the way. */
export const SESSION_TIMEOUT_MS = 60_000;

/** Requests to one controller, all in the name of one actor. Every failed one throws the GcError that the controller means. */
export class CityRequests {
  readonly #socketPath: string;
  readonly #clock: Clock;
  readonly #headers: Readonly<Record<string, string>>;

  /**
   * @param actor for whom it asks; `''`: for nobody in particular
   * @param place where names are typed
   */
  constructor(socketPath: string, clock: Clock, actor: string, place?: Place) {
    this.#socketPath = socketPath;
    this.#clock = clock;
    this.#headers = { ...(actor === '' ? {} : { [ACTOR_HEADER]: encoded(actor) }), ...placeHeaders(place) };
  }

  get(path: string, timeoutMs: number): Promise<string> {
    return call({
      socketPath: this.#socketPath,
      method: 'GET',
      path,
      timeoutMs,
      clock: this.#clock,
      headers: this.#headers,
    });
  }

  post(path: string, body: unknown, timeoutMs: number): Promise<string> {
    return call({
      socketPath: this.#socketPath,
      method: 'POST',
      path,
      body,
      timeoutMs,
      clock: this.#clock,
      headers: this.#headers,
    });
  }
}

/** A header holds ASCII alone. Half a surrogate pair has no URI form. */
const encoded = (text: string): string => encodeURIComponent(Buffer.from(text).toString());

function placeHeaders(place: Place | undefined): Readonly<Record<string, string>> {
  if (!place) return {};
  const { dir, rig } = place;
  return {
    [PLACE_HEADERS.dir]: encoded(dir),
    ...(rig === '' ? {} : { [PLACE_HEADERS.rig]: encoded(rig) }),
  };
}

/** The controller is ours and of about our age: it is enough to see that the answer is the kind of object asked for. */
export function parse<T>(text: string, keys: readonly (keyof T & string)[]): T {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new GcError('bad-answer', 'the controller answered something that is not JSON', { cause: error });
  }
  const object = typeof value === 'object' && value !== null ? value : {};
  const missing = keys.find((key) => !(key in object));
  if (missing === undefined) return object as T;
  throw new GcError('bad-answer', `the controller's answer has no "${missing}"`, {
    next: 'gc restart, so that it runs the installed version',
  });
}

export function withQuery(path: string, fields: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(fields)) if (value !== undefined) query.set(key, value);
  return query.size === 0 ? path : `${path}?${query}`;
}
