import { AsyncLocalStorage } from 'node:async_hooks';
import type { Ids } from '../../platform/ids.ts';

/** The metadata key that correlates a call over all who take part. Source: agentsessions.v1. */
export const REQUEST_ID_HEADER = 'x-request-id';
const USABLE = /^[\x21-\x7e]{1,128}$/;
const MINTED_BYTES = 8;

const current = new AsyncLocalStorage<string>();

/** The caller's id when it is usable, else a new one. */
export function requestIdFor(given: string | undefined, ids: Pick<Ids, 'hex'>): string {
  return given !== undefined && USABLE.test(given) ? given : ids.hex(MINTED_BYTES);
}

/** Everything that `work` starts, calls to harnesses included, goes under this id. */
export function withRequestId<T>(id: string, work: () => T): T {
  return current.run(id, work);
}

/** The id of the call that this work is done for. */
export function currentRequestId(): string | undefined {
  return current.getStore();
}
