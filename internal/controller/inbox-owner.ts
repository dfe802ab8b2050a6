import { identityOf, isSameProcess, parseProcessIdentity } from '../platform/process-identity.ts';

const CONTROLLER = 'controller:';
const COMMAND = 'command:';

/** Who takes messages in hand. */
export interface InboxOwner {
  readonly id: string;
  /** Whether another owner is proven dead. */
  isGone(owner: string): boolean;
}

/** Whoever holds the city's lock: another controller's leases are void. */
export function controllerOwner(life: string): InboxOwner {
  const id = `${CONTROLLER}${life}`;
  return {
    id,
    isGone: (owner) => (owner.startsWith(CONTROLLER) ? owner !== id : isDeadCommand(owner)),
  };
}

/** A command beside no controller, or an agent's hook. */
export function commandOwner(pid: number): InboxOwner {
  const id = `${COMMAND}${JSON.stringify(identityOf(pid) ?? {})}`;
  return { id, isGone: (owner) => owner !== id && isDeadCommand(owner) };
}

function isDeadCommand(owner: string): boolean {
  if (!owner.startsWith(COMMAND)) return false;
  try {
    const identity = parseProcessIdentity(JSON.parse(owner.slice(COMMAND.length)));
    return identity !== undefined && !isSameProcess(identity);
  } catch {
    return false; // unreadable: its lease runs out by itself
  }
}
