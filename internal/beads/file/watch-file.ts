import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';

/**
 * Calls `changed` when a file may have become another, until the signal aborts. Its folder is watched, because whoever
 * writes the file puts a new one in its place. @throws when the folder cannot be watched
 */
export function watchFile(
  file: string,
  signal: AbortSignal,
  { changed, failed }: { changed(): void; failed(error: unknown): void },
): void {
  if (signal.aborted) return;
  const name = basename(file);
  const watcher = watch(dirname(file), { persistent: false, signal }, (_event, seen) => {
    if (seen === name) changed();
  });
  watcher.on('error', failed);
}
