import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServiceSubject } from '../../../conformance/sessions-service/case.ts';
import { connectHarness } from '../../../internal/api/grpc/connect-harness.ts';
import { connectRegistry, connectSessions } from '../../../internal/api/grpc/connect-sessions.ts';
import { bindListener } from '../../../internal/api/grpc/listener.ts';
import { openService } from '../../../internal/api/grpc/open-service.ts';
import { registryOn, sessionsOn } from '../../../internal/api/grpc/serve-sessions.ts';
import type { Clock } from '../../../internal/platform/clock.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { addressText, type NetworkAddress } from '../../../internal/platform/network-address.ts';
import { ToolResultSchema } from '../../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import { create } from '../../../internal/protocol/protobuf.ts';
import type { HarnessRegistryHost, SessionsHost } from '../../../internal/session/service/sessions-host.ts';
import type { ToolExecutor } from '../../../internal/session/turn/harness.ts';
import { QUIET_LOG } from '../sessions/quiet-log.ts';
import { cutLogFile } from './cut-log.ts';
import { registryCaller, scriptedPeer, sessionsCaller } from './service-subject.ts';

const ANY_PORT: NetworkAddress = { kind: 'tcp', host: '127.0.0.1', port: 0 };
/** What a case left under way when the service is started again is cut after this. Milliseconds. */
const STOP_MS = 500;

export interface OwnService {
  readonly subject: ServiceSubject;
  /** The service behind the wire, as it is now. */
  host(): SessionsHost;
  /** Where it listens now; elsewhere after a log was cut. */
  addresses(): { readonly sessions: string; readonly registry: string };
  close(): Promise<void>;
}

interface Running {
  readonly host: SessionsHost;
  readonly sessions: SessionsHost;
  readonly registry: HarnessRegistryHost;
  readonly addresses: ReturnType<OwnService['addresses']>;
  stop(): Promise<void>;
}

/** This program's own service, with all that the suite can ask for: on free ports of loopback, over logs that go with it. */
export async function openOwnService(clock: Clock, signal: AbortSignal): Promise<OwnService> {
  const dir = mkdtempSync(join(tmpdir(), 'gc-sessions-'));
  const file = join(dir, 'sessions.db');
  const tools = new CountingTools();
  let running = await start(clock, file, tools);
  return {
    host: () => running.host,
    addresses: () => running.addresses,
    subject: {
      echoes: true,
      sessions: sessionsCaller(() => running.sessions, signal),
      registry: registryCaller(() => running.registry, signal),
      servePeer: () => scriptedPeer(clock),
      toolRuns: (key) => tools.runs(key),
      async cutLog(uid, keep) {
        await running.stop();
        cutLogFile(file, uid, keep);
        running = await start(clock, file, tools);
      },
    },
    async close() {
      await running.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function start(clock: Clock, file: string, tools: ToolExecutor): Promise<Running> {
  const serving = { clock, ids: systemIds, log: QUIET_LOG, limits: { stopMs: STOP_MS } };
  const connect = (address: string) => connectHarness(address, { clock, cwd: '/' });
  const service = await openService({
    ...serving,
    file,
    owner: process.getuid?.(),
    tools,
    project: 'default',
    harnesses: new Map(),
    remote: { connect },
  });
  const servers = [
    sessionsOn(await bindListener(ANY_PORT, systemIds), service.sessions, serving),
    registryOn(await bindListener(ANY_PORT, systemIds), service.registry, serving),
  ] as const;
  const sessions = connectSessions(servers[0].address, { clock, cwd: '/' });
  const registry = connectRegistry(servers[1].address, { clock, cwd: '/' });
  return {
    host: service.sessions,
    sessions,
    registry,
    addresses: { sessions: addressText(servers[0].address), registry: addressText(servers[1].address) },
    async stop() {
      sessions.close();
      registry.close();
      await Promise.all(servers.map((server) => server.close()));
      await service.close();
    },
  };
}

/** Outlives the service, as what carries out calls elsewhere does: a call that comes again is not carried out again. */
class CountingTools implements ToolExecutor {
  readonly #done = new Map<string, number>();
  readonly #seen = new Set<string>();

  runs(key: string): number {
    return this.#done.get(key) ?? 0;
  }

  async execute(session: string, call: Parameters<ToolExecutor['execute']>[1]) {
    const { id, idempotencyKey: key } = call;
    if (!this.#seen.has(`${session} ${key}`)) {
      this.#seen.add(`${session} ${key}`);
      this.#done.set(key, this.runs(key) + 1);
    }
    return create(ToolResultSchema, { id, output: { carried: 'out' } });
  }
}
