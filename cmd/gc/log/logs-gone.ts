import { statSync } from 'node:fs';
import type { Clock } from '../../../internal/platform/clock.ts';
import { GcError } from '../../../internal/platform/errors.ts';

/** Logs that are followed are looked for this often. */
const LOOK_MS = 500;

/**
 * Aborts when a file or folder is gone, or another one is in its place: whoever has the old one open would hear nothing
 * any more, for ever. Its reason is GcError `session-logs-gone`.
 * @param over when nobody wants to know any more
 */
export function whenGone(clock: Clock, path: string, over: AbortSignal): AbortSignal {
  const gone = new AbortController();
  const known = inodeOf(path);
  const look = async (): Promise<void> => {
    while (inodeOf(path) === known) await clock.sleep(LOOK_MS, over);
    gone.abort(
      new GcError('session-logs-gone', `${path} was removed or replaced while it was followed`, {
        next: 'gc log follow again, to follow what is there now',
      }),
    );
  };
  look().catch(() => undefined); // nobody wants to know any more
  return gone.signal;
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { throwIfNoEntry: false, bigint: true })?.ino;
}
