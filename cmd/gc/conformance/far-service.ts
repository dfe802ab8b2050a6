import {
  CallFailed,
  type RegistryCaller,
  type ServiceNeed,
  type ServiceSubject,
  type SessionsCaller,
} from '../../../conformance/sessions-service/case.ts';
import {
  type ConnectOptions,
  connectRegistry,
  connectSessions,
} from '../../../internal/api/grpc/connect-sessions.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import type { NetworkAddress } from '../../../internal/platform/network-address.ts';
import { textMessage, textOf } from '../../../internal/protocol/events.ts';
import { registryCaller, scriptedPeer, sessionsCaller } from './service-subject.ts';

export interface FarService {
  readonly subject: ServiceSubject;
  /** Why it does not offer what it does not. */
  readonly missing: ReadonlyMap<ServiceNeed, string>;
  close(): Promise<void>;
}

const PROBE_BYTES = 6;
const PROBE_PROJECT = 'conformance-probe';

/**
 * A server that somebody else runs, with what it offers found out by asking: one turn, and one registration that is retired
 * again. @throws CallFailed when it does not answer at all
 */
export async function openFarService(
  sessionsAt: NetworkAddress,
  registryAt: NetworkAddress | undefined,
  options: ConnectOptions,
  signal: AbortSignal,
): Promise<FarService> {
  const far = connectSessions(sessionsAt, options);
  const operators = registryAt && connectRegistry(registryAt, options);
  const close = async () => {
    far.close();
    operators?.close();
  };
  try {
    const sessions = sessionsCaller(() => far, signal);
    const registry = operators && registryCaller(() => operators, signal);
    const missing = new Map<ServiceNeed, string>([
      ['journal', 'cuts logs and starts the server again: only our own server is checked so'],
      ['tools', 'counts what the host carries out: only our own server is checked so'],
    ]);
    const echoes = await echoesWords(sessions);
    if (!echoes)
      missing.set('echo', 'the echo harness of this server has another model than the built-in one');
    const refusal = registry
      ? await registrationRefused(registry)
      : 'its registry was not named (--registry)';
    if (refusal !== undefined) missing.set('registry', refusal);
    const withPeers =
      registry && refusal === undefined ? { registry, servePeer: () => scriptedPeer(options.clock) } : {};
    return { subject: { sessions, echoes, ...withPeers }, missing, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function echoesWords(sessions: SessionsCaller): Promise<boolean> {
  const { metadata } = await sessions.create({
    session: { metadata: { project: PROBE_PROJECT }, harness: 'echo' },
  });
  const inputs = [textMessage('user', 'hi')];
  const { updates } = await sessions.exec({ session: metadata?.uid ?? '', inputs });
  return updates.some(({ update }) => {
    const body = update.case === 'record' ? update.value.event?.body : undefined;
    return body?.case === 'message' && textOf(body.value) === 'echo:hi';
  });
}

/** A host without a model, or of another kind, takes no harness elsewhere; that is its right. */
async function registrationRefused(registry: RegistryCaller): Promise<string | undefined> {
  const name = `probe-${systemIds.hex(PROBE_BYTES)}`;
  const placement = { case: 'remote' as const, value: { address: '127.0.0.1:9' } };
  try {
    await registry.register({ name, spec: { placement, capabilities: { resumability: 1 } } });
    await registry.retire({ name, reason: 'a probe' });
    return undefined;
  } catch (error) {
    if (error instanceof CallFailed && error.status === 'FAILED_PRECONDITION') return error.message;
    throw error;
  }
}
