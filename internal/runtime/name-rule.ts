import { InvalidSessionNameError } from './errors.ts';

const SESSION_NAME = /^[a-zA-Z0-9_-]{1,200}$/;

/** Whether every back end can carry the name unchanged (tmux turns `a.b` into `a_b` silently, and reads `a:b` as a window of `a`). */
export function isSessionName(name: string): boolean {
  return SESSION_NAME.test(name);
}

/** @throws InvalidSessionNameError */
export function assertSessionName(name: string): void {
  if (!isSessionName(name)) throw new InvalidSessionNameError(name);
}
