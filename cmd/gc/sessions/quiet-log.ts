import type { Log } from '../../../internal/platform/log.ts';

const nothing = (): void => undefined;

/** For services that live as long as one command: what goes wrong is the command's own failure. */
export const QUIET_LOG: Log = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  child: () => QUIET_LOG,
};
