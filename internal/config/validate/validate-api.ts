import { isLoopback, isLoopbackLiteral, parseTcpAddress } from '../../platform/network-address.ts';
import type { ApiSettings } from '../city.ts';
import type { Sections } from '../compose/draft.ts';
import { placeOf } from '../compose/entry.ts';
import type { ProblemList } from '../document/problems.ts';

/** Who may reach the city's services: what others can reach needs a token, the registry is for this machine only. */
export function validateApi(entry: Sections['api'], api: ApiSettings, problems: ProblemList): void {
  const grpc = parseTcpAddress(api.grpc ?? '');
  const registry = parseTcpAddress(api.registry ?? '');
  if (grpc && !isLoopback(grpc.host) && api.tokenFile === undefined) {
    problems.error(
      'bad-value',
      `api.grpc "${api.grpc}" can be reached from other machines, and there is no token that callers must show`,
      placeOf(entry, ['grpc'], 'value'),
      'listen on 127.0.0.1, or set api.token_file',
    );
  }
  if (registry && !isLoopbackLiteral(registry.host)) {
    problems.error(
      'bad-value',
      `api.registry "${api.registry}" is not a loopback IP address: it is for operators of this machine`,
      placeOf(entry, ['registry'], 'value'),
      'write for example "127.0.0.1:8081"',
    );
  }
  if (grpc && registry && grpc.port !== 0 && grpc.port === registry.port) {
    problems.error(
      'bad-value',
      `api.registry needs another port than api.grpc (${grpc.port})`,
      placeOf(entry, ['registry'], 'value'),
    );
  }
}
