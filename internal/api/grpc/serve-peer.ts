import type { NetworkAddress } from '../../platform/network-address.ts';
import type { Event } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  type ControllerFrame,
  type HarnessDescriptor,
  Harness as HarnessService,
} from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { callOf } from './call.ts';
import { Handoff } from './handoff.ts';
import { bindListener } from './listener.ts';
import { endpoint, type RpcServer, type RpcServing, serveOn } from './serve-sessions.ts';

/** One execution, frame by frame: nothing is checked, answered or added. */
export interface RawExecution {
  /** The next frame of the host; `undefined` once it has ended the stream or is gone. */
  receive(): Promise<ControllerFrame | undefined>;
  send(event: Event): void;
  /** Aborts when the host leaves. */
  readonly signal: AbortSignal;
}

/** A peer that may break the Harness protocol in any way. */
export interface RawPeer {
  describe(): HarnessDescriptor;
  /** Returning ends the stream; throwing ends it with an error. */
  connect(execution: RawExecution): Promise<void>;
}

/**
 * Serves the Harness protocol without keeping to it, for trying out hosts.
 * @throws GcError `listen-failed` and what else `bindListener` throws
 */
export async function servePeer(
  options: RpcServing & { readonly peer: RawPeer; readonly listen: NetworkAddress },
): Promise<RpcServer> {
  const { peer, listen, ids } = options;
  const bound = await bindListener(listen, ids);
  const served = endpoint(options, (router) => {
    router.service(HarnessService, {
      describe: (request, context) => callOf(context).answer(context, request, async () => peer.describe()),
      connect: (frames, context) =>
        callOf(context).stream(context, undefined, (signal) => execution(peer, frames, signal)),
    });
  });
  return serveOn(bound, served);
}

async function* execution(
  peer: RawPeer,
  frames: AsyncIterable<ControllerFrame>,
  signal: AbortSignal,
): AsyncGenerator<Event> {
  const incoming = frames[Symbol.asyncIterator]();
  const outgoing = new Handoff<Event>();
  const raw: RawExecution = {
    signal,
    receive: () =>
      incoming.next().then(
        ({ done, value }) => (done ? undefined : value),
        () => undefined, // the host is gone
      ),
    send: (event) => void outgoing.put(event).catch(() => undefined), // nobody reads any more
  };
  peer.connect(raw).then(
    () => outgoing.end(),
    (error: unknown) => outgoing.fail(error),
  );
  try {
    yield* outgoing;
  } finally {
    outgoing.leave(new Error('the host has left'));
  }
}
