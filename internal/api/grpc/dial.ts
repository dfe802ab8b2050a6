import type { Clock } from '../../platform/clock.ts';
import { addressText, type NetworkAddress } from '../../platform/network-address.ts';
import type { Interceptor, Transport } from './connect.ts';
import { createGrpcTransport } from './connect-node.ts';
import { PeerConnection } from './peer-connection.ts';
import { currentRequestId, REQUEST_ID_HEADER } from './request-id.ts';

export interface DialOptions {
  readonly address: NetworkAddress;
  readonly clock: Clock;
  readonly token?: string;
  /** The largest message that is taken, in bytes. */
  readonly receiveBytes: number;
}

/** A connection that is made when it is first needed, and again when it was lost. */
export interface Dialed {
  readonly transport: Transport;
  /** As a person reads it. */
  readonly peer: string;
  /** @throws ConnectError UNAVAILABLE when nobody answers in time; the signal's reason */
  ready(signal: AbortSignal): Promise<void>;
  close(): void;
}

/** gRPC over plaintext HTTP/2 to an address. Nothing is sent yet. */
export function dial(options: DialOptions): Dialed {
  const { address, clock, token } = options;
  const connection = new PeerConnection(address, clock);
  const transport = createGrpcTransport({
    baseUrl: connection.authority,
    sessionManager: connection,
    readMaxBytes: options.receiveBytes,
    interceptors: [identify(token)],
  });
  return {
    transport,
    peer: addressText(address),
    ready: (signal) => connection.ready(signal),
    close: () => connection.close(),
  };
}

/** Every call carries the id of what it is done for, and the token where there is one. */
function identify(token: string | undefined): Interceptor {
  return (next) => (request) => {
    const id = currentRequestId();
    if (id !== undefined) request.header.set(REQUEST_ID_HEADER, id);
    if (token !== undefined) request.header.set('authorization', `Bearer ${token}`);
    return next(request);
  };
}
