import { isSessionName as isRuntimeName } from '../runtime/name-rule.ts';
import { checkAlias, isSessionName } from '../session/names.ts';

/**
 * Whether a pool's session can have these names wherever names are used: as the session of every back end, as an alias in
 * commands and letters, as the assignee of work. The one place that says so: a slot with another name is never made.
 */
export function canNameSlot(sessionName: string, identity: string): boolean {
  return isSessionName(sessionName) && isRuntimeName(sessionName) && canBeAlias(identity);
}

function canBeAlias(identity: string): boolean {
  try {
    checkAlias(identity);
    return true;
  } catch {
    return false; // that is the answer
  }
}
