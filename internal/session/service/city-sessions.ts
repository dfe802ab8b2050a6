import { type Origin, OriginSchema } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { fromJson } from '../../protocol/protobuf.ts';
import { CITY_HARNESS, CITY_SOURCE } from '../log/city-origin.ts';
import type { SessionRow } from '../log/session-log.ts';
import { type HostContext, knownRow, refuseDeleted } from './host-context.ts';
import { ServiceError } from './sessions-host.ts';

/** Why. */
export const CITY_REFUSAL =
  'the agent lives in its city and is spoken to there: `gc nudge`, `gc session`; this service only shows its log';

/**
 * Whether a city's own agent is written into it. A fork of one is a plain session.
 */
export function isCitySession(row: SessionRow): boolean {
  if (row.parentUid !== '') return row.harness === CITY_HARNESS;
  return row.harness === CITY_HARNESS || originOf(row)?.source === CITY_SOURCE;
}

/** @throws ServiceError FAILED_PRECONDITION */
export function refuseCitySession(row: SessionRow): void {
  if (!isCitySession(row)) return;
  throw new ServiceError('FAILED_PRECONDITION', `session ${row.uid} is a city's own: ${CITY_REFUSAL}`, {
    next: 'gc session list',
  });
}

/** What may be changed through this service. @throws UnknownLogError, SessionDeletedError, ServiceError FAILED_PRECONDITION */
export async function changeableRow(context: HostContext, uid: string): Promise<SessionRow> {
  const row = await knownRow(context, uid);
  refuseDeleted(row);
  refuseCitySession(row);
  return row;
}

/** Who made a session; `undefined` when nobody said so, or not in a way that can be read. */
export function originOf(row: SessionRow): Origin | undefined {
  if (row.origin === '') return undefined;
  try {
    return fromJson(OriginSchema, JSON.parse(row.origin), { ignoreUnknownFields: true });
  } catch {
    return undefined;
  }
}
