import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';

type Work = (...args: readonly unknown[]) => unknown;

/** Those that answer at once too, and need nothing that is open. */
const AT_ONCE = [
  'access',
  'appendFile',
  'chmod',
  'chown',
  'copyFile',
  'cp',
  'lstat',
  'link',
  'mkdir',
  'mkdtemp',
  'readFile',
  'readdir',
  'readlink',
  'realpath',
  'rename',
  'rm',
  'rmdir',
  'stat',
  'symlink',
  'unlink',
  'utimes',
  'writeFile',
] as const;

/** What `write-file-atomic` asks for with a callback. */
const CALLED_BACK = [...AT_ONCE, 'close', 'fstat', 'fsync', 'open', 'write'] as const;

/**
 * File work and pauses of this process are done at once from now on, by the synchronous calls: nothing of a run depends
 * on the machine's threads, and once the microtasks are over everything is that does not wait for a clock.
 */
export function makeFilesInstant(): void {
  const table = fs as unknown as Record<string, Work>;
  const promised = fs.promises as unknown as Record<string, Work>;
  for (const name of AT_ONCE) {
    const sync = syncOf(table, name);
    promised[name] = async (...args) => sync(...args);
  }
  for (const name of CALLED_BACK) {
    const sync = syncOf(table, name);
    const before = table[name];
    const instant: Work = (...args) => {
      const done = args.at(-1);
      if (typeof done !== 'function') return before?.(...args);
      answer(done as Work, () => sync(...args.slice(0, -1)));
      return undefined;
    };
    table[name] = Object.assign(instant, before);
  }
  const pauses = timers as unknown as Record<string, Work>;
  pauses['setImmediate'] = async (value) => value;
  syncBuiltinESMExports();
}

function syncOf(table: Readonly<Record<string, Work>>, name: string): Work {
  const sync = table[`${name}Sync`];
  if (!sync) throw new Error(`there is no ${name}Sync`);
  // No disk stands behind what is simulated.
  return name === 'fsync' ? () => undefined : sync;
}

function answer(done: Work, work: () => unknown): void {
  let result: unknown;
  try {
    result = work();
  } catch (error) {
    queueMicrotask(() => done(error));
    return;
  }
  queueMicrotask(() => done(null, result));
}
