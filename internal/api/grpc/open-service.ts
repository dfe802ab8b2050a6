import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Log } from '../../platform/log.ts';
import type { JournalPlace } from '../../session/log/journal-place.ts';
import { openJournal } from '../../session/log/open-journal.ts';
import { createHarnessRegistryHost } from '../../session/service/create-harness-registry-host.ts';
import { createSessionsHost } from '../../session/service/create-sessions-host.ts';
import { HarnessRoster, type RosterOptions } from '../../session/service/harness-roster.ts';
import type { HarnessRegistryHost, SessionsHost } from '../../session/service/sessions-host.ts';
import { echoHarness } from '../../session/turn/builtin/echo-harness.ts';
import { echoModel } from '../../session/turn/builtin/echo-model.ts';
import type { Harness, ModelProvider, ToolExecutor } from '../../session/turn/harness.ts';
import { currentRequestId } from './request-id.ts';

/** Built in, whether they are served or not. Source: agentsessions.v1. */
export const BUILT_IN_HARNESSES: readonly string[] = ['echo', 'chat'];
const DEFAULT_HARNESS = 'echo';

export interface ServicePlan {
  /** The logs: a database file, or what `journalAt` found; made when they are missing. */
  readonly file: string | JournalPlace;
  /** The user whom a folder of logs has to belong to. */
  readonly owner?: number | undefined;
  /** Of sessions that name none. */
  readonly project: string;
  /** What is served besides echo. */
  readonly harnesses: ReadonlyMap<string, Harness>;
  /** Absent: the built-in one, which repeats what it is told. */
  readonly model?: ModelProvider;
  /** Absent: tool calls that the host is to carry out fail. */
  readonly tools?: ToolExecutor;
  readonly remote: RosterOptions['remote'];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export interface OpenedService {
  readonly sessions: SessionsHost;
  readonly registry: HarnessRegistryHost;
  /** The names of the harnesses that come with it, in order. */
  readonly harnesses: readonly string[];
  close(): Promise<void>;
}

/** The service over one file or folder of logs, without a transport. @throws GcError of the store, `harness-registered` */
export async function openService(plan: ServicePlan): Promise<OpenedService> {
  const { clock, ids, owner } = plan;
  const place = typeof plan.file === 'string' ? databaseAt(plan.file) : plan.file;
  const {
    store,
    blobs,
    harnesses: table,
  } = await openJournal(place, {
    clock,
    ids,
    owner,
    onRepair: (repair) => plan.log.warn('store', { repaired: { ...repair } }),
  });
  try {
    const roster = await HarnessRoster.open({
      harnesses: new Map([[DEFAULT_HARNESS, echoHarness], ...plan.harnesses]),
      defaultName: DEFAULT_HARNESS,
      reserved: BUILT_IN_HARNESSES,
      table,
      remote: plan.remote,
    });
    const log = ({ component, ...fields }: { component: string }) => {
      const requestId = currentRequestId();
      plan.log.info(component, { ...fields, ...(requestId === undefined ? {} : { request_id: requestId }) });
    };
    const rim = { roster, clock, ids, log };
    return {
      sessions: createSessionsHost({
        ...rim,
        store,
        blobs,
        model: plan.model ?? echoModel,
        ...(plan.tools === undefined ? {} : { tools: plan.tools }),
        project: plan.project,
      }),
      registry: createHarnessRegistryHost({ ...rim, table }),
      harnesses: roster.staticNames,
      close: () => store.close(),
    };
  } catch (error) {
    await store.close().catch((failure: unknown) => plan.log.error('store', { error: messageOf(failure) }));
    throw error;
  }
}

const databaseAt = (path: string): JournalPlace => ({ kind: 'database', path });
