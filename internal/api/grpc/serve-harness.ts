import { messageOf } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import { addressText, type NetworkAddress } from '../../platform/network-address.ts';
import type { Event } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  type ControllerFrame,
  Harness as HarnessService,
} from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { ServiceError } from '../../session/service/sessions-host.ts';
import type { Harness, HarnessStart } from '../../session/turn/harness.ts';
import { HarnessProtocolError } from '../../session/turn/harness-errors.ts';
import { ParkedError } from '../../session/turn/turn.ts';
import { callOf } from './call.ts';
import type { ConnectRouter } from './connect.ts';
import { Handoff } from './handoff.ts';
import { bindListener } from './listener.ts';
import { endpoint, type RpcServer, type RpcServing, serveOn } from './serve-sessions.ts';
import { WireSink } from './wire-sink.ts';

/** A turn begins with the whole log before it. */
const RECEIVE_BYTES = 64 * 1024 * 1024;
const MODEL_CALL_ID_BYTES = 8;

/**
 * Offers a harness of this process to hosts elsewhere. Whoever reaches the address can drive it, unless there is a token,
 * which hosts of other makers do not send.
 * @throws GcError `listen-failed` and what else `bindListener` throws
 */
export async function serveHarness(
  options: RpcServing & { readonly harness: Harness; readonly listen: NetworkAddress },
): Promise<RpcServer> {
  const { harness, listen, ids, limits, log } = options;
  const bound = await bindListener(listen, ids);
  log.info('harness offered', { address: addressText(bound.address) });
  const serving = { ...options, limits: { receiveBytes: RECEIVE_BYTES, ...limits } };
  return serveOn(bound, endpoint(serving, harnessRoutes(harness, ids)));
}

export function harnessRoutes(harness: Harness, ids: Pick<Ids, 'hex'>): (router: ConnectRouter) => void {
  return (router) => {
    router.service(HarnessService, {
      describe: (request, context) =>
        callOf(context).answer(context, request, (signal) => harness.describe(signal)),
      connect: (frames, context) =>
        callOf(context).stream(context, undefined, (signal) => execution(harness, frames, signal, ids)),
    });
  };
}

/** One stream is one execution. Source: agentsessions.v1 Harness.Connect. */
async function* execution(
  harness: Harness,
  frames: AsyncIterable<ControllerFrame>,
  signal: AbortSignal,
  ids: Pick<Ids, 'hex'>,
): AsyncGenerator<Event> {
  const incoming = frames[Symbol.asyncIterator]();
  const start = startOf(await incoming.next());
  const outgoing = new Handoff<Event>();
  const canceled = new AbortController();
  const sink = new WireSink({
    session: start.session,
    executionId: start.executionId,
    mintId: () => ids.hex(MODEL_CALL_ID_BYTES),
    emit: (event) => outgoing.put(event),
    park: (event) => {
      outgoing.put(event).catch(() => undefined); // a host that left has heard it or asks again
      outgoing.end();
    },
  });
  void listen(incoming, sink, canceled);
  void run(harness, start, sink, AbortSignal.any([signal, canceled.signal]), canceled.signal, outgoing);
  try {
    yield* outgoing;
  } finally {
    const gone = new HarnessProtocolError('the host has left');
    outgoing.leave(gone);
    sink.fail(gone);
    canceled.abort(gone);
  }
}

function startOf(first: IteratorResult<ControllerFrame>): HarnessStart {
  const frame = first.done ? undefined : first.value;
  if (frame?.frame.case !== 'start') {
    throw new ServiceError('INVALID_ARGUMENT', 'the first frame of an execution must be its start');
  }
  if (frame.executionId === '') {
    throw new ServiceError('INVALID_ARGUMENT', 'the start of an execution must name it');
  }
  const { config, history, inputs, resumeFromSeq } = frame.frame.value;
  const { session, executionId } = frame;
  return { session, executionId, config, history, inputs, resumeFromSeq, recorded: [] };
}

/** Frames of the host, until it has nothing more to say. */
async function listen(
  incoming: AsyncIterator<ControllerFrame>,
  sink: WireSink,
  canceled: AbortController,
): Promise<void> {
  try {
    for (;;) {
      const next = await incoming.next();
      if (next.done) break;
      if (next.value.frame.case === 'cancel') {
        const reason = next.value.frame.value.reason || 'canceled by the host';
        canceled.abort(new ServiceError('CANCELLED', reason));
      } else sink.receive(next.value);
    }
    sink.fail(new HarnessProtocolError('the host has closed its side of the stream'));
  } catch (error) {
    sink.fail(new HarnessProtocolError(`the host is gone: ${messageOf(error)}`));
  }
}

async function run(
  harness: Harness,
  start: HarnessStart,
  sink: WireSink,
  signal: AbortSignal,
  canceled: AbortSignal,
  outgoing: Handoff<Event>,
): Promise<void> {
  let failure: unknown;
  try {
    await harness.run(start, sink, signal);
    failure = sink.failure;
  } catch (error) {
    failure = sink.failure ?? error;
  }
  sink.fail(new HarnessProtocolError('the turn is over'));
  if (failure instanceof ParkedError) return outgoing.end();
  if (failure === undefined) {
    outgoing.put(sink.end('COMPLETED')).catch(() => undefined); // a host that has heard it leaves
    return outgoing.end();
  }
  const description = messageOf(failure);
  outgoing.put(sink.end(canceled.aborted ? 'CANCELED' : 'FAILED', description)).catch(() => undefined);
  outgoing.fail(
    new ServiceError(canceled.aborted ? 'CANCELLED' : 'INTERNAL', description, { cause: failure }),
  );
}
