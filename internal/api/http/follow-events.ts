import type { CityEvent } from '../../events/event.ts';
import type { Clock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import { open } from './http-request.ts';
import { SseParser } from './sse-parser.ts';
import { decodeError, paths, STREAM_ERROR_EVENT, STREAM_KEEPALIVE_MS } from './wire.ts';

export interface FollowOptions {
  readonly socketPath: string;
  /** Exclusive. */
  readonly afterSeq: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/** Three missed keep-alives: the connection is dead though nobody closed it. */
const SILENCE_TIMEOUT_MS = 3 * STREAM_KEEPALIVE_MS;
const RECONNECT_FIRST_MS = 100;
const RECONNECT_CAP_MS = 2_000;
/** A restarting controller is back within this; longer means that nobody will answer. */
const RECONNECT_TOTAL_MS = 60_000;

/**
 * Follows a city's events across reconnects: each starts after the last event seen, so nothing is missed and nothing
 * comes twice. Ends quietly with the signal.
 * @throws GcError what the server said; `controller-unreachable` when no connection came about for a minute, or at the first try
 */
export async function* followEvents(options: FollowOptions): AsyncGenerator<CityEvent> {
  const { clock, signal } = options;
  let last = options.afterSeq;
  let lostAt: number | undefined;
  let pause = RECONNECT_FIRST_MS;
  for (let connectedOnce = false; !signal.aborted; ) {
    try {
      for await (const item of oneConnection(options, last)) {
        connectedOnce = true;
        lostAt = undefined;
        if (item === 'open') continue;
        pause = RECONNECT_FIRST_MS;
        if (item.seq <= last) continue;
        last = item.seq;
        yield item;
      }
    } catch (error) {
      if (signal.aborted) return;
      const now = clock.monotonic();
      lostAt ??= now;
      if (!isTransport(error) || !connectedOnce || now - lostAt > RECONNECT_TOTAL_MS) throw error;
    }
    await clock.sleep(pause, signal).catch(() => undefined); // only the signal ends this early
    pause = Math.min(pause * 2, RECONNECT_CAP_MS);
  }
}

async function* oneConnection(
  { socketPath, signal, clock }: FollowOptions,
  last: number,
): AsyncGenerator<CityEvent | 'open'> {
  const response = await open({
    socketPath,
    method: 'GET',
    path: paths.eventStream,
    headers: { accept: 'text/event-stream', 'last-event-id': String(last) },
    timeoutMs: SILENCE_TIMEOUT_MS,
    clock,
    signal,
  });
  response.setEncoding('utf8');
  if (response.statusCode !== 200) {
    let text = '';
    for await (const chunk of response) text += chunk;
    throw decodeError(response.statusCode ?? 0, text);
  }
  yield 'open';
  const parser = new SseParser();
  try {
    for await (const chunk of response) {
      for (const frame of parser.push(String(chunk))) {
        if (frame.event === STREAM_ERROR_EVENT) throw decodeError(500, frame.data);
        yield parseEvent(frame.data);
      }
    }
  } catch (error) {
    if (error instanceof GcError) throw error;
    throw new GcError('controller-lost', 'the event stream broke off', { cause: error });
  }
}

function isTransport(error: unknown): boolean {
  return error instanceof GcError && TRANSPORT_CODES.has(error.code);
}

const TRANSPORT_CODES: ReadonlySet<string> = new Set([
  'controller-unreachable',
  'controller-lost',
  'controller-timeout',
]);

function parseEvent(data: string): CityEvent {
  const value: unknown = JSON.parse(data);
  if (
    typeof value === 'object' &&
    value !== null &&
    'seq' in value &&
    'type' in value &&
    typeof value.seq === 'number'
  ) {
    return value as CityEvent;
  }
  throw new GcError('bad-answer', 'the controller sent something that is no event');
}
