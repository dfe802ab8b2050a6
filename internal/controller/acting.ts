import { AsyncLocalStorage } from 'node:async_hooks';

/** Where a command runs. */
export interface Place {
  /** Its working directory, absolute. */
  readonly dir: string;
  /** The rig of the session that it runs in, `''` for none. */
  readonly rig: string;
}

interface Asking {
  readonly actor?: string;
  readonly place?: Place;
}

const asking = new AsyncLocalStorage<Asking>();

/** Everything that `work` does, it does for this person or agent. A name that says nothing changes nothing. */
export function actingFor<T>(actor: string | undefined, work: () => T): T {
  const name = actor?.trim() ?? '';
  if (name === '') return work();
  return asking.run({ ...asking.getStore(), actor: name.slice(0, MAX_NAME_LENGTH) }, work);
}

/** Whoever asked for what is being done; `undefined`: nobody in particular. */
export function actorNow(): string | undefined {
  return asking.getStore()?.actor;
}

/** Names that `work` is given are those of somebody who is there. */
export function askedFrom<T>(place: Place, work: () => T): T {
  return asking.run({ ...asking.getStore(), place }, work);
}

/** Where what is being done was asked for; `undefined`: nowhere in particular. */
export function placeNow(): Place | undefined {
  return asking.getStore()?.place;
}

const MAX_NAME_LENGTH = 200;
