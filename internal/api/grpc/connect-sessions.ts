import type { Clock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import { type NetworkAddress, parseDialAddress } from '../../platform/network-address.ts';
import { HarnessRegistry } from '../../protocol/generated/agentsessions/v1/harness_registry_pb.ts';
import { Sessions } from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import {
  type HarnessRegistryHost,
  ServiceError,
  type SessionsHost,
} from '../../session/service/sessions-host.ts';
import { createClient } from './connect.ts';
import { type Dialed, dial } from './dial.ts';
import { toServiceError } from './status.ts';

/** A log record with its inline content may be far larger than a request. */
const RECEIVE_BYTES = 64 * 1024 * 1024;
/** For calls that run no turn; what runs one ends with the caller's signal only. */
const ANSWER_TIMEOUT_MS = 60_000;

export interface ConnectOptions {
  readonly clock: Clock;
  /** What relative socket paths count from. */
  readonly cwd: string;
  readonly token?: string;
}

/**
 * The Sessions service at an address, with the methods of one in this process. Nothing is dialed before the first call.
 * Every method throws ServiceError, or GcError `sessions-unauthenticated`.
 * @throws GcError `service-address`
 */
export function connectSessions(
  address: string | NetworkAddress,
  options: ConnectOptions,
): SessionsHost & { close(): void } {
  const dialed = dialService(address, options);
  const client = createClient(Sessions, dialed.transport);
  const ask = asker(dialed, options.clock);
  const follow = follower(dialed);
  return {
    createSession: ask((request, on) => client.createSession(request, on)),
    getSession: ask((request, on) => client.getSession(request, on)),
    listSessions: ask((request, on) => client.listSessions(request, on)),
    deleteSession: ask((request, on) => client.deleteSession(request, on)),
    exec: follow((request, on) => client.exec(request, on)),
    replay: follow((request, on) => client.replay(request, on)),
    approve: ask((request, on) => client.approve(request, on)),
    cancel: ask((request, on) => client.cancel(request, on)),
    suspend: ask((request, on) => client.suspend(request, on)),
    resume: ask((request, on) => client.resume(request, on), 'unlimited'),
    fork: ask((request, on) => client.fork(request, on), 'unlimited'),
    close: () => dialed.close(),
  };
}

/** The operator's HarnessRegistry at an address; as `connectSessions`. @throws GcError `service-address` */
export function connectRegistry(
  address: string | NetworkAddress,
  options: ConnectOptions,
): HarnessRegistryHost & { close(): void } {
  const dialed = dialService(address, options);
  const client = createClient(HarnessRegistry, dialed.transport);
  const ask = asker(dialed, options.clock);
  return {
    registerHarness: ask((request, on) => client.registerHarness(request, on)),
    getHarness: ask((request, on) => client.getHarness(request, on)),
    listHarnesses: ask((request, on) => client.listHarnesses(request, on)),
    retireHarness: ask((request, on) => client.retireHarness(request, on)),
    close: () => dialed.close(),
  };
}

function dialService(address: string | NetworkAddress, { clock, cwd, token }: ConnectOptions): Dialed {
  const parsed = typeof address === 'string' ? parseDialAddress(address, cwd) : address;
  if (!parsed) {
    throw new GcError('service-address', `${JSON.stringify(address)} is not an address of a service`, {
      next: 'write host:port or unix:/path',
    });
  }
  return dial({
    address: parsed,
    clock,
    receiveBytes: RECEIVE_BYTES,
    ...(token === undefined ? {} : { token }),
  });
}

interface CallSettings {
  readonly signal: AbortSignal;
}

function asker(dialed: Dialed, clock: Clock) {
  return <Request, Reply>(
    call: (request: Request, settings: CallSettings) => Promise<Reply>,
    limit: 'limited' | 'unlimited' = 'limited',
  ) =>
    async (request: Request, signal: AbortSignal): Promise<Reply> => {
      const answered = new AbortController();
      const late = new AbortController();
      if (limit === 'limited') {
        clock.sleep(ANSWER_TIMEOUT_MS, answered.signal).then(
          () => late.abort(noAnswer(dialed.peer)),
          () => undefined, // it came
        );
      }
      const either = AbortSignal.any([signal, late.signal]);
      try {
        await dialed.ready(either);
        return await call(request, { signal: either });
      } catch (error) {
        throw failureOf(error, dialed, either);
      } finally {
        answered.abort();
      }
    };
}

function follower(dialed: Dialed) {
  return <Request, Item>(call: (request: Request, settings: CallSettings) => AsyncIterable<Item>) =>
    async function* (request: Request, signal: AbortSignal): AsyncGenerator<Item> {
      const left = new AbortController();
      const either = AbortSignal.any([signal, left.signal]);
      try {
        await dialed.ready(either);
        yield* call(request, { signal: either });
      } catch (error) {
        throw failureOf(error, dialed, either);
      } finally {
        left.abort();
      }
    };
}

function failureOf(error: unknown, { peer }: Dialed, signal: AbortSignal): unknown {
  return signal.aborted ? signal.reason : toServiceError(error, peer);
}

function noAnswer(peer: string): ServiceError {
  return new ServiceError(
    'DEADLINE_EXCEEDED',
    `${peer} has not answered within ${ANSWER_TIMEOUT_MS / 1000} s`,
    {
      next: 'try again; the service may be busy',
    },
  );
}
