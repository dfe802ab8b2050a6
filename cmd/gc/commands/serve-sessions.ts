import { join } from 'node:path';
import { type BoundListener, bindListener } from '../../../internal/api/grpc/listener.ts';
import { openService } from '../../../internal/api/grpc/open-service.ts';
import { registryOn, sessionsOn } from '../../../internal/api/grpc/serve-sessions.ts';
import { ensurePrivateDirFor } from '../../../internal/platform/atomic-file.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { type FileLog, openLog } from '../../../internal/platform/log.ts';
import { addressText, type NetworkAddress } from '../../../internal/platform/network-address.ts';
import { gcHome } from '../../../internal/platform/paths.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { shortPath } from '../output/times.ts';
import { type ServePlan, servePlan } from './serve-sessions-plan.ts';

/** 128 + SIGINT, as shells report it. */
const EXIT_INTERRUPTED = 130;

/**
 * Everything that can be wrong with the command line is said before anything is made; both addresses are taken before the
 * logs are opened, so that a second service on one address makes no file.
 */
export const runServe: CommandRun = async (context, input) => {
  const plan = await servePlan(context, input);
  const log = openServeLog(context);
  const bound = await bindBoth(plan);
  const serving = {
    clock: context.clock,
    ids: systemIds,
    log,
    ...(plan.token === undefined ? {} : { token: plan.token }),
  };
  try {
    ensurePrivateDirFor(plan.file.path);
    const { harnesses, model, ...rest } = plan;
    const service = await openService({
      ...rest,
      harnesses,
      ...(model ? { model } : {}),
      owner: process.getuid?.(),
      clock: context.clock,
      ids: systemIds,
      log,
    });
    const sessions = sessionsOn(bound.sessions, service.sessions, serving);
    const registry = bound.registry && registryOn(bound.registry, service.registry, serving);
    tellReady(context, plan, sessions.address, registry?.address, service.harnesses);
    await untilTold(context);
    await registry?.close();
    await sessions.close();
    await service.close();
    return 0;
  } finally {
    bound.registry?.close();
    bound.sessions.close();
    log.close();
  }
};

interface Bound {
  readonly sessions: BoundListener;
  readonly registry: BoundListener | undefined;
}

async function bindBoth({ listen, registry }: ServePlan): Promise<Bound> {
  const sessions = await bindListener(listen, systemIds);
  try {
    return { sessions, registry: registry && (await bindListener(registry, systemIds)) };
  } catch (error) {
    sessions.close();
    throw error;
  }
}

export function openServeLog(context: Context): FileLog {
  return openLog(join(gcHome(context.env), 'serve.log'));
}

const endAtOnce = (): void => process.exit(EXIT_INTERRUPTED);

/** Resolves at Ctrl-C or TERM; a second Ctrl-C ends the process at once. */
export async function untilTold(context: Context): Promise<void> {
  const { signal } = context;
  if (!signal.aborted) {
    await new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
  process.off('SIGINT', endAtOnce).once('SIGINT', endAtOnce);
  if (context.err.isTTY)
    context.err.write('Ending; what is under way gets a few seconds. Ctrl-C again: at once.\n');
}

function tellReady(
  context: Context,
  plan: ServePlan,
  sessions: NetworkAddress,
  registry: NetworkAddress | undefined,
  harnesses: readonly string[],
): void {
  const { out } = context;
  if (context.json) {
    const data = {
      sessions: addressText(sessions),
      ...(registry ? { registry: addressText(registry) } : {}),
      journal: plan.file.path,
      project: plan.project,
      harnesses,
      token: plan.token !== undefined,
    };
    out.write(`${JSON.stringify(data)}\n`);
    return;
  }
  const home = out.isTTY ? context.env['HOME'] : undefined;
  const rows = [
    [
      'sessions',
      addressText(sessions),
      `gRPC, gRPC-Web, JSON${plan.token === undefined ? '' : '; with the token'}`,
    ],
    ...(registry ? [['registry', addressText(registry), 'for operators of this machine']] : []),
    ['logs', shortPath(plan.file.path, home), `project ${plan.project}`],
    ['harnesses', harnesses.join(', '), ''],
  ];
  out.write(
    `${rows.map((row) => row.join('   ').trimEnd()).join('\n')}\n\n  ${tryIt(sessions, plan.token !== undefined)}\n`,
  );
}

function tryIt(address: NetworkAddress, token: boolean): string {
  const where =
    address.kind === 'unix'
      ? `--unix-socket ${address.path} http://localhost`
      : `http://${addressText(address).replace('0.0.0.0', '127.0.0.1')}`;
  const bearer = token ? ` -H "authorization: Bearer $GC_SERVE_TOKEN"` : '';
  return `curl -s -H 'content-type: application/json'${bearer} -d '{}' ${where}/agentsessions.v1.Sessions/ListSessions`;
}
