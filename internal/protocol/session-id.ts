import type { Ids } from '../platform/ids.ts';

const SESSION_UID = /^sess-[0-9a-f]{24}$/;

export function newSessionUid(ids: Pick<Ids, 'hex'>): string {
  return `sess-${ids.hex(12)}`;
}

export function isSessionUid(text: string): boolean {
  return SESSION_UID.test(text);
}

export function newExecutionId(ids: Pick<Ids, 'hex'>): string {
  return ids.hex(8);
}
