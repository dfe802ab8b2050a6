import { IdentityRefSchema, OriginSchema } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { Session } from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { type DescMessage, type MessageShape, toJson } from '../../protocol/protobuf.ts';
import { newSessionUid } from '../../protocol/session-id.ts';
import { CITY_SOURCE } from '../log/city-origin.ts';
import type { SessionRow } from '../log/session-log.ts';
import type { HostContext } from './host-context.ts';
import { ServiceError } from './sessions-host.ts';

/** What a caller may say about a new session. */
export type Wanted = Partial<
  Pick<Session, 'metadata' | 'harness' | 'model' | 'labels' | 'annotations' | 'origin' | 'identity'>
>;

/**
 * A new session with an empty log. Everything else that the caller said is ignored.
 * Source: agentsessions.v1 CreateSession; that nobody can pass a session off as a city's own is ours.
 */
export async function createSession(context: HostContext, wanted: Wanted): Promise<SessionRow> {
  const { store, roster, ids, project } = context;
  if (wanted.origin?.source === CITY_SOURCE) {
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `origin.source ${JSON.stringify(CITY_SOURCE)} is kept for sessions that a city makes`,
      { next: 'use another origin.source; agents of a city are declared in its file' },
    );
  }
  const placement = roster.resolve(wanted.harness ?? '');
  return await store.create(
    {
      uid: newSessionUid(ids),
      project: wanted.metadata?.project || project,
      name: wanted.metadata?.name ?? '',
      harness: placement.name,
      model: wanted.model ?? '',
      labels: { ...wanted.labels },
      annotations: { ...wanted.annotations },
      origin: stored(OriginSchema, wanted.origin),
      identity: stored(IdentityRefSchema, wanted.identity),
    },
    () => roster.refuseNewSession(placement),
  );
}

function stored<Desc extends DescMessage>(schema: Desc, message: MessageShape<Desc> | undefined): string {
  return message === undefined ? '' : JSON.stringify(toJson(schema, message, { useProtoFieldName: true }));
}
