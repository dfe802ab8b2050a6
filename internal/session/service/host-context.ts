import type { Clock } from '../../platform/clock.ts';
import type { Ids } from '../../platform/ids.ts';
import type { BlobStore } from '../log/blobs/blob-store.ts';
import { SessionDeletedError, UnknownLogError } from '../log/errors.ts';
import type { SessionLog, SessionLogStore, SessionRow } from '../log/session-log.ts';
import type { ModelProvider, ToolExecutor } from '../turn/harness.ts';
import type { HarnessRoster } from './harness-roster.ts';
import type { LogFacts } from './log-facts.ts';
import type { ServiceLog } from './operation-log.ts';
import type { SessionGuard } from './session-guard.ts';
import { ServiceError } from './sessions-host.ts';

/** What a host is made with. */
export interface SessionsHostOptions {
  readonly store: SessionLogStore;
  readonly roster: HarnessRoster;
  /** Answers the model calls of every harness. */
  readonly model: ModelProvider;
  /** Carries out the tool calls of harnesses; without one they fail. */
  readonly tools?: ToolExecutor;
  /** Takes what is too large for a log of what harnesses report that act by themselves; without it the log does. */
  readonly blobs?: Pick<BlobStore, 'put'>;
  /** Of sessions that name none, and what is listed when no project is asked for. */
  readonly project: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: ServiceLog;
}

/** What every call of the service is carried out with. */
export interface HostContext extends SessionsHostOptions {
  /** The store's logs for turns, which read them whole each time. */
  readonly turnLog: SessionLog;
  readonly guard: SessionGuard;
  readonly facts: LogFacts;
}

/** @throws ServiceError INVALID_ARGUMENT */
export function required(field: string, value: string): void {
  if (value === '') throw new ServiceError('INVALID_ARGUMENT', `${field} is missing`);
}

/** @throws UnknownLogError */
export async function knownRow({ store }: HostContext, uid: string): Promise<SessionRow> {
  const row = await store.get(uid);
  if (row === undefined) throw new UnknownLogError(uid);
  return row;
}

/** @throws SessionDeletedError: what is deleted can be read and no more */
export function refuseDeleted(row: SessionRow): void {
  if (row.deletedAt !== undefined) throw new SessionDeletedError(row.uid);
}
