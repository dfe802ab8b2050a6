import { join } from 'node:path';
import { type CityPacks, cityPacks } from '../../../internal/config/remote/declared-packs.ts';
import type { InstallContext } from '../../../internal/config/remote/install.ts';
import { readLock } from '../../../internal/config/remote/lock-file.ts';
import type { PackResolver } from '../../../internal/config/remote/pack-tree.ts';
import type { Pin } from '../../../internal/config/remote/pin.ts';
import { resolveNamedPack, resolveSource } from '../../../internal/config/remote/resolve-source.ts';
import { ensurePrivateDir } from '../../../internal/platform/atomic-file.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { acquireLifetimeLock, type LifetimeLock } from '../../../internal/platform/lifetime-lock.ts';
import { cityRoot } from '../city/access.ts';
import type { Context } from '../context.ts';
import { onePlainLine } from '../output/plain.ts';

const LOCK_POLL_MS = 100;
/** What commands hold that change pins: it may take minutes, and editors need not wait for it. */
const PACKS_LOCK = 'imports.lock';

/** A city whose packs a command reads or changes. */
export interface PackAccess {
  readonly root: string;
  readonly city: CityPacks;
  readonly install: InstallContext;
}

/** The packs of the city of the command line, as its files say it now. */
export async function openPacks(context: Context, root?: string): Promise<PackAccess> {
  const at = root ?? (await cityRoot(context));
  const city = await cityPacks(at);
  const install: InstallContext = {
    cityRoot: at,
    home: context.env['HOME'] ?? at,
    env: context.env,
    signal: context.signal,
    ids: systemIds,
    lock: await readLock(at),
    onFetch: (source) => {
      if (context.err.isTTY && !context.json) context.err.write(`fetching ${source}\n`);
    },
  };
  return { root: at, city, install };
}

/** The same for a command that changes them: one at a time in a city; the next waits for it. */
export async function changePacks<T>(context: Context, work: (access: PackAccess) => Promise<T>): Promise<T> {
  const root = await cityRoot(context);
  ensurePrivateDir(join(root, '.gc'));
  const lock = await waitFor(context, join(root, '.gc', PACKS_LOCK));
  try {
    return await work(await openPacks(context, root));
  } finally {
    lock.release();
  }
}

async function waitFor(context: Context, file: string): Promise<LifetimeLock> {
  for (let isFirst = true; ; isFirst = false) {
    const lock = acquireLifetimeLock(file, { pid: process.pid });
    if (lock) return lock;
    if (isFirst) context.err.write('gc: waiting for another gc import or gc pack in this city\n');
    await context.clock.sleep(LOCK_POLL_MS, context.signal);
  }
}

/** Finds packs on this machine, as a load of the city does. */
export function resolverOf({ root, city, install }: PackAccess): PackResolver {
  return async ({ source, version, baseDir }, repository) => {
    const base = { cityRoot: root, home: install.home, lock: install.lock };
    const place = { ...base, baseDir, version, root: repository };
    const named = city.named.get(source);
    return named ? resolveNamedPack(source, named, place) : resolveSource(source, place);
  };
}

const SHORT_COMMIT = 12;

/** `1.2.0 (0123456789ab)`, or the commit alone. */
export function pinText({ version, commit }: Pick<Pin, 'version' | 'commit'>): string {
  const short = commit.slice(0, SHORT_COMMIT);
  return version === '' || version.startsWith('sha:') ? short : `${onePlainLine(version)} (${short})`;
}
