import { resolve } from 'node:path';
import type { CitySessionsPlan } from '../../../internal/api/grpc/city-door.ts';
import type { City } from '../../../internal/config/city.ts';
import { messageOf } from '../../../internal/platform/errors.ts';
import { tokenInFile } from './serve-sessions-token.ts';

/** A token that cannot be read closes the address that it is for; no agent waits for that. */
export function citySessions(
  { root, workspace, api }: City,
  print: (line: string) => void,
): CitySessionsPlan {
  const { grpc, registry, tokenFile } = api;
  const own = { project: workspace.name, ...(registry === undefined ? {} : { registry }) };
  if (grpc === undefined) return own;
  if (tokenFile === undefined) return { ...own, grpc };
  try {
    return { ...own, grpc, token: tokenInFile(resolve(root, tokenFile)) };
  } catch (error) {
    print(`Sessions not served on ${grpc}: ${messageOf(error)}`);
    return own;
  }
}
