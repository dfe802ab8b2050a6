import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { shownPath } from '../../../internal/config/document/source-document.ts';
import { type EditPlace, fileEditIo, withEditLock } from '../../../internal/config/edit/file-edit.ts';
import type { DeclaredPack } from '../../../internal/config/remote/declared-packs.ts';
import {
  checkLock,
  type LockValues,
  restoreLock,
  writeLock,
} from '../../../internal/config/remote/lock-file.ts';
import { type Migration, planMigration } from '../../../internal/config/remote/migrate.ts';
import { type PackNode, walkPacks } from '../../../internal/config/remote/pack-tree.ts';
import type { CommandRun } from '../cli/spec.ts';
import { changePacks, type PackAccess, resolverOf } from './pack-access.ts';

export const runImportMigrate: CommandRun = async (context, input) =>
  changePacks(context, async (access) => {
    const { root, city, install } = access;
    checkLock(install.lock.packs, root);
    checkLock(install.lock.named, root);
    const tree = await walkPacks(root, city, resolverOf(access));
    const plan = planMigration(city, install.lock, everything(tree), root);
    const isDry = input.flag('dry-run');
    for (const line of plan.kept) context.out.write(`${line}\n`);
    if (plan.migrated.length === 0) {
      context.out.write('Nothing to migrate.\n');
      return 0;
    }
    if (!isDry) await apply({ gcDir: join(root, '.gc'), clock: context.clock }, access, plan);
    for (const { file, text } of plan.steps) context.out.write(`  ${shownPath(root, file)}: ${text}\n`);
    for (const name of plan.migrated)
      context.out.write(`Agents of "${name}" are now called ${name}.<agent>\n`);
    context.out.write(
      isDry
        ? 'No side effects executed (--dry-run).\n'
        : `Migrated ${plan.migrated.length} pack source(s). Fetch them with: ${context.gc} import install\n`,
    );
    return 0;
  });

/** All new texts are made before the first is written; a write that fails takes the earlier ones back. */
async function apply(place: EditPlace, { root, install }: PackAccess, plan: Migration): Promise<void> {
  const { packs, named } = install.lock;
  const pinned = new Map<string, LockValues>([...packs.entries.keys()].map((key) => [key, {}]));
  for (const [source, values] of plan.pins) if (!pinned.has(source)) pinned.set(source, values);
  const left = [...named.entries.keys()].filter((name) => !plan.migrated.includes(name));
  await withEditLock(place, async () => {
    const before = new Map<string, string>();
    const after = new Map<string, string>();
    for (const { file, edit } of plan.steps) {
      if (!before.has(file)) before.set(file, await readFile(file, 'utf8'));
      after.set(file, await edit(after.get(file) ?? before.get(file) ?? '', shownPath(root, file)));
    }
    const io = fileEditIo(place);
    const written: string[] = [];
    try {
      await writeLock(packs, pinned);
      for (const [file, text] of after) {
        written.push(file);
        await io.write(file, text);
      }
    } catch (error) {
      for (const file of written) await io.write(file, before.get(file) ?? '');
      await restoreLock(packs);
      throw error;
    }
    await writeLock(named, new Map(left.map((name) => [name, {}])));
  });
}

function everything(nodes: readonly PackNode[]): readonly DeclaredPack[] {
  return nodes.flatMap(({ declared, children }) => [declared, ...everything(children)]);
}
