import type { Clock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import { parseDialAddress } from '../../platform/network-address.ts';
import type { Event } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  type ControllerFrame,
  Harness as HarnessService,
} from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import type { Harness } from '../../session/turn/harness.ts';
import {
  HarnessFailedError,
  HarnessProtocolError,
  HarnessUnavailableError,
} from '../../session/turn/harness-errors.ts';
import { Code, ConnectError, createClient } from './connect.ts';
import { type Dialed, dial } from './dial.ts';
import { Handoff } from './handoff.ts';
import { HostExchange } from './host-exchange.ts';
import { isBrokenOff, isUnreachable } from './status.ts';

/** The largest event that a harness may send, in bytes. */
const RECEIVE_BYTES = 16 * 1024 * 1024;
/** A harness that was told to wait for a person has this long to say so and to end its stream. */
const PARK_LIMIT_MS = 10_000;
/** A harness waits for the answer to what it asked: one that leaves so many unread never reads them. */
const MAX_UNREAD_FRAMES = 16;

export interface ConnectHarnessOptions {
  readonly clock: Clock;
  /** What relative socket paths count from. */
  readonly cwd: string;
}

export interface RemoteHarness extends Harness {
  /** Lets go of the connection; executions under way fail. */
  close(): void;
}

/**
 * A harness behind an address: `host:port`, `dns:///host:port`, `unix:path` or `unix://path`. Nothing is dialed before it
 * is asked for something.
 *
 * `describe` and `run` throw HarnessUnavailableError when nobody answers there, HarnessProtocolError when the peer does
 * not keep to the protocol, HarnessFailedError when it says that it failed; `run` also what the sink threw.
 * @throws GcError `harness-address`
 */
export function connectHarness(address: string, { clock, cwd }: ConnectHarnessOptions): RemoteHarness {
  const parsed = parseDialAddress(address, cwd);
  if (!parsed) {
    throw new GcError('harness-address', `${JSON.stringify(address)} is not an address of a harness`, {
      next: 'write host:port, dns:///host:port or unix:/path',
    });
  }
  const dialed = dial({ address: parsed, clock, receiveBytes: RECEIVE_BYTES });
  const client = createClient(HarnessService, dialed.transport);
  return {
    observes: false,
    async describe(signal) {
      try {
        await dialed.ready(signal);
        return await client.describe({}, { signal });
      } catch (error) {
        throw failureOf(error, dialed, signal);
      }
    },
    async run(start, sink, signal) {
      const frames = new Handoff<ControllerFrame>();
      const exchange = new HostExchange(start, sink, sender(frames));
      const over = new AbortController();
      const either = AbortSignal.any([signal, over.signal]);
      try {
        const events = await opened(dialed, signal, () => client.connect(frames, { signal: either }));
        exchange.begin();
        for (;;) {
          const limit = exchange.waitsForAcknowledgement ? limited(clock, over) : undefined;
          const next = await nextOf(events, dialed, either).finally(limit);
          if (next === undefined) return exchange.end();
          if (await exchange.take(next)) return;
        }
      } finally {
        frames.end();
        over.abort();
      }
    },
    close: () => dialed.close(),
  };
}

async function opened(
  dialed: Dialed,
  signal: AbortSignal,
  connect: () => AsyncIterable<Event>,
): Promise<AsyncIterator<Event>> {
  try {
    await dialed.ready(signal);
  } catch (error) {
    throw failureOf(error, dialed, signal);
  }
  return connect()[Symbol.asyncIterator]();
}

/** `undefined` when the stream has ended cleanly. */
async function nextOf(
  events: AsyncIterator<Event>,
  dialed: Dialed,
  signal: AbortSignal,
): Promise<Event | undefined> {
  try {
    const next = await events.next();
    return next.done ? undefined : next.value;
  } catch (error) {
    throw failureOf(error, dialed, signal);
  }
}

/** Does not wait for the harness; what it does not read is bounded. @throws HarnessProtocolError */
function sender(frames: Handoff<ControllerFrame>): (frame: ControllerFrame) => void {
  let unread = 0;
  const taken = () => {
    unread -= 1;
  };
  return (frame) => {
    if (unread >= MAX_UNREAD_FRAMES)
      throw new HarnessProtocolError('the harness does not read what it asks for');
    unread += 1;
    frames.put(frame).then(taken, taken);
  };
}

/** Ends the stream when the time is over; the returned function calls that off. */
function limited(clock: Clock, over: AbortController): () => void {
  const inTime = new AbortController();
  clock.sleep(PARK_LIMIT_MS, inTime.signal).then(
    () =>
      over.abort(new HarnessProtocolError('the harness did not acknowledge in time that the turn is parked')),
    () => undefined, // it did
  );
  return () => inTime.abort();
}

function failureOf(error: unknown, { peer }: Dialed, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (!(error instanceof ConnectError)) return error;
  const silent = error.code === Code.Unavailable || error.code === Code.DeadlineExceeded;
  if (silent || isUnreachable(error)) {
    return new HarnessUnavailableError(peer, `cannot be reached: ${error.rawMessage}`, error);
  }
  if (isBrokenOff(error))
    return new HarnessUnavailableError(peer, 'was lost in the middle of the call', error);
  return new HarnessFailedError(`the harness at ${peer} failed: ${error.rawMessage}`, error);
}
