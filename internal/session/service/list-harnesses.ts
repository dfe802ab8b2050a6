import {
  type ListHarnessesRequest,
  type ListHarnessesResponse,
  ListHarnessesResponseSchema,
} from '../../protocol/generated/agentsessions/v1/harness_registry_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import type { HarnessTable } from '../log/harness-table.ts';
import type { HarnessRoster } from './harness-roster.ts';
import { nameToken, pageSize, parseNameToken } from './page-token.ts';
import { registrationOf, staticRegistration } from './registration-view.ts';
import { ServiceError } from './sessions-host.ts';

interface Listed {
  readonly roster: HarnessRoster;
  readonly table: HarnessTable;
}

/** By name, built-in ones among them. Source: agentsessions.v1 ListHarnesses. */
export async function listHarnesses(
  { roster, table }: Listed,
  request: ListHarnessesRequest,
): Promise<ListHarnessesResponse> {
  if (request.pageSize < 0) throw new ServiceError('INVALID_ARGUMENT', 'page_size is negative');
  const size = pageSize(request.pageSize);
  const after = request.pageToken === '' ? '' : parseNameToken(request.pageToken);
  const rows = (await table.list())
    .filter(({ name, state }) => !roster.isStatic(name) && (request.includeRetired || state === 'active'))
    .map((row) => ({ name: row.name, show: () => registrationOf(roster, row) }));
  const statics = roster.staticNames.map((name) => ({ name, show: () => staticRegistration(name) }));
  const due = [...rows, ...statics].filter(({ name }) => name > after).sort(byName);
  const page = due.slice(0, size);
  const last = page.at(-1);
  return create(ListHarnessesResponseSchema, {
    harnesses: page.map(({ show }) => show()),
    nextPageToken: due.length > size && last !== undefined ? nameToken(last.name) : '',
  });
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
