import { AsyncLocalStorage } from 'node:async_hooks';

const acting = new AsyncLocalStorage<string>();

/** Everything that `work` does, it does for this person or agent. A name that says nothing changes nothing. */
export function actingFor<T>(actor: string | undefined, work: () => T): T {
  const name = actor?.trim() ?? '';
  return name === '' ? work() : acting.run(name.slice(0, MAX_NAME_LENGTH), work);
}

/** Whoever asked for what is being done; `undefined`: nobody in particular. */
export function actorNow(): string | undefined {
  return acting.getStore();
}

const MAX_NAME_LENGTH = 200;
