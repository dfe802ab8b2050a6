import { fetchNamedPack } from '../../../internal/config/remote/install.ts';
import { type LockValues, writeLock } from '../../../internal/config/remote/lock-file.ts';
import type { CommandRun } from '../cli/spec.ts';
import { renderTable } from '../output/table.ts';
import { changePacks, openPacks, type PackAccess } from './pack-access.ts';

const NONE = 'No remote packs configured.\n';

export const runPackList: CommandRun = async (context) => {
  const { city, install } = await openPacks(context);
  const rows = [...city.named].map(([name, { source, ref = '', path = '' }]) => ({
    name,
    source,
    ref,
    path,
    commit: install.lock.named.entries.get(name)?.commit ?? '',
  }));
  if (context.json) context.out.write(`${JSON.stringify(rows, null, 2)}\n`);
  else if (rows.length === 0) context.out.write(NONE);
  else {
    const cells = rows.map(({ name, source, ref, commit }) => [
      name,
      source,
      ref || '-',
      commit || 'not fetched',
    ]);
    context.out.write(renderTable(['NAME', 'SOURCE', 'REF', 'COMMIT'], cells));
  }
  return 0;
};

export const runPackFetch: CommandRun = async (context, input) =>
  changePacks(context, async (access) => {
    const { size } = access.city.named;
    if (size === 0) {
      context.out.write(NONE);
      return 0;
    }
    context.out.write(`Fetching ${size} pack source(s)...\n`);
    for await (const { name, commit } of fetchNamedPacks(access, input.flag('update'))) {
      context.out.write(`  ${name}: ${commit}\n`);
    }
    context.out.write('Done.\n');
    return 0;
  });

/** Fetches all of `[packs]`. Those that are there are pinned even when a later one fails. */
export async function* fetchNamedPacks(
  { city, install }: PackAccess,
  renew: boolean,
): AsyncGenerator<{ readonly name: string; readonly commit: string }> {
  const { named } = install.lock;
  const values = new Map<string, LockValues>();
  for (const name of city.named.keys()) if (named.entries.has(name)) values.set(name, {});
  try {
    for (const [name, declared] of city.named) {
      const got = await fetchNamedPack(name, declared, install, renew);
      if (got) values.set(name, got.values);
      yield { name, commit: got?.pin.commit ?? declared.source };
    }
  } finally {
    if (named.problems.length === 0) await writeLock(named, values);
  }
}
