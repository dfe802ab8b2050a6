import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { CityEvent } from '../../events/event.ts';
import type { Clock } from '../../platform/clock.ts';
import { encodeError, STREAM_ERROR_EVENT, STREAM_KEEPALIVE_MS } from './wire.ts';

/** A reader that takes nothing for this long is cut; it goes on later where it was. Milliseconds. */
const STALLED_MS = 4 * STREAM_KEEPALIVE_MS;

export interface EventStreamOptions {
  readonly events: (signal: AbortSignal) => AsyncIterable<CityEvent>;
  readonly response: ServerResponse;
  readonly clock: Clock;
  /** Aborts when the server closes. */
  readonly closing: AbortSignal;
}

/**
 * Sends events as server-sent events until the client leaves or the server closes. A client that reads slowly holds
 * its own stream back and nobody else's; one that does not read at all is cut. Source: Gas City's city event stream.
 */
export async function streamEvents(options: EventStreamOptions): Promise<void> {
  const { response, clock, closing } = options;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const signal = AbortSignal.any([gone.signal, closing]);
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    connection: 'keep-alive',
  });
  response.flushHeaders();
  const alive = keepAlive(response, clock, signal);
  try {
    for await (const event of options.events(signal)) {
      await write(response, frameOf(event), clock, signal);
    }
  } catch (error) {
    if (!signal.aborted) {
      response.write(`event: ${STREAM_ERROR_EVENT}\ndata: ${JSON.stringify(encodeError(error).body)}\n\n`);
    }
  } finally {
    gone.abort();
    await alive;
    response.end();
  }
}

/** A type is any text that a script chose: a line break in it must not make a second field. */
function frameOf(event: CityEvent): string {
  const type = event.type.replace(/[\u0000-\u001f\u007f]/g, ' ');
  return `event: ${type}\nid: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`;
}

async function write(
  response: ServerResponse,
  text: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  if (response.write(text)) return;
  const taken = new AbortController();
  clock.sleep(STALLED_MS, AbortSignal.any([signal, taken.signal])).then(
    () => response.destroy(),
    () => undefined, // it was taken, or the stream is over
  );
  try {
    await once(response, 'drain', { signal });
  } finally {
    taken.abort();
  }
}

async function keepAlive(response: ServerResponse, clock: Clock, signal: AbortSignal): Promise<void> {
  try {
    for (;;) {
      await clock.sleep(STREAM_KEEPALIVE_MS, signal);
      if (!response.writableNeedDrain) response.write(': keepalive\n\n');
    }
  } catch {
    // The signal aborted: the stream is over.
  }
}
