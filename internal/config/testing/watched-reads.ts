import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { resolve } from 'node:path';

/** Links lead elsewhere: what counts is where. */
function realOr(path: string): string {
  try {
    return fs.realpathSync.native(path);
  } catch {
    // It is not there: nothing is read.
    return path;
  }
}

/** Runs `work` and tells every path whose content or entries were read meanwhile, in this process. */
export async function readsDuring<T>(
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly read: ReadonlySet<string> }> {
  const read = new Set<string>();
  const { readFileSync, readdirSync, openSync } = fs;
  const { readFile, readdir, open } = fs.promises;
  const original = { readFileSync, readdirSync, openSync };
  const told = <F extends (...args: never[]) => unknown>(call: F): F =>
    // The wrapper hands on exactly what it gets: it has the type of what it wraps.
    ((...args: Parameters<F>) => {
      if (typeof args[0] === 'string') read.add(realOr(resolve(args[0])));
      return call(...args);
    }) as F;
  fs.readFileSync = told(readFileSync);
  fs.readdirSync = told(readdirSync);
  fs.openSync = told(openSync);
  Object.assign(fs.promises, { readFile: told(readFile), readdir: told(readdir), open: told(open) });
  syncBuiltinESMExports();
  try {
    return { result: await work(), read };
  } finally {
    Object.assign(fs, original);
    Object.assign(fs.promises, { readFile, readdir, open });
    syncBuiltinESMExports();
  }
}
